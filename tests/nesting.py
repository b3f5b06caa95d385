"""How deep is too deep for every Python."""

TOO_DEEP = 1_000_000
"""Levels. From Python 3.12 on some thousands are read, from 3.14 on as many as the stack has room for."""


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels
