"""The child process of `matcher`, which uses nothing but the standard library.

Reads frames (four bytes of length, then the content). The first is the pattern; each answer is a line of numbers, two
for each line that matches: which it is, and where it starts. Or it is `!` and what is wrong with the pattern.
"""

import io
import os
import re
import signal
import sys

LOOK_SECONDS = 0.5
"""How often the child looks whether its parent is still there."""


def main() -> None:
    most, parent = map(int, sys.argv[1:])
    _end_with(parent)
    try:
        pattern = re.compile((_frame() or b"").decode())
    except (re.error, OverflowError, RecursionError) as wrong:
        _answer(f"!{wrong}")
        return
    _answer("")
    while (content := _frame()) is not None:
        _answer(" ".join(_numbers(pattern, content, most)))


def _end_with(parent: int) -> None:
    """End with the parent: it may be killed while a pattern runs on for years. A running pattern lets signals in."""

    def look(number: int, frame: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)


def _frame() -> bytes | None:
    size = sys.stdin.buffer.read(4)
    return sys.stdin.buffer.read(int.from_bytes(size, "big")) if size else None


def _answer(line: str) -> None:
    sys.stdout.buffer.write(line.encode("ascii", "replace") + b"\n")
    sys.stdout.buffer.flush()


def _numbers(pattern: re.Pattern[str], content: bytes, most: int) -> list[str]:
    found: list[str] = []
    start = 0
    for number, line in enumerate(io.BytesIO(content)):
        if pattern.search(line.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")):
            found.append(f"{number} {start}")
            if len(found) == most:
                break
        start += len(line)
    return found


if __name__ == "__main__":
    main()
