"""The small files beside a journal, each with one place of its chain: its end, and where it begins now."""

from __future__ import annotations

import os
from pathlib import Path

from clawft.store.chain import START, ChainLink, read_link
from clawft.store.private_files import PRIVATE_FILE, read_plain, write_all, write_private

_LINE = b'{"seq":%-20d,"hash":"%b"}\n'  # always as long as before: one small write in place
_LONGEST = 64 * 1024
_BINARY = getattr(os, "O_BINARY", 0)


def head_file(journal: Path) -> Path:
    """The last line that was written."""
    return journal.with_suffix(".head")


def base_file(journal: Path) -> Path:
    """The last line of what had to make room."""
    return journal.with_suffix(".base")


def read(file: Path) -> ChainLink | None:
    """None if there is no such file, or nothing of ours in it."""
    try:
        return read_link(read_plain(file, _LONGEST).partition(b"\n")[0])
    except FileNotFoundError:
        return None


def write(file: Path, link: ChainLink) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | _BINARY, PRIVATE_FILE)
    try:
        write_all(descriptor, _written(link))
    finally:
        os.close(descriptor)


def begin(file: Path) -> None:
    """Whole or not at all, before there are lines: where those are and this is not, somebody took it away."""
    write_private(file, _written(START))


def _written(link: ChainLink) -> bytes:
    return _LINE % (link.seq, link.hash.encode())
