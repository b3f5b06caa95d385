"""Result: what leaves is bounded in size and has nothing hidden in it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from clawft.model import Call, Kind, Next, Origin, Reply, Tool
from clawft.policy.visible import is_clean, make_visible
from clawft.store.leftovers import Leftovers, cut

DEFAULT_LIMIT = 65_536

_members = msgspec.json.Decoder(dict[str, Raw])
_blocks = msgspec.json.Decoder(list[dict[str, Any]])


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
        reply = await after(call)
        result = reply.result
        if len(result) > self._limit and reply.kind is Kind.COMPLETE:
            reply = self._shorten(call, reply)
            result = reply.result
        if is_clean(result) or call.origin.server in self._verbatim:
            return reply
        return msgspec.structs.replace(reply, result=make_visible(result))

    def _shorten(self, call: Call, reply: Reply) -> Reply:
        members = _members.decode(reply.result)
        content = _blocks.decode(members.get("content", Raw(b"[]")))
        shortened = self._shorten_blocks(call, content)
        structured = members.get("structuredContent")
        if structured is not None and len(structured) > self._limit:
            return self._without_structure(call, members, shortened, bytes(structured))
        if shortened is content:
            return reply
        return _rebuilt(reply, members, shortened)

    def _shorten_blocks(self, call: Call, content: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The same list if everything fits."""
        total = sum(len(text.encode()) for text in map(_text_of, content))
        if total <= self._limit:
            return content
        whole = "\n".join(text for text in map(_text_of, content) if text).encode()
        room = self._limit
        kept: list[dict[str, Any]] = []
        for block in content:
            text = _text_of(block).encode()
            if text and room <= 0:
                continue
            piece = cut(text, room)
            room -= len(text)
            kept.append(block if len(piece) == len(text) else _with_text(block, piece.decode()))
        _append_note(kept, self._note(call, whole, total - self._limit))
        return kept

    def _note(self, call: Call, whole: bytes, missing: int) -> str:
        handle = self._leftovers.keep(whole, call.caller.principal)
        told = f"[truncated] {missing} more bytes"
        if not handle:
            return f"{told} were too much to keep; ask {call.name} for less"
        return f'{told}: call weft__read_result with {{"handle":"{handle}","offset":{self._limit}}}'

    def _without_structure(
        self, call: Call, members: dict[str, Raw], content: list[dict[str, Any]], structured: bytes
    ) -> Reply:
        """Half a structure would contradict its schema: leave it out, and call it an error if a schema promised it."""
        del members["structuredContent"]
        handle = self._leftovers.keep(structured, call.caller.principal)
        note = f"[truncated] the structured result has {len(structured)} bytes"
        where = f': call weft__read_result with {{"handle":"{handle}","offset":0}}' if handle else ""
        content = [*content, {"type": "text", "text": note + where}]
        if call.tool.output_schema:
            members["isError"] = Raw(b"true")
        return _rebuilt(Reply(b"", is_error=bool(call.tool.output_schema)), members, content)


def _text_of(block: dict[str, Any]) -> str:
    if block.get("type") == "resource":
        resource = block.get("resource")
        block = resource if isinstance(resource, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # JSON of unknown shape
    text = block.get("text", "")
    return text if isinstance(text, str) else ""


def _with_text(block: dict[str, Any], text: str) -> dict[str, Any]:
    if block.get("type") == "resource":
        return {**block, "resource": {**block["resource"], "text": text}}
    return {**block, "text": text}


def _append_note(content: list[dict[str, Any]], note: str) -> None:
    """Right behind the cut text where that is a plain block, else as a block of its own."""
    if content and content[-1].get("type") == "text":
        content[-1] = {**content[-1], "text": content[-1]["text"] + "\n" + note}
    else:
        content.append({"type": "text", "text": note})


def _rebuilt(reply: Reply, members: dict[str, Raw], content: list[dict[str, Any]]) -> Reply:
    members["content"] = Raw(msgspec.json.encode(content))
    return msgspec.structs.replace(reply, result=msgspec.json.encode(members))
