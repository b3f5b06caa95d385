"""The user's list of trusted folders, whose code may be run; nothing else decides about that.

A build runs code of the folder (build scripts, tests, plugins, Makefiles), and so does git (hooks, filters, helpers). A
cell restricts that, but the workspace is in it. So nothing is run before the user has named the folder: one absolute
path per line in `trusted` in our home folder, `~/.clawft/trusted`. A path covers what is beneath it. The workspace has
no say: a list inside the workspace, or one that others may write, is ignored.
"""

import asyncio
import os
import stat
from pathlib import Path

from clawft.builtin.allowed_once import allowed_once
from clawft.error_words import quoted
from clawft.errors import PermissionDenied
from clawft.provider.context import ToolContext
from clawft.store.home import home

LIST = "trusted"
MAX_LIST_BYTES = 64 * 1024


_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MAY_ENTER = stat.S_IXGRP | stat.S_IXOTH


def list_file() -> Path:
    """The path of the user's list, which may not exist."""
    return home() / LIST


def trusted(folder: Path) -> bool:
    """Whether the user's list names this resolved folder, or one above it."""
    return any(folder.is_relative_to(named) for named in _named(list_file()))


def list_is_safe(workspace: Path) -> bool:
    """Whether programs in this workspace cannot write the list; otherwise the list is ignored."""
    return not (list_file()).resolve().is_relative_to(workspace.resolve())


def trusted_in(workspace: Path, folder: Path) -> bool:
    """Whether the folder is trusted, and the list safe from programs in this workspace."""
    return list_is_safe(workspace) and trusted(folder)


async def ensure_trusted(tool: str, folder: Path, ctx: ToolContext) -> None:
    """Go on if the user trusts the folder, or the person allows this one run; PermissionDenied otherwise."""
    if await asyncio.to_thread(trusted_in, ctx.workspace, folder):
        return
    named = repr(str(folder))  # escaped, on one line: the folder may have a misleading name
    message = f"{tool} runs code from {named} (build scripts, tests, plugins). Run it this once?"
    if await allowed_once(ctx, "weft_trust", message, "Run it this once"):
        return
    raise PermissionDenied(
        tool, f"'{folder}' is not trusted, and this runs code from it", hint=how_to_trust(ctx.workspace)
    )


def how_to_trust(workspace: Path) -> str:
    """How the user trusts a workspace that is not on the list."""
    file = list_file()
    if not list_is_safe(workspace):
        return f"{file} lies inside the workspace, where tools can write: start weft in a folder below"
    if file.exists() and not _is_ours_alone(file):
        return f"others may change {file}, so it is ignored: chmod 700 {quoted(file.parent)}"
    return f"if you trust it, run: echo {quoted(workspace.resolve())} >> {quoted(file)}"


def _named(file: Path) -> list[Path]:
    """The folders on the list, resolved. Relative paths and links that lead up are ignored."""
    lines = [line.strip() for line in _read(file).splitlines()]
    named = [Path(os.path.expanduser(line)) for line in lines if line and not line.startswith("#")]
    found = [(path, path.resolve()) for path in named if path.is_absolute()]
    return [real for path, real in found if not _leads_up(path, real)]


def _leads_up(path: Path, real: Path) -> bool:
    """Whether the path is a link to a folder above it, which would get all of that trusted."""
    plain = Path(os.path.normpath(path))
    return plain != real and any(each.is_relative_to(real) for each in (plain, plain.parent.resolve()))


def _read(file: Path) -> str:
    """The list; empty if others may change it."""
    try:
        with file.open("rb") as content:
            return content.read(MAX_LIST_BYTES).decode("utf-8", "replace") if _is_ours_alone(file) else ""
    except OSError:
        return ""


def _is_ours_alone(file: Path) -> bool:
    """Whether nobody else can write or replace the file. A folder closed to others protects it."""
    found, folder = file.stat(), file.parent.stat()
    reachable = (folder.st_mode & _MAY_ENTER) << 1  # who may enter the folder, as the bits of who may write the file
    mine = found.st_uid == folder.st_uid == os.getuid() and stat.S_ISREG(found.st_mode)
    return mine and not folder.st_mode & _MAY_WRITE and not found.st_mode & _MAY_WRITE & reachable
