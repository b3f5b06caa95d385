"""Servers that go for what stands behind the door: our memory, the terminal, the person, our own voice."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import types

from tests.requirements import requirement
from tests.security.siege import Siege, siege
from tests.security.test_hostile_servers import UNSEEN, is_error, said
from tests.security.test_rogue_servers import FAIR_S, LONG_MS
from tests.servers.pipe import Json, call, mcp_server, modern_meta, text_of
from tests.servers.vandal import ASKED, BOMBS, CASES
from tests.servers.weft import ROOT, weft

pytestmark = pytest.mark.slow


def vandal(case: str, **more: Any) -> Json:
    run = {"command": sys.executable, "args": ["-m", "tests.servers.vandal", case]}
    return {**run, "env": {"PYTHONPATH": str(ROOT)}, "timeout": LONG_MS, **more}


@requirement("QUAL-03")
def test_every_case_is_used() -> None:
    tried = Path(__file__).read_text()
    assert [case for case in CASES if f'"{case}"' not in tried] == []


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-12", "SESS-10")
@pytest.mark.parametrize("kind", BOMBS)
async def test_millions_of_parts_in_one_answer_fail_their_call_at_once(tmp_path: Path, kind: str) -> None:
    async with siege(tmp_path, vandal("bomb")) as besieged:
        await besieged.until_listed("hostile__poke")
        answer = await besieged.poke(kind)
        assert is_error(answer)
        assert "hostile" in said(answer)


@requirement("QUAL-12", "SESS-09")
@pytest.mark.parametrize("case", ["crumbs", "baggage"])
async def test_millions_of_parts_at_the_start_cost_that_server_only(tmp_path: Path, case: str) -> None:
    async with siege(tmp_path, vandal(case)) as besieged:
        async with asyncio.timeout(FAIR_S):
            await besieged.honest_answers(50)
        assert list(await besieged.tools())


@requirement("QUAL-12", "SESS-09")
async def test_a_list_is_kept_as_far_as_its_bytes_allow(tmp_path: Path) -> None:
    async with siege(tmp_path, vandal("heavy"), "--no-builtin") as besieged:
        await besieged.until_listed("hostile__poke")
        assert "poked x" in said(await besieged.poke("x"))
        assert "hostile: not enough room for all its tools" in besieged.pipe.stderr()


@requirement("QUAL-12")
async def test_progress_as_long_as_a_book_is_cut(tmp_path: Path) -> None:
    async with siege(tmp_path, vandal("tome")) as besieged:
        await besieged.until_listed("hostile__poke")
        await besieged.pipe.send(call("long", "hostile__poke", {}, _meta={"progressToken": "p"}))
        assert not is_error(await besieged.pipe.answer("long"))
        heard = [other["params"] for other in besieged.pipe.others if other.get("method") == "notifications/progress"]
        assert heard[0]["message"] == "short"
        assert max(len(told["message"]) for told in heard) < 5_000


# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-03", "QUAL-12")
@pytest.mark.parametrize("kind", ["0", "1", "2"])
async def test_lines_with_nothing_on_them_leave_time_for_everybody_else(tmp_path: Path, kind: str) -> None:
    async with siege(tmp_path, vandal("blank")) as besieged:
        await besieged.until_listed("hostile__poke")
        assert "poked" in said(await besieged.poke(kind))
        async with asyncio.timeout(FAIR_S):
            await besieged.honest_answers(50)


@requirement("QUAL-03")
async def test_an_agent_is_not_asked_for_its_folders_all_the_time(tmp_path: Path) -> None:
    told = json.dumps({"mcpServers": {"hostile": vandal("drum")}})
    async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
        await pipe.open(roots={})
        await Siege(pipe).until_listed("hostile__poke")
        await pipe.is_well()
        asked = [other for other in pipe.others if other.get("method") == "roots/list"]
        assert len(asked) <= 2


# ── what others rely on ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SESS-09", "QUAL-03")
async def test_a_strict_client_can_read_the_list_whatever_is_in_it(tmp_path: Path) -> None:
    async with siege(tmp_path, vandal("crooked")) as besieged:
        listed = await besieged.until_listed("hostile__poke")
        theirs = [name.removeprefix("hostile__") for name in listed if name.startswith("hostile__")]
        assert theirs == ["poke", "bare", "output", "icons", "icon", "meta"], "what is wrong in these need not be there"
        for tool in listed.values():
            assert types.Tool.model_validate(tool).input_schema["type"] == "object"
            assert None not in tool.values()
        assert "hostile: " in besieged.pipe.stderr()


@requirement("SESS-10", "WIRE-13")
@pytest.mark.parametrize("spelling", ["plain", "spelled"])
async def test_no_server_asks_in_our_name(tmp_path: Path, spelling: str) -> None:
    """Its question would come without its name, and without any of the rules for questions."""
    told = json.dumps({"mcpServers": {"hostile": vandal("ventriloquist")}})
    async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
        meta = {"_meta": modern_meta()}
        async with asyncio.timeout(FAIR_S):
            while b"hostile__poke" not in json.dumps(await pipe.ask("tools/list", meta)).encode():
                pass
        answer = await pipe.ask("tools/call", {"name": "hostile__poke", "arguments": {"text": spelling}, **meta})
        assert answer["result"]["resultType"] == "complete"


@requirement("GUARD-10", "QUAL-03")
async def test_no_server_paints_on_the_terminal(tmp_path: Path) -> None:
    async with siege(tmp_path, vandal("graffiti")) as besieged:
        await besieged.honest_answers(50)
        async with asyncio.timeout(FAIR_S):
            while "owned" not in besieged.pipe.stderr():
                await besieged.honest_answers(1)
        lines = besieged.pipe.stderr().splitlines()
        assert UNSEEN.search("".join(lines)) is None
        assert not [line for line in lines if line.startswith("weft: all is well")]
        assert max(map(len, lines)) < 3_000


@requirement("GUARD-10", "QUAL-03")
def test_nor_by_what_a_command_tells_of_it(tmp_path: Path) -> None:
    told = json.dumps({"mcpServers": {"hostile": vandal("graffiti")}})
    run = weft(tmp_path, "servers", "test", "hostile", "--mcp-config", told)
    assert run.returncode == 1
    assert "owned" in run.stderr
    assert UNSEEN.search(run.stdout.replace("\n", "") + run.stderr.replace("\n", "")) is None


@requirement("LINK-05", "QUAL-03")
async def test_a_line_that_is_no_message_is_told_by_the_name_of_its_server(tmp_path: Path) -> None:
    async with siege(tmp_path, vandal("litter")) as besieged:
        await besieged.until_listed("hostile__poke")
        assert "weft: hostile wrote a line that is not a message" in besieged.pipe.stderr()


# ── what a person is asked ───────────────────────────────────────────────────────────────────────────────────────────


@requirement("QUAL-03")
@pytest.mark.parametrize("question", ASKED)
async def test_what_no_person_should_be_shown_is_refused(tmp_path: Path, question: str) -> None:
    told = json.dumps({"mcpServers": {"hostile": vandal("pest")}})
    async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
        await pipe.open(elicitation={"form": {}, "url": {}}, sampling={})
        await Siege(pipe).until_listed("hostile__poke")
        answer = await pipe.ask("tools/call", {"name": "hostile__poke", "arguments": {"text": question}})
        assert '"code"' in text_of(answer)
        assert [other["method"] for other in pipe.others if "id" in other] == []


@requirement("QUAL-03")
async def test_what_a_task_asks_is_asked_like_everything_else(tmp_path: Path) -> None:
    """Also where the agent follows the task by itself."""
    told = json.dumps({"mcpServers": {"hostile": vandal("foreman")}})
    able: Json = {"elicitation": {"form": {}, "url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    meta = {"_meta": modern_meta(**{"io.modelcontextprotocol/clientCapabilities": able})}
    async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
        async with asyncio.timeout(FAIR_S):
            while "hostile__poke" not in json.dumps(await pipe.ask("tools/list", meta)):
                pass

        async def begun(text: str) -> Json:
            return await pipe.ask("tools/call", {"name": "hostile__poke", "arguments": {"text": text}, **meta})

        assert is_error(await begun("long"))
        for kind, shown in (("form", "hostile asks: ?"), ("script", "http:// and https://")):
            task = (await begun(kind))["result"]["taskId"]
            seen = json.dumps(await pipe.ask("tasks/get", {"taskId": task, **meta}))
            assert shown in seen
            assert "javascript" not in seen
