"""What is called through `weft__call_tool` goes as if the tool itself had been named: nothing is lost on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clawft.app import App
from clawft.catalog.surface import CALL_TOOL, Surface, SurfaceForm
from clawft.config.settings import Settings
from clawft.gateway.task.followed_tasks import FollowedTasks
from clawft.model import Annotations, Call, Caller, Capabilities, Era, Kind, Question, Reply, SilentTalk
from tests.gateway.support import Demo, Json, echo

NUMBERS = b'{"exact":0.1000000000000000055511151231257827,"large":1E5,"count":1.10}'
META = b'{"progressToken":"p","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}'


def searching(home: Path, workspace: Path, **settings: Any) -> App:
    surface = Surface(SurfaceForm.SEARCH)
    return App(Settings(home=home, workspace=workspace, surface=surface, **settings), outside=False)


async def through(app: App, tool: str, arguments: bytes, **call: Any) -> Reply:
    """Called by the pair, for `tool`."""
    wrapped = b'{"name":"%s","arguments":%s}' % (tool.encode(), arguments)
    return await app.gateway.call(call.pop("caller", app.caller), CALL_TOOL, wrapped, **call)


def text_of(reply: Reply) -> str:
    return json.loads(reply.result)["content"][0]["text"]


async def test_the_tool_gets_the_very_arguments_and_what_was_said_beside_them(home: Path, workspace: Path) -> None:
    got: list[Call] = []

    async def note(call: Call) -> Reply:
        got.append(call)
        return Reply.text("noted")

    app = searching(home, workspace)
    app.gateway.register(Demo().add("note", note))
    await through(app, "demo__note", NUMBERS, meta=META, more=b'{"later":1}')
    assert (got[0].arguments, got[0].meta, got[0].more) == (NUMBERS, META, b'{"later":1}')


async def test_a_long_result_is_cut_once(home: Path, workspace: Path) -> None:
    async def long(call: Call) -> Reply:
        return Reply.text("x" * 5_000)

    app = searching(home, workspace, result_limit=1_000)
    app.gateway.register(Demo().add("long", long))
    said = text_of(await through(app, "demo__long", b"{}"))
    assert said.count("[truncated]") == 1
    assert "4000 more bytes" in said


async def test_reading_a_file_is_reading_no_stranger(home: Path, workspace: Path) -> None:
    (workspace / "note.txt").write_text("hello")
    app = searching(home, workspace, ask_after_untrusted=True)
    for _ in range(2):
        assert text_of(await through(app, "file__read", b'{"path":"note.txt"}')) == "hello"
    written = await through(app, "file__write", b'{"path":"note.txt","content":"changed"}')
    assert not written.is_error


async def test_after_a_stranger_was_read_the_tool_itself_is_asked_about(home: Path, workspace: Path) -> None:
    (workspace / "note.txt").write_text("hello")
    app = searching(home, workspace, ask_after_untrusted=True)
    outside, own = Annotations(open_world_hint=True), b'{"path":"note.txt","content":"changed"}'
    app.gateway.register(Demo().add("page", echo, annotations=outside))
    await through(app, "demo__page", b"{}")
    refused = await through(app, "file__write", own)
    assert refused.is_error
    assert "file__write may change" in text_of(refused)
    assert "what demo__page brought" in text_of(refused)
    assert text_of(await through(app, "file__read", b'{"path":"note.txt"}')) == "hello"


async def test_the_question_about_a_command_names_the_tool_that_runs_it(home: Path, workspace: Path) -> None:
    asked: list[str] = []

    class Person(SilentTalk):
        async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
            asked.extend(question.params["message"] for question in questions.values())
            return {key: {"action": "accept", "content": {"allow": True}} for key in questions}

    app = searching(home, workspace)
    app.gateway.register(Demo().add("run", echo))
    person = Caller(capabilities=Capabilities(elicit_form=True))
    reply = await through(app, "demo__run", b'{"command":"sudo ls"}', caller=person, talk=Person())
    assert not reply.is_error
    assert [message.split()[0] for message in asked] == ["demo__run"]


async def test_an_address_that_is_only_named_is_none_that_is_reached(home: Path, workspace: Path) -> None:
    app = searching(home, workspace)
    said = text_of(await through(app, "oauth2__authorize", b'{"redirect_uri":"http://127.0.0.1:9999/back"}'))
    assert "refused by the rule" not in said


class Workbench(Demo):
    """Keeps the one task of each call."""

    async def begin(self, call: Call) -> Reply:
        return Reply(json.dumps(self._shape("working")).encode(), kind=Kind.TASK)

    def _shape(self, status: str, **more: Any) -> Json:
        times = {"createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": 60_000}
        return {"resultType": "complete", "taskId": "one", "status": status, **times, **more}

    async def get_task(self, id: str, caller: Caller) -> bytes:
        return json.dumps(self._shape("completed", result={"content": [{"type": "text", "text": id}]})).encode()

    async def update_task(self, id: str, caller: Caller, responses: object) -> None:
        raise NotImplementedError

    async def cancel_task(self, id: str, caller: Caller) -> None:
        raise NotImplementedError

    async def watch_task(self, id: str, caller: Caller, changed: object) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("tool", ["demo__build", "mcp__demo__build"])
async def test_a_task_that_its_server_begins_is_found_again(home: Path, workspace: Path, tool: str) -> None:
    app, bench = searching(home, workspace), Workbench()
    app.gateway.register(bench.add("build", bench.begin))
    agent = Caller(era=Era.STATELESS, revision="2026-07-28", capabilities=Capabilities(tasks=True))
    reply = await through(app, tool, b"{}", caller=agent)
    followed = FollowedTasks(app.gateway, agent)
    begun = followed.begun(reply, CALL_TOOL)
    assert begun.kind is Kind.TASK
    ended = json.loads(await followed.get(json.loads(begun.result)["taskId"]))
    assert ended["result"]["content"][0]["text"] == "one"
