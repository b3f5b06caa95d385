"""The file family: reads, writes, lists and searches files of the workspace. Paths are confined, results bounded."""

import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Annotated, BinaryIO, Literal, TypeVar

from msgspec import Meta, Struct

from clawft.builtin.autorun_refusal import refuse_autorun
from clawft.builtin.confine import ConfinedPath, check_regular, confined, open_file, real_path
from clawft.builtin.escaped_characters import MARK, restored
from clawft.builtin.file_names import escaped_name
from clawft.builtin.search import Matches, Query, search_tree
from clawft.builtin.tree import is_too_deep, walk_tree
from clawft.error_words import quoted
from clawft.errors import ExecutionFailed
from clawft.link.share.fair_threads import FairThreads
from clawft.link.share.large_messages import produce_large
from clawft.provider.context import ToolContext
from clawft.provider.function import tool
from clawft.provider.keeps import FIRST
from clawft.provider.manifest import Manifest, Permissions, check_path, places

T = TypeVar("T")

MAX_TEXT_BYTES = 4 * 1024 * 1024
"""The most that one read returns, and the longest line it reads."""
MAX_ENTRIES = 10_000
MAX_LISTED_CHARS = 1024 * 1024
"""Characters of all paths in one listing, as each may be long."""
MAX_SEARCHES = 3
"""Searches, and reads far into large files, at a time; other threads stay free for short calls."""
MAX_SEARCHES_OF_ONE = 2
MAX_LISTS = 1
"""Listings at a time: a folder may have millions of files."""
LARGE_FILE_BYTES = 64 * 1024 * 1024
"""Above this size finding a line takes time, and is done in turn."""
PIECE_BYTES = 256 * 1024
"""Bytes read at a time."""
MAX_SKIP_SECONDS = 10.0
"""Time for skipping the lines before those that are wanted."""
PROBE_BYTES = 8192
"""A null byte among the first of these means that it is no text."""

MANIFEST = Manifest(
    id="com.clawft.plugin-file", name="Workspace Files", permissions=Permissions(filesystem=("$WORKSPACE",))
)

WorkspacePath = Annotated[str, Meta(description="path, relative to the workspace")]


class WrittenFile(Struct, frozen=True, omit_defaults=True):
    path: str
    bytes: int
    restored: int = 0
    """Escapes such as ⟨U+FEFF⟩ that were turned back into the characters the file had."""


class FolderEntry(Struct, frozen=True):
    path: str
    type: Literal["file", "folder", "link", "other"]
    size: int


class Listing(Struct, frozen=True):
    entries: Annotated[list[FolderEntry], FIRST]
    truncated: bool = False


@tool(alias="read_file", title="Read file", read_only=True, idempotent=True, open_world=False)
async def read(
    path: WorkspacePath,
    ctx: ToolContext,
    offset: Annotated[int, Meta(ge=0, description="lines to skip")] = 0,
    limit: Annotated[int, Meta(ge=1, description="how many lines; all if left out")] | None = None,
) -> str:
    """Read a text file of the workspace, whole or a range of lines."""

    def text(lines: int, begins: int = 0) -> str | None:
        with _confined(ctx, path, "read") as found, open_file(found) as file:
            return None if lines and _is_large(file) else _text(file, path, lines, limit, begins)

    def start() -> int:
        with _confined(ctx, path, "read") as found, open_file(found) as file:
            _check_text(file, path)
            return _skip(file, path, offset)

    if (read := await produce_large(partial(text, offset), _size_of)) is None:
        begins = await _in_turn(_searches, ctx, start)
        read = await produce_large(partial(text, 0, begins), _size_of)
    return read or ""


@tool(alias="write_file", title="Write file", idempotent=True, open_world=False)
def write(
    path: WorkspacePath,
    content: Annotated[str, Meta(description="the whole new text of the file")],
    ctx: ToolContext,
    create_dirs: Annotated[bool, Meta(description="make missing folders on the way")] = False,
) -> WrittenFile:
    """Write a text file of the workspace, new or in place of the old one.

    Readers see the old or the new text, never half of it. What reading shows as ⟨U+FEFF⟩ is put back as that character.
    """
    refuse_autorun("write", path)
    with _confined(ctx, path, "write", create=create_dirs, missing="create_dirs makes the folders") as found:
        refuse_autorun("write", found.relative)  # where a symlink leads
        text, count = (content, 0) if MARK not in content else restored(content, _text_before(found))
        data = text.encode()
        replace_file(found, data)
        return WrittenFile(escaped_name(found.relative), len(data), count)


