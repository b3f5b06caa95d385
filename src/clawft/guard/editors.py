"""Editors and the disk: what our own tools write is announced to editors; what editors hold unsaved is a warning.

Without an editor or a language server this guard lets calls pass untouched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Protocol

import msgspec

from clawft.model import Call, CallToolResult, Next, Origin, Reply, Tool

FAMILIES = frozenset({"file", "git", "cargo", "build", "shell"})
"""The families that work on the disk."""
MAX_NAMED = 10
MAX_PATH_CHARS = 4_096
"""Of a path that is told to editors; the tool itself refuses a longer one."""


class EditorTexts(Protocol):
    """What is known about the texts that editors hold."""

    def unsaved(self, beneath: str = ".") -> Sequence[str]: ...

    def changed_on_disk(self, path: str | None = None) -> None: ...


class EditorsGuard:
    def __init__(self, texts: Callable[[], EditorTexts | None]) -> None:
        """`texts` gives None as long as no editor has been used."""
        self._texts = texts

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return origin.namespace in FAMILIES and not origin.server

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        texts = self._texts()
        return after(call) if texts is None else self._run(call, after, texts)

    async def _run(self, call: Call, after: Next, texts: EditorTexts) -> Reply:
        path = _path_of(call)
        try:
            reply = await after(call)
        finally:
            if not call.tool.annotations.read_only_hint:
                texts.changed_on_disk(path)
        unsaved = texts.unsaved(path or ".")
        return _with_warning(reply, unsaved) if unsaved else reply


def _path_of(call: Call) -> str | None:
    """The file or folder a call of the file family is about. Others may touch anything."""
    if call.origin.namespace != "file":
        return None
    try:
        return msgspec.json.decode(call.arguments, type=_Arguments).path
    except msgspec.DecodeError:  # no path, or longer than any: to follow that takes many minutes
        return None


class _Arguments(msgspec.Struct):
    path: Annotated[str, msgspec.Meta(max_length=MAX_PATH_CHARS)] | None = None


def _with_warning(reply: Reply, unsaved: Sequence[str]) -> Reply:
    more = f" and {len(unsaved) - MAX_NAMED} more" if len(unsaved) > MAX_NAMED else ""
    warning = (
        f"warning: changes in an editor are not saved, so the disk has an older text: "
        f"{', '.join(unsaved[:MAX_NAMED])}{more} (ide__save writes them)"
    )
    result = msgspec.json.decode(reply.result, type=CallToolResult)
    content = [*result.content, {"type": "text", "text": warning}]
    told = msgspec.structs.replace(result, content=content)
    return msgspec.structs.replace(reply, result=msgspec.json.encode(told))
