"""Results are bounded, and what was cut can be read on."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from clawft.guard.result import DEFAULT_LIMIT, ResultGuard
from clawft.link.share.memory_budget import MAX_BYTES, SPARED_BYTES
from clawft.link.share.unread_output import UNREAD
from clawft.model import Caller, CallToolResult, Grant, Kind, Reply, Tool
from clawft.store.cut_results import CutResults, cut
from tests.guard.support import TOOL, answers, call, result_of
from tests.requirements import requirement

ADA = Caller("ada")


async def guarded(
    reply: Reply,
    limit: int = 100,
    cut_results: CutResults | None = None,
    tool: Tool = TOOL,
    server: str = "",
    caller: Caller = ADA,
    asked: str = "",
) -> Reply:
    guard = ResultGuard(CutResults() if cut_results is None else cut_results, limit, lambda name: name == "loud")
    return await guard(replace(call(caller=caller, tool=tool, server=server), asked=asked), answers(reply))


def blocks(*content: dict[str, Any], **more: Any) -> Reply:
    return Reply(json.dumps({"content": content, **more}, ensure_ascii=False).encode())


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def read_on(cut_results: CutResults, note: str) -> tuple[str, int]:
    """Follow the note to the end; the text that was missing and the offset it began at."""
    told = json.loads(note[note.index("{") : note.index("}") + 1])
    offset, rest = told["offset"], ""
    while offset is not None:
        part = cut_results.read(told["handle"], "ada", offset, 40)
        assert part is not None
        rest += part.text
        offset = part.next_offset
    return rest, told["offset"]


@requirement("GUARD-08", "T-7.11", "AC-17", "SHELL-11")
async def test_a_limit_of_100_bytes_leaves_100_bytes_and_the_note() -> None:
    cut_results = CutResults()
    words = "".join(f"{n:04d}" for n in range(100))
    shown = result_of(await guarded(Reply.text(words), cut_results=cut_results))["content"][0]["text"]
    kept, _, note = shown.partition("\n")
    assert kept == words[:100]
    assert note.startswith("[truncated] 300 more bytes")
    assert read_on(cut_results, note) == (words[100:], 100)


@requirement("GUARD-08", "NFR-007")
async def test_what_fits_is_not_touched() -> None:
    just = Reply.text("x" * DEFAULT_LIMIT)
    assert await guarded(just, DEFAULT_LIMIT) is just
    small = Reply(b'{ "content": [], "n": 1.10 }')
    assert await guarded(small) is small
    assert DEFAULT_LIMIT == 65_536


@requirement("GUARD-08")
@pytest.mark.parametrize("words", ["é" * 120, "a" + "é" * 120, "日本語" * 60, "a日" * 60, "👩‍💻" * 20, "x" + "😀" * 60])
async def test_no_character_is_cut_in_two_and_none_is_lost(words: str) -> None:
    cut_results = CutResults()
    shown = result_of(await guarded(Reply.text(words), cut_results=cut_results))["content"][0]["text"]
    kept, _, note = shown.rpartition("\n")
    assert 96 < len(kept.encode()) <= 100
    rest, _ = read_on(cut_results, note)
    assert kept + rest == words


@requirement("GUARD-08")
async def test_the_budget_is_for_all_blocks_together() -> None:
    cut_results = CutResults()
    image = {"type": "image", "data": "A" * 500, "mimeType": "image/png", "x": 1.5}
    reply = blocks(text("a" * 60), image, text("b" * 60), text("c" * 60), {"type": "widget", "n": 1})
    content = result_of(await guarded(reply, cut_results=cut_results))["content"]
    assert [block["type"] for block in content] == ["text", "image", "text", "widget", "text"]
    assert content[1] == image
    assert content[2]["text"] == "b" * 40
    rest, _ = read_on(cut_results, content[-1]["text"])
    assert rest == "b" * 20 + "\n" + "c" * 60


@requirement("GUARD-08")
async def test_a_cut_between_two_blocks_loses_nothing() -> None:
    cut_results = CutResults()
    content = result_of(await guarded(blocks(text("a" * 100), text("b" * 50)), cut_results=cut_results))["content"]
    kept, _, note = content[0]["text"].partition("\n")
    assert (kept, read_on(cut_results, note)[0]) == ("a" * 100, "b" * 50)


@requirement("GUARD-08")
@pytest.mark.parametrize(
    "block",
    [{"type": "image", "data": "A" * 500}, {"type": "audio", "data": "A" * 500}, {"type": "widget", "n": "x" * 500}],
)
async def test_other_blocks_pass_whole(block: dict[str, Any]) -> None:
    reply = blocks(block)
    assert await guarded(reply) is reply


@requirement("GUARD-08")
async def test_the_text_of_an_embedded_resource_counts() -> None:
    cut_results = CutResults()
    resource = {"type": "resource", "resource": {"uri": "x://y", "text": "r" * 150, "n": 1}, "annotations": {"a": 1}}
    content = result_of(await guarded(blocks(resource), cut_results=cut_results))["content"]
    assert content[0] == {**resource, "resource": {"uri": "x://y", "text": "r" * 100, "n": 1}}
    assert read_on(cut_results, content[1]["text"])[0] == "r" * 50


@requirement("GUARD-08", "WIRE-21")
async def test_what_stands_beside_a_cut_text_keeps_its_spelling() -> None:
    odd = b'{"type":"widget","big":123456789012345678901234567890,"f":1.10,"far":1e400}'
    reply = Reply(b'{"_meta":{"k":1.10},"content":[' + odd + b',{"n":1E5,"type":"text","text":"' + b"x" * 150 + b'"}]}')
    wire = (await guarded(reply)).result
    assert odd in wire
    assert b'{"n":1E5,"type":"text","text":"xxx' in wire
    assert b'"_meta":{"k":1.10}' in wire


@requirement("GUARD-08")
async def test_text_too_large_to_keep_says_so() -> None:
    shown = result_of(await guarded(Reply.text("x" * 300), cut_results=CutResults(max_bytes=200)))["content"][0]["text"]
    assert "[truncated] 200 more bytes were too large to keep" in shown


@requirement("GUARD-08")
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            Reply.text("x" * 300),
            "[truncated] 200 more bytes cannot be read on: weft__read_result is not allowed here; ask",
        ),
        (
            blocks(structuredContent={"a": "x" * 300}),
            "bytes and cannot be read on: weft__read_result is not allowed here",
        ),
    ],
    ids=["text", "structure"],
)
async def test_who_may_not_read_on_is_not_told_to(reply: Reply, said: str) -> None:
    cut_results = CutResults()
    for grant in (Grant(("demo__*",)), Grant(deny=("weft__*",)), Grant(("*",), within=("demo__*",))):
        caller = Caller("ada", grant=grant)
        assert said in (await guarded(reply, cut_results=cut_results, caller=caller)).result.decode()
    assert cut_results.bytes == 0
    for grant in (Grant(("mcp__weft__read_result",)), Grant(("demo__*", "weft__*"))):
        caller = Caller("ada", grant=grant)
        assert "call weft__read_result with" in (await guarded(reply, caller=caller)).result.decode()


@requirement("GUARD-08")
async def test_where_nobody_can_read_on_the_note_says_that_and_names_the_tool_as_it_was_called() -> None:
    content = result_of(await guarded(Reply.text("x" * 300), cut_results=CutResults(max_bytes=0), asked="demo__t"))
    said = "200 more bytes cannot be read on: weft__read_result is not offered here; ask demo__t for less"
    assert said in content["content"][0]["text"]


@requirement("GUARD-08", "QUAL-12")
@pytest.mark.parametrize("structured", [False, True])
async def test_nothing_is_kept_that_would_be_given_up_at_once(
    structured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handle for it would lead nowhere, and it would be there twice for a moment."""
    monkeypatch.setattr(UNREAD, "bytes", MAX_BYTES)
    cut_results, large = CutResults(), "x" * 2 * SPARED_BYTES
    reply = blocks(structuredContent={"x": large}) if structured else Reply.text(large)
    shown = result_of(await guarded(reply, cut_results=cut_results))["content"][0]["text"]
    assert "[truncated]" in shown
    assert "handle" not in shown
    monkeypatch.setattr(UNREAD, "bytes", 0)
    assert "handle" in result_of(await guarded(reply, cut_results=cut_results))["content"][0]["text"]


