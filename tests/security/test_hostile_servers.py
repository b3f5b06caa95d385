"""Servers that misbehave, each in its own way: bounded, attributed, and never at the cost of the honest one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement
from tests.security.siege import SHORT_MS, hostile, siege
from tests.servers.hostile import ERRORS, RESULTS
from tests.servers.pipe import Json, call, text_of

pytestmark = pytest.mark.slow

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


def is_error(answer: Json) -> bool:
    return "error" in answer or answer["result"].get("isError") is True


def said(answer: Json) -> str:
    return answer["error"]["message"] if "error" in answer else text_of(answer)


# ── what the model sees ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-10", "QUAL-03")
async def test_hidden_characters_are_made_visible_everywhere(tmp_path: Path) -> None:
    async with siege(tmp_path, hostile("hidden")) as besieged:
        tool = (await besieged.until_listed("hostile__poke"))["hostile__poke"]
        shown = json.dumps(tool, ensure_ascii=False)
        assert UNSEEN.search(shown) is None
        assert "evil" in shown  # nothing is lost: it is spelled out
        result = await besieged.poke("x")
        assert UNSEEN.search(json.dumps(result, ensure_ascii=False)) is None
        failed = await besieged.poke("fail")
        assert is_error(failed)
        assert UNSEEN.search(json.dumps(failed, ensure_ascii=False)) is None


@requirement("PROV-12", "QUAL-03")
async def test_names_that_clash_shadow_or_overflow_reach_nobody(tmp_path: Path) -> None:
    async with siege(tmp_path, hostile("names")) as besieged:
        listed = await besieged.until_listed("hostile__poke")
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in listed)
        assert len(listed) == len(set(listed))
        owner = await besieged.pipe.ask("tools/call", {"name": "honest__echo", "arguments": {"text": "mine"}})
        assert text_of(owner) == "honest: mine"


@requirement("PROV-12")
@pytest.mark.parametrize("name", ["git", "weft", "file", "a__b"])
async def test_a_server_cannot_take_a_name_of_the_house(tmp_path: Path, name: str) -> None:
    async with siege(tmp_path, hostile("server"), **{name: hostile("server")}) as besieged:
        listed = await besieged.until_listed("hostile__poke")
        assert f"{name}__poke" not in listed
        assert name in besieged.pipe.stderr()


@requirement("SESS-09", "QUAL-03")
async def test_an_entry_that_is_no_tool_loses_that_entry_only(tmp_path: Path) -> None:
    async with siege(tmp_path, hostile("malformed")) as besieged:
        await besieged.until_listed("hostile__poke")
        assert "poked" in said(await besieged.poke())


# ── lists without end ────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SESS-09", "QUAL-03")
@pytest.mark.parametrize("case", ["circle", "endless", "crowd", "swollen", "drifting"])
async def test_a_list_without_end_costs_that_server_only(tmp_path: Path, case: str) -> None:
    async with siege(tmp_path, hostile(case)) as besieged:
        await besieged.honest_answers(50)
        listed = await besieged.tools()
        assert "honest__echo" in listed
        assert len(listed) < 12_000


@requirement("SESS-09", "QUAL-12")
async def test_a_definition_that_is_too_large_is_left_out(tmp_path: Path) -> None:
    async with siege(tmp_path, hostile("swollen")) as besieged:
        listed = await besieged.until_listed("hostile__poke")
        assert "hostile__fat" not in listed
        assert "poked" in said(await besieged.poke())


# ── floods ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-03", "QUAL-12")
@pytest.mark.parametrize(("case", "count"), [("chatter", 100_000), ("progress", 5_000), ("asks", 20_000), ("loud", 50)])
async def test_a_flood_disturbs_nobody_else(tmp_path: Path, case: str, count: int) -> None:
    async with siege(tmp_path, hostile(case, count)) as besieged:
        await besieged.until_listed("hostile__poke")
        answer = await besieged.poke("through")
        assert "poked through" in said(answer)
        news = [str(message["method"]) for message in besieged.pipe.others if "method" in message]
        assert [word for word in news if not word.endswith(("/list_changed", "notifications/message"))] == []
        assert len(besieged.pipe.others) < 2_000


@requirement("POOL-12", "QUAL-03")
async def test_progress_for_ever_does_not_hold_a_call_for_ever(tmp_path: Path) -> None:
    entry = hostile("forever", timeout=SHORT_MS // 4)
    async with siege(tmp_path, entry) as besieged:
        await besieged.until_listed("hostile__poke")
        id = "for ever"
        await besieged.pipe.send(call(id, "hostile__poke", {}, _meta={"progressToken": "p"}))
        await besieged.honest_answers(5)
        seen = [message for message in besieged.pipe.others if message.get("id") == id]
        answer = seen[0] if seen else await besieged.pipe.answer(id)
        assert is_error(answer)
        assert "hostile" in said(answer)


# ── messages that are none ───────────────────────────────────────────────────────────────────────────────────────────


@requirement("LINK-05", "QUAL-12")
@pytest.mark.parametrize(("case", "count"), [("line", 50), ("drip", 0), ("junk", 0)])
async def test_lines_that_are_no_messages_are_passed_over(tmp_path: Path, case: str, count: int) -> None:
    async with siege(tmp_path, hostile(case, count, timeout=SHORT_MS * 5)) as besieged:
        await besieged.until_listed("hostile__poke")
        answer = await besieged.poke("x")
        good = not is_error(answer) and said(answer) in ("poked x", "slowly")
        assert good or "hostile" in said(answer)
        again = await besieged.poke("again")
        assert "again" in said(again) or "slowly" in said(again) or "hostile" in said(again)


@requirement("WIRE-06", "QUAL-02")
@pytest.mark.parametrize(("case", "own"), [("ids", ()), ("early", ("forged",))])
async def test_no_answer_is_taken_for_another(tmp_path: Path, case: str, own: tuple[str, ...]) -> None:
    """A server may forge its own answers, if it guesses what it will be asked; never another's, and never two."""
    async with siege(tmp_path, hostile(case)) as besieged:
        await besieged.until_listed("hostile__poke")
        for number in range(20):
            answer = await besieged.poke(str(number))
            assert said(answer) in (f"poked {number}", *own)
            assert besieged.answers_of(f"poke {number}") in ([], [answer])


