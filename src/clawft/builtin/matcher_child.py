"""The child of `matcher`: runs alone, with nothing but the standard library.

Reads frames (four bytes of length, then the content). The first is the pattern; each answer is a line of the numbers of
the lines that match, or `!` and what is wrong with the pattern.
"""

import re
import sys


def main() -> None:
    most = int(sys.argv[1])
    try:
        pattern = re.compile((_frame() or b"").decode())
    except (re.error, OverflowError, RecursionError) as wrong:
        _answer(f"!{wrong}")
        return
    _answer("")
    while (content := _frame()) is not None:
        _answer(" ".join(_numbers(pattern, content, most)))


def _frame() -> bytes | None:
    size = sys.stdin.buffer.read(4)
    return sys.stdin.buffer.read(int.from_bytes(size, "big")) if size else None


def _answer(line: str) -> None:
    sys.stdout.buffer.write(line.encode("ascii", "replace") + b"\n")
    sys.stdout.buffer.flush()


def _numbers(pattern: re.Pattern[str], content: bytes, most: int) -> list[str]:
    found: list[str] = []
    for number, line in enumerate(content.decode("utf-8", "replace").split("\n")):
        if pattern.search(line.removesuffix("\r")):
            found.append(str(number))
            if len(found) == most:
                break
    return found


if __name__ == "__main__":
    main()
