"""Result: what leaves is bounded in size and has nothing hidden in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.model import Call, Kind, Next, Origin, Reply, Tool
from clawft.store.leftovers import Leftovers, cut
from clawft.wire.visible import is_clean, make_visible

DEFAULT_LIMIT = 65_536

_members = msgspec.json.Decoder(dict[str, Raw])
_blocks = msgspec.json.Decoder(list[Raw])


class ResultGuard:
    """Cuts text above the limit and keeps the rest for reading on; spells hidden characters out."""

    def __init__(
        self, leftovers: Leftovers, limit: int = DEFAULT_LIMIT, verbatim: frozenset[str] = frozenset()
    ) -> None:
        """`verbatim` names the servers whose results pass with their hidden characters."""
        self._leftovers = leftovers
        self._limit = limit
        self._verbatim = verbatim

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return True

    async def __call__(self, call: Call, after: Next) -> Reply:
        return self.finish(call, await after(call))

    def finish(self, call: Call, reply: Reply) -> Reply:
        result = reply.result
        if len(result) > self._limit and reply.kind is Kind.COMPLETE:
            reply = self._shorten(call, reply)
            result = reply.result
        if is_clean(result) or call.origin.server in self._verbatim:
            return reply
        return msgspec.structs.replace(reply, result=make_visible(result))

    def _shorten(self, call: Call, reply: Reply) -> Reply:
        if _TEXT not in reply.result and _STRUCTURE not in reply.result:
            return reply  # a picture, say: nothing in it that we could cut
        try:
            members = _members.decode(reply.result)
            content = _blocks.decode(members.get("content", _NO_BLOCKS))
        except msgspec.DecodeError:
            return reply  # no tool result, so there is no text in it that we could cut
        shortened = self._shorten_blocks(call, content)
        structured = members.get("structuredContent")
        if structured is not None and len(structured) > self._limit:
            return self._without_structure(call, reply, members, shortened)
        if shortened is content:
            return reply
        return _rebuilt(reply, members, shortened)

    def _shorten_blocks(self, call: Call, content: list[Raw]) -> list[Raw]:
        """The same list if everything fits."""
        texts = [_text_of(block) for block in content]
        if sum(map(len, texts)) <= self._limit:
            return content
        kept, shown = _fitting(content, texts, self._limit)
        whole = b"\n".join(text for text in texts if text)
        return _with_note(kept, self._note(call, whole, shown))

    def _note(self, call: Call, whole: bytes, shown: int) -> str:
        handle = self._leftovers.keep(whole, call.caller.principal)
        told = f"[truncated] {len(whole) - shown} more bytes"
        if not handle:
            return f"{told} were too much to keep; ask {call.name} for less"
        return f'{told}: call weft__read_result with {{"handle":"{handle}","offset":{shown}}}'

    def _without_structure(self, call: Call, reply: Reply, members: dict[str, Raw], content: list[Raw]) -> Reply:
        """Half a structure would contradict its schema: leave it out, and call it an error if a schema promised it."""
        structured = bytes(members.pop("structuredContent"))
        handle = self._leftovers.keep(structured, call.caller.principal)
        note = f"[truncated] the structured result has {len(structured)} bytes"
        where = f': call weft__read_result with {{"handle":"{handle}","offset":0}}' if handle else ""
        content = [*content, _text_block(note + where)]
        if call.tool.output_schema:
            members["isError"] = Raw(b"true")
            reply = msgspec.structs.replace(reply, is_error=True)
        return _rebuilt(reply, members, content)


# ── blocks: read only as far as their text, so that the rest of each stays as it came ────────────────────────────────


class _View(Struct):
    type: Any = None
    text: Any = None
    resource: Raw | UnsetType = UNSET


_view = msgspec.json.Decoder(_View)
_TEXT = b'"text"'
_STRUCTURE = b'"structuredContent"'
_NO_BLOCKS = Raw(b"[]")


def _text_of(block: Raw) -> bytes:
    """The text of a text block or an embedded resource; empty for everything else."""
    try:
        view = _view.decode(block)
        if view.type == "resource" and view.resource is not UNSET:
            view = _view.decode(view.resource)
    except msgspec.DecodeError:
        return b""
    return view.text.encode() if isinstance(view.text, str) else b""


def _fitting(content: Sequence[Raw], texts: Sequence[bytes], limit: int) -> tuple[list[Raw], int]:
    """The blocks that fit, the last text cut; and how far that is in all texts joined by line ends."""
    kept: list[Raw] = []
    room = limit
    at = shown = 0
    for block, text in zip(content, texts, strict=True):
        if text and room <= 0:
            continue
        piece = cut(text, room)
        room -= len(text)
        kept.append(block if len(piece) == len(text) else _with_text(block, piece))
        if text:
            shown = at + len(piece) + (len(piece) == len(text))
            at += len(text) + 1
    return kept, shown


def _with_text(block: Raw, text: bytes) -> Raw:
    """The same block with another text where `_text_of` found one."""
    members = _members.decode(block)
    spelled = Raw(msgspec.json.encode(text.decode()))
    if _view.decode(block).type == "resource" and "resource" in members:
        resource = _members.decode(members["resource"])
        members["resource"] = Raw(msgspec.json.encode({**resource, "text": spelled}))
    else:
        members["text"] = spelled
    return Raw(msgspec.json.encode(members))


def _with_note(content: list[Raw], note: str) -> list[Raw]:
    """Right behind the cut text where that is a plain block, else as a block of its own."""
    *others, last = content or [_NO_BLOCKS]
    if _text_of(last) and _view.decode(last).type == "text":
        return [*others, _with_text(last, _text_of(last) + b"\n" + note.encode())]
    return [*content, _text_block(note)]


def _text_block(text: str) -> Raw:
    return Raw(msgspec.json.encode({"type": "text", "text": text}))


def _rebuilt(reply: Reply, members: dict[str, Raw], content: list[Raw]) -> Reply:
    members["content"] = Raw(msgspec.json.encode(content))
    return msgspec.structs.replace(reply, result=msgspec.json.encode(members))