@tool(name="list", alias="list_files", title="List files", read_only=True, idempotent=True, open_world=False)
async def list_files(
    ctx: ToolContext,
    path: WorkspacePath = ".",
    recursive: bool = False,
    limit: Annotated[int, Meta(ge=1, le=MAX_ENTRIES)] = 1000,
) -> Listing:
    """List a folder of the workspace. With `recursive` everything beneath it, except what lies in `.git`."""

    def look() -> Listing:
        with _confined(ctx, path, "list") as found:
            if not stat.S_ISDIR(found.stat().st_mode):
                raise ExecutionFailed(f"list: not a folder: '{path}'", hint="use file__read for a file")
            return _listing(found, recursive, limit)

    return await _in_turn(_lists, ctx, look)


@tool(alias="search_files", title="Search files", read_only=True, idempotent=True, open_world=False)
async def search(
    pattern: Annotated[str, Meta(min_length=1, max_length=1000, description="text to find; case matters")],
    ctx: ToolContext,
    path: WorkspacePath = ".",
    glob: Annotated[str, Meta(max_length=256, description="only files whose name or path matches, like *.py")]
    | None = None,
    regex: Annotated[bool, Meta(description="the pattern is a Python regular expression")] = False,
    limit: Annotated[int, Meta(ge=1, le=MAX_ENTRIES)] = 100,
) -> Matches:
    """Find lines that contain a text in the files of the workspace. Skips `.git`, binary files and very large ones."""

    def look() -> Matches:
        with _confined(ctx, path, "search") as found:
            found.stat()
            return search_tree(found, Query(pattern, glob, regex, limit))

    return await _in_turn(_searches, ctx, look)


def _confined(
    ctx: ToolContext, path: str, tool_name: str, *, create: bool = False, missing: str = ""
) -> AbstractContextManager[ConfinedPath]:
    check_path(MANIFEST, tool_name, ctx.workspace.resolve(), places(ctx.workspace))
    return confined(ctx.workspace, real_path(path, tool_name), tool_name, create=create, missing=missing)


TOOLS = (read, write, list_files, search)

_searches = FairThreads(MAX_SEARCHES, MAX_SEARCHES_OF_ONE)
_lists = FairThreads(MAX_LISTS, MAX_LISTS)


async def _in_turn(threads: FairThreads, ctx: ToolContext, look: Callable[[], T]) -> T:
    """Run what may take seconds in a thread, in turn with other callers."""
    return await threads.run(f"{ctx.caller.principal} {ctx.caller.session}", look)