@requirement("SESS-10", "QUAL-03")
@pytest.mark.parametrize(("case", "turns"), [("odd", len(RESULTS)), ("errors", len(ERRORS))])
async def test_what_is_no_result_is_an_error_of_that_server(tmp_path: Path, case: str, turns: int) -> None:
    async with siege(tmp_path, hostile(case, timeout=SHORT_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        for number in range(turns):
            answer = await besieged.poke(str(number))
            check_result(answer)


def check_result(answer: Json) -> None:
    """An error, or a result as the specification has it; and in any case of a size."""
    assert len(json.dumps(answer)) < 200_000
    if "error" in answer:
        assert isinstance(answer["error"]["code"], int)
        assert isinstance(answer["error"]["message"], str)
        return
    content: Any = answer["result"]["content"]
    assert isinstance(content, list)


# ── bombs ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-08", "QUAL-12")
@pytest.mark.parametrize("kind", ["text", "blocks", "structure", "deep"])
async def test_a_result_above_every_bound_is_cut(tmp_path: Path, kind: str) -> None:
    async with siege(tmp_path, hostile("bomb")) as besieged:
        await besieged.until_listed("hostile__poke")
        answer = await besieged.poke(kind)
        assert len(json.dumps(answer)) < 400_000
        check_shape(answer)


@requirement("GUARD-08")
async def test_a_picture_is_whole_or_not_there(tmp_path: Path) -> None:
    """Half of it would be no picture."""
    async with siege(tmp_path, hostile("bomb")) as besieged:
        await besieged.until_listed("hostile__poke")
        [block] = (await besieged.poke("picture"))["result"]["content"]
        assert len(block["data"]) == 8 * 1024 * 1024


def check_shape(answer: Json) -> None:
    result = answer.get("result")
    if result is not None:
        assert all(isinstance(block, dict) for block in result["content"])


# ── lives and deaths ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("POOL-01", "QUAL-03")
@pytest.mark.parametrize("case", ["mute", "unlisted", "stranger"])
async def test_a_server_that_never_gets_ready_hides_nobody(tmp_path: Path, case: str) -> None:
    async with siege(tmp_path, hostile(case)) as besieged:
        await besieged.honest_answers(20)
        assert [name for name in await besieged.tools() if name.startswith("hostile__")] == []
        answer = await besieged.pipe.ask("tools/call", {"name": "hostile__poke", "arguments": {}})
        assert is_error(answer)


@requirement("POOL-21", "QUAL-03")
async def test_one_that_does_not_want_to_go_is_made_to(tmp_path: Path) -> None:
    async with siege(tmp_path, hostile("stubborn")) as besieged:
        await besieged.until_listed("hostile__poke")


@requirement("POOL-09", "QUAL-03")
@pytest.mark.parametrize("case", ["deaf", "blind", "half"])
async def test_a_call_that_is_lost_is_told_and_the_server_comes_back(tmp_path: Path, case: str) -> None:
    async with siege(tmp_path, hostile(case, timeout=SHORT_MS)) as besieged:
        await besieged.until_listed("hostile__poke")
        answer = await besieged.poke()
        assert is_error(answer)
        assert "hostile" in said(answer)
        await besieged.until_listed("hostile__poke")
