"""Servers with stranger vices than the hostile ones: what breaks is theirs alone, and said at once."""

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement
from tests.security.siege import SHORT_MS, Siege, siege
from tests.security.test_hostile_servers import is_error, said
from tests.servers.pipe import Json, call, text_of
from tests.servers.rogue import CASES
from tests.servers.weft import ROOT

pytestmark = pytest.mark.slow

LONG_MS = 120_000
"""Nobody would wait for this deadline: whatever fails in a test with it has failed at once."""
FAIR_S = 20.0
"""In which fifty calls of the honest server are answered, whatever the others do; without a flood it takes 0.1 s."""
MANY = 40


def rogue(case: str, count: int = 0, **more: Any) -> Json:
    run = {"command": sys.executable, "args": ["-m", "tests.servers.rogue", case, str(count)]}
    return {**run, "env": {"PYTHONPATH": str(ROOT)}, **more}


@requirement("QUAL-03")
def test_every_case_is_used() -> None:
    tried = Path(__file__).read_text()
    assert [case for case in CASES if f'"{case}"' not in tried] == []


# ── floods without end ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-03", "QUAL-12")
@pytest.mark.parametrize("case", ["storm", "gale", "babble", "ribbon", "wail", "scream", "herald"])
async def test_a_flood_without_end_leaves_time_for_everybody_else(tmp_path: Path, case: str) -> None:
    async with siege(tmp_path, rogue(case, timeout=SHORT_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        async with asyncio.timeout(FAIR_S):
            await besieged.honest_answers(50)
        await besieged.poke("beside it")


@requirement("LINK-05", "QUAL-03")
async def test_one_that_writes_nothing_but_junk_is_stopped(tmp_path: Path) -> None:
    async with siege(tmp_path, rogue("mumble")) as besieged:
        async with asyncio.timeout(FAIR_S):
            await besieged.honest_answers(50)
        assert [name for name in await besieged.tools() if name.startswith("hostile__")] == []
        assert len(besieged.pipe.stderr()) < 20_000


@requirement("QUAL-03")
@pytest.mark.parametrize(("case", "count"), [("meddler", 0), ("nosy", 2_000)])
async def test_one_that_meddles_reaches_only_its_own_call(tmp_path: Path, case: str, count: int) -> None:
    async with siege(tmp_path, rogue(case, count)) as besieged:
        await besieged.until_listed("hostile__poke")
        await besieged.pipe.send(call("mine", "honest__hold", {"file": str(tmp_path / "go")}))
        assert "poked x" in said(await besieged.poke("x"))
        (tmp_path / "go").touch()
        seen = besieged.answers_of("mine")
        assert text_of(seen[0] if seen else await besieged.pipe.answer("mine")) == "honest held on"
        about = [message["method"] for message in besieged.pipe.others if "method" in message]
        assert [word for word in about if not word.endswith("/list_changed")] == []


# ── answers that are none ────────────────────────────────────────────────────────────────────────────────────────────


@requirement("LINK-05", "SESS-10")
@pytest.mark.parametrize(
    ("case", "text"), [("both", "x"), ("both", "request"), ("both", "neither"), ("odder", "x"), ("curious", "x")]
)
async def test_an_answer_that_is_none_fails_its_call_at_once(tmp_path: Path, case: str, text: str) -> None:
    async with siege(tmp_path, rogue(case, timeout=LONG_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        answer = await besieged.poke(text)
        assert is_error(answer)
        assert "hostile" in said(answer)
        assert len(said(answer)) < 1_000


@requirement("QUAL-03", "PROV-16")
async def test_a_strict_client_can_read_whatever_comes_of_a_call(tmp_path: Path) -> None:
    from mcp_types import CallToolResult  # the official types, and slow to load

    odd: list[Json] = [{}, {"content": None}, {"content": "x"}, {"content": [{"type": "text"}]}, {"content": [{}]}]
    odd += [{"content": [{"type": "text", "text": "x"}, {"type": "image", "data": 7}]}]
    async with siege(tmp_path, rogue("shapeless", timeout=LONG_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        answers = [await besieged.poke(json.dumps(result)) for result in odd]
        for answer in answers:
            CallToolResult.model_validate(answer["result"])
        assert [is_error(answer) for answer in answers] == [False, False, True, True, True, True]
        assert "hostile: its content is malformed: Object missing required field `text`" in said(answers[3])


@requirement("LINK-05")
@pytest.mark.parametrize(("case", "text"), [("torn", "zäh 🙂 zäh"), ("marked", "marked"), ("twice", "poked x")])
async def test_an_answer_in_odd_spelling_is_one(tmp_path: Path, case: str, text: str) -> None:
    async with siege(tmp_path, rogue(case, timeout=LONG_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        assert said(await besieged.poke("x")) == text


@pytest.fixture
def reads_deeper() -> Iterator[None]:
    """What comes through is read in the test, too."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(10 * usual)
    yield
    sys.setrecursionlimit(usual)


@requirement("GUARD-08", "QUAL-03")
@pytest.mark.usefixtures("reads_deeper")
@pytest.mark.parametrize("what", ["result", "notice", "question"])
async def test_every_depth_has_its_answer(tmp_path: Path, what: str) -> None:
    """Those that a link still reads and the rooms behind it no longer do among them: there are four or five."""
    async with siege(tmp_path, rogue("deep", timeout=LONG_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        for levels in range(960, 985):
            answer = await besieged.poke(f"{what} {levels}")
            assert what == "result" or text_of(answer) == "flat"
        log = (tmp_path / "stderr").read_text()
        assert "Traceback" not in log


@requirement("LINK-05", "WIRE-21")
async def test_half_a_character_does_not_cost_the_whole_answer(tmp_path: Path) -> None:
    async with siege(tmp_path, rogue("nul", timeout=LONG_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        assert said(await besieged.poke("surrogate")) == "a\ufffdb"


@requirement("GUARD-08", "GUARD-10")
@pytest.mark.parametrize("kind", ["nul", "float", "digits", "keys", "text", "escaped", "esc"])
async def test_what_is_spelled_out_is_still_cut(tmp_path: Path, kind: str) -> None:
    """A character nobody sees takes twelve bytes to show."""
    async with siege(tmp_path, rogue("nul")) as besieged:
        await besieged.until_listed("hostile__poke")
        answer = await besieged.poke(kind)
        assert len(json.dumps(answer, ensure_ascii=False).encode()) < 70_000


@requirement("SESS-10")
@pytest.mark.parametrize("count", [0, 1])
async def test_one_that_asks_for_ever_is_given_up(tmp_path: Path, count: int) -> None:
    async with siege(tmp_path, rogue("never", count, timeout=LONG_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        assert is_error(await besieged.poke())


@requirement("POOL-12")
async def test_a_task_that_never_ends_does(tmp_path: Path) -> None:
    async with siege(tmp_path, rogue("unending", timeout=100)) as besieged:
        await besieged.until_listed("hostile__poke")
        assert is_error(await besieged.poke())


@requirement("SESS-09")
async def test_a_stateless_server_with_odd_numbers_serves(tmp_path: Path) -> None:
    async with siege(tmp_path, rogue("modern")) as besieged:
        await besieged.until_listed("hostile__poke")
        assert said(await besieged.poke()) == "poked"


# ── what it offers ───────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SESS-09", "QUAL-12")
@pytest.mark.parametrize("case", ["growing", "patterns", "everything"])
async def test_whatever_it_offers_it_can_be_called(tmp_path: Path, case: str) -> None:
    async with siege(tmp_path, rogue(case)) as besieged:
        await besieged.until_listed("hostile__poke")
        assert not is_error(await besieged.poke("a" * 40 + "!"))
        await _reads_everything(besieged)
        assert len(besieged.pipe.stderr()) < 20_000


@requirement("SESS-09", "QUAL-12")
async def test_a_server_that_says_too_much_about_itself_is_not_used(tmp_path: Path) -> None:
    async with siege(tmp_path, rogue("essay")) as besieged:
        await besieged.honest_answers(20)
        answer = await besieged.pipe.ask("tools/call", {"name": "hostile__poke", "arguments": {}})
        assert is_error(answer)


async def _reads_everything(besieged: Siege) -> None:
    for method, params in (
        ("resources/list", {}),
        ("prompts/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "tiny://note"}),
        ("resources/read", {"uri": "file:///etc/passwd"}),
        ("prompts/get", {"name": "hostile__hello"}),
    ):
        await besieged.pipe.ask(method, params)
    mine = await besieged.pipe.ask("prompts/get", {"name": "honest__hello"})
    assert mine["result"]["messages"][0]["content"]["text"] == "hello honest"


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize(("case", "count"), [("myriad", 0), ("abyss", 5_000), ("crash", 0)])
async def test_a_list_that_cannot_be_read_is_told_in_a_few_lines(tmp_path: Path, case: str, count: int) -> None:
    async with siege(tmp_path, rogue(case, count)) as besieged:
        async with asyncio.timeout(FAIR_S):
            await besieged.honest_answers(50)
        assert len(await besieged.tools()) < 12_000
        assert len(besieged.pipe.stderr()) < 20_000


@requirement("SESS-09", "QUAL-03")
async def test_an_entry_that_is_nested_too_deeply_costs_that_entry(tmp_path: Path) -> None:
    async with siege(tmp_path, rogue("abyss", 5_000)) as besieged:
        listed = await besieged.until_listed("hostile__poke")
        assert [name for name in listed if name.startswith("hostile__")] == ["hostile__poke"]
        assert not is_error(await besieged.poke("x"))
        told = besieged.pipe.stderr()
        assert "mid is nested too deeply" in told
        assert "deep is nested too deeply" in told


@requirement("PROV-12")
async def test_names_that_look_like_others_stay_apart(tmp_path: Path) -> None:
    async with siege(tmp_path, rogue("twins")) as besieged:
        listed = await besieged.until_listed("hostile__poke")
        own = [name for name in listed if name.startswith("hostile__")]
        assert len(own) == 18
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in listed)
        called = [text_of(await besieged.poke(name, name)) for name in own]
        assert len(set(called)) == len(own)


# ── too much at once ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-12")
@pytest.mark.parametrize(("case", "size"), [("gallery", 1), ("hoard", 1), ("sealed", 1_000_000), ("mayfly", 4_000_000)])
async def test_many_large_messages_at_once_stay_within_memory(tmp_path: Path, case: str, size: int) -> None:
    """Pictures nobody cuts, texts that are kept, arguments that nobody takes: each is answered, or refused as busy."""
    async with siege(tmp_path, rogue(case, timeout=SHORT_MS * 3)) as besieged:
        await besieged.until_listed("hostile__poke")
        ids = {f"large {number}" for number in range(MANY)}
        sending = asyncio.create_task(_send_large(besieged, sorted(ids), "x" * size))
        while ids:
            answer = await besieged.pipe.read()
            ids.discard(str(answer.get("id")))
        await sending


async def _send_large(besieged: Siege, ids: list[str], text: str) -> None:
    for id in ids:
        await besieged.pipe.send(call(id, "hostile__poke", {"text": text}))


# ── lives and deaths ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("POOL-09", "POOL-21")
@pytest.mark.parametrize("case", ["heir", "brood", "mayfly", "closed"])
async def test_whatever_it_leaves_behind_is_gone_with_it(tmp_path: Path, case: str) -> None:
    """`siege` looks for those who are left."""
    async with siege(tmp_path, rogue(case, timeout=SHORT_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        for number in range(3):
            await besieged.poke(str(number))