def _text_before(found: ConfinedPath) -> str:
    """The current text of the file; empty if it is none."""
    try:
        with open_file(found) as file:
            return file.read(MAX_TEXT_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return ""


def _listing(top: ConfinedPath, recursive: bool, limit: int) -> Listing:
    entries: list[FolderEntry] = []
    room = MAX_LISTED_CHARS
    left_out = False
    for name, status in walk_tree(top, recursive):
        shown = escaped_name(name)
        room -= len(shown)
        if len(entries) == limit or room < 0:
            return Listing(entries, truncated=True)
        entries.append(_entry(shown, status))
        left_out = left_out or (recursive and is_too_deep(top, name, status))
    return Listing(entries, left_out)


def _entry(name: str, status: os.stat_result) -> FolderEntry:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return FolderEntry(name, "file", status.st_size)
    if stat.S_ISDIR(mode):
        return FolderEntry(name, "folder", 0)
    return FolderEntry(name, "link" if stat.S_ISLNK(mode) else "other", 0)


def _text(file: BinaryIO, path: str, offset: int, limit: int | None, begins: int = 0) -> str:
    _check_text(file, path)
    file.seek(begins)
    _skip(file, path, offset)
    data = _gather(file, path, limit)
    try:
        return data.decode()
    except UnicodeDecodeError as wrong:
        raise ExecutionFailed(f"read: '{path}' is not UTF-8 text: {wrong.reason} at byte {wrong.start}") from None


def _is_large(file: BinaryIO) -> bool:
    return os.fstat(file.fileno()).st_size > LARGE_FILE_BYTES


def _size_of(text: str | None) -> int:
    return len(text or "")


def _check_text(file: BinaryIO, path: str) -> None:
    if b"\0" in file.read(PROBE_BYTES):
        raise ExecutionFailed(f"read: '{path}' is a binary file", hint="only text can be read")
    file.seek(0)


def _skip(file: BinaryIO, path: str, lines: int) -> int:
    """Skip so many lines, by pieces, as a file may have one for every byte. Returns the position behind them."""
    ends = time.monotonic() + MAX_SKIP_SECONDS
    while lines and (piece := file.read(PIECE_BYTES)):
        if time.monotonic() > ends:
            raise ExecutionFailed(f"read: skipping lines of '{path}' took longer than {MAX_SKIP_SECONDS:g} s")
        behind, lines = _past(piece, lines)
        file.seek(behind - len(piece), os.SEEK_CUR)
    return file.tell()


def _gather(file: BinaryIO, path: str, limit: int | None) -> bytearray:
    kept, lines = bytearray(), sys.maxsize if limit is None else limit
    while lines and (piece := file.read(PIECE_BYTES)):
        behind, lines = _past(piece, lines)
        kept += piece[:behind]
        if len(kept) > MAX_TEXT_BYTES:
            raise _too_long(kept, path)
    return kept


def _past(piece: bytes, lines: int) -> tuple[int, int]:
    """The position in the piece behind so many lines, or its end; and how many lines are still to go."""
    ended = piece.count(b"\n")
    if ended < lines:
        return len(piece), lines - ended
    behind = 0
    for _ in range(lines):
        behind = piece.index(b"\n", behind) + 1
    return behind, 0


def _too_long(kept: bytearray, path: str) -> ExecutionFailed:
    if b"\n" not in kept:
        return ExecutionFailed(f"read: '{path}' has a line of more than {MAX_TEXT_BYTES} bytes")
    return ExecutionFailed(f"read: '{path}' gives more than {MAX_TEXT_BYTES} bytes", hint="use offset and limit")


def replace_file(found: ConfinedPath, data: bytes) -> None:
    """Replace the file by `data`, keeping its owner and modes. The new file gets the name only when it is complete."""
    before = _before(found)
    draft = ConfinedPath(found.folder, f".weft-{os.urandom(8).hex()}.tmp", "")
    descriptor = draft.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if before is not None:
                _take_over(found, before, file.fileno())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft.name, found.name, src_dir_fd=found.folder, dst_dir_fd=found.folder)
    except BaseException:
        os.unlink(draft.name, dir_fd=found.folder)
        raise


def _before(found: ConfinedPath) -> os.stat_result | None:
    try:
        status = found.stat()
    except FileNotFoundError:
        return None
    check_regular(status.st_mode)
    if not os.access(found.name, os.W_OK, dir_fd=found.folder):  # a rename would ignore that
        is_ours = status.st_uid == os.geteuid()
        hint = f"chmod u+w {quoted(found.relative)}" if is_ours else "it belongs to another user"
        raise ExecutionFailed(f"'{escaped_name(found.relative)}' is read-only", hint=hint)
    return status


def _take_over(found: ConfinedPath, before: os.stat_result, descriptor: int) -> None:
    """Copy owner, attributes and access lists, as far as permitted, and the mode."""
    mine = os.fstat(descriptor)
    if (before.st_uid, before.st_gid) != (mine.st_uid, mine.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    if sys.platform == "linux":
        with suppress(OSError), open_file(found) as old:
            for name in filter(_is_kept, os.listxattr(old.fileno())):
                os.setxattr(descriptor, name, os.getxattr(old.fileno(), name))
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))


def _is_kept(attribute: str) -> bool:
    """Whether an attribute is copied; not those that grant a program rights: other contents are another program."""
    return attribute.startswith("user.") or attribute == "system.posix_acl_access"