@requirement("GUARD-08")
@pytest.mark.parametrize("kind", [Kind.TASK, Kind.INPUT_REQUIRED])
async def test_what_is_no_result_yet_is_not_cut(kind: Kind) -> None:
    reply = Reply(b'{"content":[{"type":"text","text":"' + b"x" * 200 + b'"}]}', kind=kind)
    assert await guarded(reply) is reply


@requirement("GUARD-08")
@pytest.mark.parametrize(
    "odd", [b'{"content":"%s"}', b'"%s"', b'{"content":["%s",5]}', b'{"content":[{"type":"text","text":{"a":"%s"}}]}']
)
async def test_a_result_of_no_known_shape_breaks_nothing(odd: bytes) -> None:
    reply = Reply(odd % (b"x" * 200))
    assert await guarded(reply) is reply


# ── structured results ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-09")
@pytest.mark.parametrize("promised", [True, False])
async def test_half_a_structure_is_never_sent(promised: bool) -> None:
    cut_results = CutResults()
    tool = Tool("t", b'{"outputSchema":{"type":"object"}}' if promised else b"{}")
    reply = blocks(text("short"), structuredContent={"rows": list(range(100))})
    guarded_reply = await guarded(reply, cut_results=cut_results, tool=tool)
    shown = result_of(guarded_reply)
    assert "structuredContent" not in shown
    assert shown.get("isError", False) is guarded_reply.is_error is promised
    assert json.loads(read_on(cut_results, shown["content"][1]["text"])[0]) == {"rows": list(range(100))}


