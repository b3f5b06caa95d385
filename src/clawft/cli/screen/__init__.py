"""Prints text, JSON and tables, for a person at a terminal or a program behind a pipe.

| what | where |
|---|---|
| text, tables, steps | here |
| JSON | `document` |
| rows as aligned lines, and their columns | `table` |
| what is broken between words | `paragraph` |
| what a tool gave back; the line that says a call still runs | `reply` |
| what is asked at a terminal | `questions`; `fill_form` for a `form` |
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from clawft.cli.screen.table import GAP, SHARE_OF_LAST, cells, fits, lay_out, padded

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone costs more than all that `weft --help` needs
    from typing import TextIO

PIPE_WIDTH = 0
"""No width: a pipe takes lines of any length."""
SMALLEST_TERMINAL = 40
USUAL_TERMINAL = 80
"""For one that does not know its width."""

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width(stream: TextIO | None = None) -> int:
    """Columns of the terminal on this stream (stdout), or PIPE_WIDTH."""
    shown = stream or sys.stdout
    if not shown.isatty():
        return PIPE_WIDTH
    import shutil  # only at a terminal

    own = os.get_terminal_size(shown.fileno()).columns or USUAL_TERMINAL
    return max(SMALLEST_TERMINAL, shutil.get_terminal_size((own, 0)).columns)


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Coloured at a terminal, unless NO_COLOR is set."""
    if not is_terminal(stream or sys.stdout) or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def safe(text: str) -> str:
    """Without anything that could steer a terminal or hide from the reader."""
    from clawft.wire.visible import visible_text  # only where foreign text is shown

    return visible_text(text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return " ".join(safe(text).split())


def counted(number: int, what: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, wrap: bool = False) -> None:
    """Aligned columns that fit the terminal: the last one is cut, or wrapped below itself if asked.

    Where a terminal is too narrow for so many columns, each row becomes a list of its own.
    """
    shown = [[safe(cell) for cell in row] for row in rows]
    if not fits(head, shown, width()):
        _print_lists(head, shown)
        return
    for number, line in enumerate(lay_out(head, shown, width(), wrap=wrap)):
        print(paint(line, "bold") if number == 0 else line)


def print_rows_below(head: Sequence[str], above: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]) -> None:
    """Further rows of a table that was printed before, as they would stand in it."""
    shown = [[safe(cell) for cell in row] for row in (*above, *rows)]
    if fits(head, shown, width()):
        print(*lay_out(head, shown, width())[-len(rows) :], sep="\n")
    else:
        print()
        _print_lists(head, shown[-len(rows) :])


def _print_lists(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for number, row in enumerate(rows):
        print(end="\n" if number else "")
        print_fields(list(zip(head, row, strict=False)))


def print_fields(fields: Sequence[tuple[str, str]]) -> None:
    """`name  value`, one per line, empty ones left out; long values continue below themselves."""
    shown = [(name, safe(value)) for name, value in fields if value]
    for line in lay_out((), shown, width(), wrap=True):
        print(line)


def print_steps(said: Sequence[tuple[str, str, str]]) -> None:
    """`name  what is wrong`, and below it the command that is the next step. Names that are long stand above."""
    size = max((cells(safe(name)) for name, _, _ in said), default=0)
    is_above = 0 < width() < size * SHARE_OF_LAST
    for name, text, step in said:
        if is_above:
            print(safe(name))
        print_fields([("" if is_above else padded(safe(name), size), text)])
        print_step(step, indent=GAP if is_above else size + GAP)


def print_step(command: str, indent: int) -> None:
    """In one piece: broken by us it would not work where it is pasted."""
    if command:
        print(f"{' ' * indent}→ {safe(command)}")


def print_paragraph(text: str) -> None:
    """Foreign text, broken between words where the terminal ends."""
    from clawft.cli.screen.paragraph import reflowed  # only for paragraphs

    shown = safe(text.strip())
    for line in lay_out((), [(reflowed(shown) if width() else shown,)], width(), wrap=True):
        print(line)


def tell_paragraph(text: str) -> None:
    """Foreign text beside the output, broken between words where the terminal ends.

    What begins with a bar is somebody else's: so does what it is broken into, or it could pass for words of ours.
    """
    from clawft.wire.quoted_lines import BAR  # only for those who are asked

    columns = width(sys.stderr)
    for line in safe(text).split("\n"):
        bar = BAR if line.startswith(BAR) else ""
        for part in lay_out((), [(line.removeprefix(bar),)], columns and columns - len(bar), wrap=True):
            tell((bar + part).rstrip())


def tell(text: str) -> None:
    """For the person, beside the output: on stderr, so that a pipe stays clean."""
    columns = width(sys.stderr)
    if columns:
        from clawft.cli.screen.paragraph import folded  # only at a terminal

        text = folded(text, columns)
    print(text, file=sys.stderr, flush=True)


def tell_for_now(text: str = "") -> None:
    """For the person, in place of what stands in the last line; without a text that line is cleared."""
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()
