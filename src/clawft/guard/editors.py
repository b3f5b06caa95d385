"""Tells editors what our tools write, and warns where an editor holds unsaved text.

Without an editor or a language server this guard lets calls pass untouched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Protocol

import msgspec

from clawft.guard.pipeline import Guard
from clawft.model import Call, CallToolResult, Next, Origin, Reply, Tool

FAMILIES = frozenset({"file", "git", "cargo", "build", "shell"})
"""The families that read or write files."""
UNSAVED = "changes in an editor are not saved, so they are not on disk: {} (ide__save writes them)"
OVERTAKEN = (
    "the disk has a newer text than the one that was changed in an editor and is not saved: {} "
    "(ide__save with discard: true loads the text from disk)"
)
LOST = "unsaved changes were lost, because this call wrote the file: {}"
MAX_NAMED = 10
MAX_PATH_CHARS = 4_096
"""Characters of a path that is reported to editors; the tool itself refuses a longer one."""


class EditorTexts(Protocol):
    """The state of the texts that editors hold."""

    def unsaved(self, beneath: str = ".") -> Sequence[str]: ...

    def overtaken(self, beneath: str = ".") -> Sequence[str]: ...

    def changed_on_disk(self, path: str | None = None) -> Sequence[str]: ...


class EditorsGuard(Guard):
    def __init__(self, texts: Callable[[], EditorTexts | None]) -> None:
        """`texts` returns None as long as no editor has been used."""
        self._texts = texts

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return origin.namespace in FAMILIES and not origin.server

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        texts = self._texts()
        return after(call) if texts is None else self._run(call, after, texts)

    async def _run(self, call: Call, after: Next, texts: EditorTexts) -> Reply:
        path = _path_of(call)
        written, lost = None, ()
        try:
            reply = await after(call)
            written = None if reply.is_error else path
        finally:
            if not call.tool.annotations.read_only_hint:
                lost = texts.changed_on_disk(written)
        unsaved = texts.unsaved(path or ".")
        warnings = _warnings(unsaved, texts.overtaken(path or ".") if unsaved else (), lost)
        return _with_warnings(reply, warnings) if warnings else reply


def _path_of(call: Call) -> str | None:
    """The file or folder a call of the file family is about; None for other families, which may touch anything."""
    if call.origin.namespace != "file":
        return None
    try:
        return msgspec.json.decode(call.arguments, type=_Arguments).path
    except msgspec.DecodeError:  # no path, or longer than any: to follow that takes many minutes
        return None


class _Arguments(msgspec.Struct):
    path: Annotated[str, msgspec.Meta(max_length=MAX_PATH_CHARS)] | None = None


def _warnings(unsaved: Sequence[str], overtaken: Sequence[str], lost: Sequence[str]) -> list[str]:
    """Warnings about unsaved texts, by how they differ from the disk, and about changes that were overwritten."""
    behind = [path for path in unsaved if path not in overtaken]
    kinds = ((behind, UNSAVED), (overtaken, OVERTAKEN), (lost, LOST))
    return [f"warning: {text.format(_named(paths))}" for paths, text in kinds if paths]


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else ""
    return f"{', '.join(paths[:MAX_NAMED])}{more}"


def _with_warnings(reply: Reply, warnings: Sequence[str]) -> Reply:
    result = msgspec.json.decode(reply.result, type=CallToolResult)
    content = [*result.content, *({"type": "text", "text": each} for each in warnings)]
    replaced = msgspec.structs.replace(result, content=content)
    return msgspec.structs.replace(reply, result=msgspec.json.encode(replaced))