@requirement("GUARD-09", "WIRE-21")
async def test_a_structure_that_contradicts_its_schema_is_the_word_of_its_server() -> None:
    """Clients check it who rely on it; what is not ours we do not change."""
    tool = Tool("t", b'{"outputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}')
    reply = blocks(text("short"), structuredContent={"n": "none"})
    assert await guarded(reply, tool=tool, server="other") is reply


@requirement("GUARD-09", "EXEC-01")
@pytest.mark.parametrize("server", ["", "other"])
async def test_a_tool_of_ours_says_what_may_be_cut(server: str) -> None:
    """What a server says of its own results is not for us to believe."""
    cut_results = CutResults()
    schema = {"type": "object", "properties": {"out": {"type": "string", "x-keeps": "last"}}}
    whole = {"out": "x" * 500 + "end", "code": 0}
    reply = blocks(text(json.dumps(whole)), structuredContent=whole)
    tool = Tool("t", json.dumps({"outputSchema": schema}).encode())
    guarded_reply = await guarded(reply, limit=200, cut_results=cut_results, tool=tool, server=server)
    shown = result_of(guarded_reply)
    assert guarded_reply.is_error is shown.get("isError", False) is bool(server)
    if not server:
        assert shown["structuredContent"]["out"].endswith("end")
        assert shown["structuredContent"]["code"] == 0
        rest, offset = read_on(cut_results, shown["content"][0]["text"].partition("[truncated]")[2])
        assert (json.dumps(whole)[:offset] + rest) == json.dumps(whole)


@requirement("GUARD-09")
async def test_an_error_with_a_large_structure_stays_an_error() -> None:
    reply = Reply.of(CallToolResult(content=[text("bad")], structured_content={"x": "y" * 200}, is_error=True))
    guarded_reply = await guarded(reply)
    assert guarded_reply.is_error
    assert result_of(guarded_reply)["isError"] is True


@requirement("GUARD-09")
async def test_a_small_structure_stays_beside_cut_text() -> None:
    shown = result_of(await guarded(blocks(text("x" * 200), structuredContent={"a": 1})))
    assert shown["structuredContent"] == {"a": 1}
    assert "[truncated]" in shown["content"][0]["text"]


# ── hidden characters ────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-09")
async def test_hidden_characters_are_spelled_out_unless_the_server_may_have_them() -> None:
    reply = Reply.text("a\u202eb\x1b[2J")
    assert result_of(await guarded(reply))["content"][0]["text"] == "a⟨U+202E⟩b⟨U+001B⟩[2J"
    assert await guarded(reply, server="loud") is reply


# ── results that were cut ─────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-08")
def test_only_the_owner_reads_a_leftover() -> None:
    cut_results = CutResults()
    handle = cut_results.keep(b"secret", "ada")
    assert cut_results.read(handle, "bob", 0, 100) is None
    assert cut_results.read("no such", "ada", 0, 100) is None
    part = cut_results.read(handle, "ada", 0, 4)
    assert part is not None
    assert (part.text, part.next_offset, part.total) == ("secr", 4, 6)


@requirement("GUARD-08")
def test_leftovers_are_bounded_in_number_and_size_and_the_oldest_go_first() -> None:
    cut_results = CutResults(max_items=3, max_bytes=100)
    handles = [cut_results.keep(b"x" * 10, "ada") for _ in range(4)]
    assert [cut_results.read(handle, "ada", 0, 5) is None for handle in handles] == [True, False, False, False]
    big = cut_results.keep(b"y" * 95, "ada")
    assert [cut_results.read(handle, "ada", 0, 5) is None for handle in [*handles, big]] == [True] * 4 + [False]
    assert cut_results.keep(b"z" * 101, "ada") == ""
    assert len({cut_results.keep(b"", "ada") for _ in range(50)}) == 50


@requirement("GUARD-08")
@pytest.mark.parametrize("offset", [-5, 6, 100])
def test_any_offset_is_harmless(offset: int) -> None:
    cut_results = CutResults()
    part = cut_results.read(cut_results.keep(b"secret", "ada"), "ada", offset, 100)
    assert part is not None
    assert (part.text, part.next_offset) == ("secret" if offset < 0 else "", None)


@requirement("GUARD-08")
def test_a_cut_is_at_a_boundary() -> None:
    assert [bytes(cut("aé😀".encode(), limit)).decode() for limit in range(8)] == [
        "",
        "a",
        "a",
        "aé",
        "aé",
        "aé",
        "aé",
        "aé😀",
    ]
