"""The text of `weft --help`, and of `weft COMMAND --help` where the command has verbs."""

from __future__ import annotations

from clawft.cli.examples import section
from clawft.cli.main import COMMANDS, OPTIONS
from clawft.cli.screen import width
from clawft.cli.screen.table import lay_out

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone costs more than all that `weft --help` needs
    from collections.abc import Mapping

    from clawft.cli.parser import Verb

_NAME_COLUMNS = 11
"""Width of the column of names."""


def overview() -> str:
    return (
        f"usage: weft COMMAND …\n\n{_folded('The tool fabric between AI agents and everything they may touch.')}\n"
        f"commands:\n{_columns({name: summary for name, (_, summary) in COMMANDS.items()})}\n"
        f"options:\n{_columns(OPTIONS)}{section('')}"
    )


def overview_of(command: str, verbs: Mapping[str, Verb]) -> str:
    rows = _columns({name: verb.summary for name, verb in verbs.items()})
    says = _folded(f"{COMMANDS[command][1]}.")
    return f"usage: weft {command} COMMAND …\n\n{says}\ncommands:\n{rows}{section(command)}"


def _columns(rows: Mapping[str, str]) -> str:
    """Name and what it does, which is wrapped where the terminal ends."""
    return _laid_out([(f"  {name:<{_NAME_COLUMNS}}", does) for name, does in rows.items()])


def _folded(text: str) -> str:
    return _laid_out([(text,)])


def _laid_out(rows: list[tuple[str, ...]]) -> str:
    return "".join(f"{line}\n" for line in lay_out((), rows, width(), wrap=True))
