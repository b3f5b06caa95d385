"""The result guard: bounds the size of what leaves, and makes hidden characters visible.

The text of a tool result is cut, and the rest kept for reading on. A part of a resource or a prompt would be
misleading: those pass whole or are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from msgspec import Raw

from clawft.catalog.names import accepted
from clawft.errors import TooLarge
from clawft.guard.pipeline import ReplyGuard, hands_on
from clawft.guard.side_duties import ContentsGuard
from clawft.link.share.large_messages import process_message
from clawft.link.share.memory_budget import MEMORY_BUDGET
from clawft.model import Call, Kind, Next, Origin, Reply, Tool
from clawft.policy.grant import visible
from clawft.store.cut_results import CutResults, cut
from clawft.wire.strings import is_escaped, unescaped
from clawft.wire.visible import is_plain, make_visible

DEFAULT_LIMIT = 65_536
DEFAULT_RESOURCE_LIMIT = 8 * 1024 * 1024

Block = dict[str, Raw]
"""A content block with its members undecoded, so that each stays as it came."""
Text = bytes | memoryview
"""A text in UTF-8; often a view into something larger, to avoid a copy."""

_members = msgspec.json.Decoder(dict[str, Raw])


_READ_ON = accepted(Origin("weft"), Tool("read_result", b""))
_BARRED = "cannot be read on: weft__read_result is not {} here"


def _nobodys(server: str) -> bool:
    return False


class ResultGuard(ReplyGuard, ContentsGuard):
    """Cuts text above the limit and keeps the rest for reading on; escapes hidden characters."""

    def __init__(
        self,
        cut_results: CutResults,
        limit: int = DEFAULT_LIMIT,
        verbatim: Callable[[str], bool] = _nobodys,
        resource_limit: int = DEFAULT_RESOURCE_LIMIT,
    ) -> None:
        """`verbatim`: whether hidden characters of this server pass as they are."""
        self._cut_results = cut_results
        MEMORY_BUDGET.add_cache(cut_results)
        self._limit = limit
        self._verbatim = verbatim
        self._resource_limit = resource_limit

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return not hands_on(tool, origin)

    async def __call__(self, call: Call, after: Next) -> Reply:
        reply = await after(call)
        return await process_message(reply.result, call.origin.server, partial(self.finish, call, reply))

    def finish(self, call: Call, reply: Reply) -> Reply:
        result = reply.result
        if len(result) > self._limit and reply.kind is Kind.COMPLETE:
            reply = self._shorten(call, reply)
            result = reply.result
        if is_plain(result) or self._verbatim(call.origin.server):
            return reply
        shown = make_visible(result)
        reply = msgspec.structs.replace(reply, result=shown)
        if len(shown) > len(result) and len(shown) > self._limit and reply.kind is Kind.COMPLETE:
            return self._shorten(call, reply)  # escaped, it takes up to twelve times the room
        return reply

    async def contents(self, what: str, origin: Origin, result: bytes) -> bytes:
        if len(result) > self._resource_limit:
            raise TooLarge(
                f"{what} has {len(result)} bytes, and result.resource_limit is {self._resource_limit}",
                hint=f"set resource_limit = {len(result)} or more below [result] in config.toml",
            )
        if self._verbatim(origin.server):
            return result
        return await process_message(result, origin.server, partial(make_visible, result))

    def _shorten(self, call: Call, reply: Reply) -> Reply:
        if not _has(reply.result, _TEXT) and not _has(reply.result, _STRUCTURE):
            return reply  # such as a picture: it has no text to cut
        try:
            members = _members.decode(reply.result)
            content = msgspec.json.decode(members.get("content", _NO_BLOCKS), type=list[Block])
        except msgspec.DecodeError:
            return reply  # not a tool result, so it has no text to cut
        shortened = self._shorten_blocks(call, content)
        structured = members.get("structuredContent")
        if structured is not None and len(structured) > self._limit:
            return self._with_less_structure(call, reply, members, content, shortened)
        if shortened is content:
            return reply
        return _rebuilt(reply, members, shortened)

    def _shorten_blocks(self, call: Call, content: list[Block]) -> list[Block]:
        """The blocks that fit, with a note about the rest; the same list if all fit."""
        texts = [_text_of(block) for block in content]
        if sum(map(len, texts)) <= self._limit:
            return content
        kept, shown = _fitting(content, texts, self._limit)
        return _with_note(kept, self._note(call, [text for text in texts if text], shown))

    def _note(self, call: Call, texts: Sequence[Text], shown: int) -> str:
        size = sum(map(len, texts)) + len(texts) - 1
        note = f"[truncated] {size - shown} more bytes"
        tool = call.asked or call.name
        if barred := self._barred(call):
            return f"{note} {barred}; ask {tool} for less"
        handle = self._keep(call, size, partial(b"\n".join, texts))
        if not handle:
            return f"{note} were too large to keep; ask {tool} for less"
        return f'{note}: call weft__read_result with {{"handle":"{handle}","offset":{shown}}}'

    def _barred(self, call: Call) -> str:
        """Why this caller cannot read on; empty if it can."""
        if not self._cut_results.offered:
            return _BARRED.format("offered")
        return "" if visible(_READ_ON, call.caller.grant) else _BARRED.format("allowed")

    def _with_less_structure(
        self, call: Call, reply: Reply, members: dict[str, Raw], content: list[Block], shortened: list[Block]
    ) -> Reply:
        """Cut the structure where its schema allows, for tools of ours; the whole is in the text or kept aside."""
        from clawft.guard.shortening import shorten  # few structures are that large

        structure, schema = members["structuredContent"], call.tool.output_schema
        shorter = shorten(bytes(structure), schema, self._limit) if schema and not call.origin.server else None
        if shorter is None:
            return self._without_structure(call, reply, members, shortened)
        members["structuredContent"] = Raw(shorter)
        noted = shortened if shortened is not content else [*content, self._note_of(call, structure)]
        return _rebuilt(reply, members, noted)

    def _note_of(self, call: Call, structured: Raw) -> Block:
        note = f"[truncated] the structured result has {len(structured)} bytes"
        if barred := self._barred(call):
            return _text_block(f"{note} and {barred}")
        handle = self._keep(call, len(structured), partial(bytes, structured))
        where = f': call weft__read_result with {{"handle":"{handle}","offset":0}}' if handle else ""
        return _text_block(note + where)

    def _without_structure(self, call: Call, reply: Reply, members: dict[str, Raw], content: list[Block]) -> Reply:
        """Leave the structure out, as a part would contradict its schema; an error if the schema promised it."""
        content = [*content, self._note_of(call, members.pop("structuredContent"))]
        if call.tool.output_schema:
            members["isError"] = Raw(b"true")
            reply = msgspec.structs.replace(reply, is_error=True)
        return _rebuilt(reply, members, content)

    def _keep(self, call: Call, size: int, whole: Callable[[], bytes]) -> str:
        """Keep the rest; gives a handle, or nothing if there is no room. `whole` is called only if there is."""
        if not (MEMORY_BUDGET.has_room(size) and self._cut_results.make_room(size)):
            return ""
        return self._cut_results.keep(whole(), call.caller.principal)


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_TEXT = b'"text"'
_STRUCTURE = b'"structuredContent"'
_NO_BLOCKS = Raw(b"[]")
_NO_TEXT = Raw(b"null")
_TEXT_TYPE = Raw(b'"text"')
_RESOURCE_TYPE = Raw(b'"resource"')


def _has(result: bytes, key: bytes) -> bool:
    """Whether the key occurs; searched from the end, where Python is several times faster on large results."""
    return result.rfind(key) >= 0


def _text_of(block: Block) -> Text:
    """The text of a text block or an embedded resource; empty for everything else."""
    spelled = memoryview((_resource_in(block) or block).get("text", _NO_TEXT))
    if bytes(spelled[:1]) != b'"':
        return b""
    inside = spelled[1:-1]
    return unescaped(inside) if is_escaped(inside) else inside


def _resource_in(block: Block) -> Block | None:
    if block.get("type") != _RESOURCE_TYPE or "resource" not in block:
        return None
    try:
        return _members.decode(block["resource"])
    except msgspec.DecodeError:
        return None


def _fitting(content: Sequence[Block], texts: Sequence[Text], limit: int) -> tuple[list[Block], int]:
    """The blocks that fit, the last text cut; and where that is in all texts joined by line ends."""
    kept: list[Block] = []
    room = limit
    at = shown = 0
    for block, text in zip(content, texts, strict=True):
        if text and room <= 0:
            continue
        piece = cut(text, room)
        room -= len(text)
        kept.append(block if len(piece) == len(text) else _with_text(block, bytes(piece)))
        if text:
            shown = at + len(piece) + (len(piece) == len(text))
            at += len(text) + 1
    return kept, shown


def _with_text(block: Block, text: bytes) -> Block:
    """The block with another text in the place where `_text_of` found one."""
    spelled = Raw(msgspec.json.encode(text.decode()))
    resource = _resource_in(block)
    if resource is None:
        return {**block, "text": spelled}
    return {**block, "resource": Raw(msgspec.json.encode({**resource, "text": spelled}))}


def _with_note(content: list[Block], note: str) -> list[Block]:
    """The note behind the cut text if that is a plain text block, else in a block of its own."""
    *others, last = content or [{}]
    text = _text_of(last)
    if text and last.get("type") == _TEXT_TYPE:
        return [*others, _with_text(last, bytes(text) + b"\n" + note.encode())]
    return [*content, _text_block(note)]


def _text_block(text: str) -> Block:
    return {"type": _TEXT_TYPE, "text": Raw(msgspec.json.encode(text))}


def _rebuilt(reply: Reply, members: dict[str, Raw], content: list[Block]) -> Reply:
    members["content"] = Raw(msgspec.json.encode(content))
    return msgspec.structs.replace(reply, result=msgspec.json.encode(members))
