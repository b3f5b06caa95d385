"""A temporary index with the last commit and some paths, to commit these paths whatever else is staged."""

import asyncio
import os
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from clawft.builtin.git.log import empty_tree, head_of
from clawft.builtin.git.repo import Repo

NAME = "weft-index"
"""The file in the `.git` folder, used only while we hold the turn; what a killed weft left is overwritten."""
GONE = b"0" * 6


@asynccontextmanager
async def index_of(repo: Repo, paths: Collection[bytes]) -> AsyncGenerator[dict[str, str]]:
    """The environment variable that makes git use the temporary index; the index of the repository stays as it is."""
    file = repo.place.git_dir / NAME
    await asyncio.to_thread(_remove, file)
    try:
        variable = {"GIT_INDEX_FILE": str(file)}
        await _fill(repo, variable, paths)
        yield variable
    finally:
        await asyncio.to_thread(_remove, file)


async def _fill(repo: Repo, variable: dict[str, str], paths: Collection[bytes]) -> None:
    head = await head_of(repo)
    start = ("--reset", head) if head else ("--empty",)
    repo.check(await repo.attempt("read-tree", f"--index-output={variable['GIT_INDEX_FILE']}", *start, write=True))
    staged = await repo.ask("diff-index", "--cached", "--raw", "-z", "--no-renames", head or await empty_tree(repo))
    entries = b"".join(_entries(staged, paths))
    args = ("update-index", "-z", "--replace", "--index-info")
    repo.check(await repo.attempt(*args, stdin=entries, write=True, extra=variable))


def _entries(staged: bytes, paths: Collection[bytes]) -> Iterator[bytes]:
    """`:<mode> <mode> <id> <id> M`, then a name; as `git update-index --index-info` takes them."""
    words = iter(staged.split(b"\0"))
    for word, path in zip(words, words, strict=False):
        _, mode, _, oid, _ = word.split(b" ")
        if path in paths:
            yield b"%s %s\t%s\0" % (b"0" if mode == GONE else mode, oid, path)


def _remove(file: Path) -> None:
    for left in (file, file.with_name(f"{NAME}.lock")):
        with suppress(FileNotFoundError):
            os.unlink(left)
