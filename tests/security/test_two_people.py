"""Two people on one gateway, and one of them tries everything to reach what is the other's, in both eras."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.requirements import requirement
from tests.security.test_taskmasters import taskmaster
from tests.security.test_tokens import bearer, rules
from tests.servers.issuer import issuer
from tests.servers.pipe import Json
from tests.servers.raw_http import PATIENCE_S, Answer, Line, Session, ask, connect, message, modern, open_session
from tests.servers.weft import ROOT, RSS_LIMIT, Served, gateway, peak_memory

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

CURIOUS = ROOT / "tests" / "servers" / "curious.py"
TASKS = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ABLE: Json = {CAPABILITIES: {"elicitation": {"form": {}}, "extensions": {TASKS: {}}}}
MINE: Json = {"action": "accept", "content": {"name": "Ada"}}
FORGED: Json = {"action": "accept", "content": {"name": "Mallory"}}


class Person:
    def __init__(self, served: Served, token: str) -> None:
        self.port = served.port
        self.headers = bearer(token)

    async def session(self) -> Session:
        return await open_session(self.port, headers=self.headers, elicitation={"form": {}})

    def with_session_of(self, other: Session) -> Session:
        """As if it were theirs."""
        return Session(self.port, other.id, other.headers["MCP-Protocol-Version"], self.headers)

    async def ask(self, method: str, **params: object) -> Json:
        routed = {"Mcp-Name": str(params["taskId"])} if "taskId" in params else {}
        asked = modern(self.port, 1, method, dict(params), {**self.headers, **routed}, **ABLE)
        return (await ask(self.port, asked)).messages()[-1]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def people(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[tuple[Person, Person]]:
    folder: Path = tmp_path_factory.mktemp("people")
    (folder / "home").mkdir()
    era = {"old": "handshake", "new": "stateless"}
    told = {name: {"command": sys.executable, "args": [str(CURIOUS), "--era", each]} for name, each in era.items()}
    told |= {"modern": taskmaster("stateless"), "elder": taskmaster("handshake", timeout=60_000)}
    async with issuer() as trusted:
        (folder / "home" / "config.toml").write_text(rules(trusted))
        with gateway(folder, "--mcp-config", json.dumps({"mcpServers": told})) as served:
            trusted.audience = served.url
            ada, mallory = (Person(served, trusted.token(sub=name)) for name in ("ada", "mallory"))
            async with asyncio.timeout(PATIENCE_S):
                for tool in ("old__form", "new__form", "modern__poke", "elder__poke"):
                    while tool not in json.dumps(await ada.ask("tools/list")):
                        pass
            yield ada, mallory
            assert peak_memory(served.pid) < RSS_LIMIT
            assert not [line for line in served.lines if "Traceback" in line]


async def question_on(line: Line) -> tuple[Json, list[str]]:
    """The question that comes on the stream of a call, and the ids of the events so far."""
    ids: list[str] = []
    async for chunk in line.chunks():
        for each in chunk.decode().splitlines():
            if each.startswith("id:"):
                ids.append(each[3:].strip())
            if each.startswith("data:") and "elicitation/create" in each:
                return json.loads(each[5:]), ids
    raise AssertionError("nothing was asked")


async def answer_on(line: Line) -> str:
    async for chunk in line.chunks():
        if b'"result"' in chunk:
            return chunk.decode()
    raise AssertionError("nothing was answered")


def refused(answer: Answer) -> bool:
    return answer.status == 404


@requirement("GUARD-06", "QUAL-03")
@pytest.mark.parametrize("tool", ["old__form", "new__form"])
async def test_a_session_its_questions_and_its_streams_are_one_persons_alone(
    people: tuple[Person, Person], tool: str
) -> None:
    ada, mallory = people
    hers = await ada.session()
    async with connect(ada.port) as line:
        await line.send(hers.call("call-1", tool, {"token": "t"}))
        status, _ = await line.answer_head()
        assert status == 200
        question, events = await question_on(line)
        stolen = mallory.with_session_of(hers)
        own = await mallory.session()
        forged = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": FORGED}).encode()
        cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call-1"}}'
        for attack in (
            stolen.post(message(1, "tools/list")),
            stolen.post(forged),
            stolen.post(cancel),
            stolen.get(),
            stolen.get({"Last-Event-ID": events[0] if events else "0.0"}),
            stolen.delete(),
        ):
            assert refused(await ask(mallory.port, attack)), attack
        for attack in (forged, cancel):
            assert (await ask(mallory.port, own.post(attack))).status == 202
        assert (await ask(mallory.port, own.get({"Last-Event-ID": "7.1"}))).status == 400
        mine = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": MINE}).encode()
        assert (await ask(ada.port, hers.post(mine))).status == 202
        said = await answer_on(line)
        assert "Ada" in said
        assert "Mallory" not in said


@requirement("GUARD-06", "QUAL-03")
@pytest.mark.parametrize("tool", ["old__form", "new__form"])
async def test_the_state_of_a_question_is_of_no_use_to_another(people: tuple[Person, Person], tool: str) -> None:
    ada, mallory = people
    call = {"name": tool, "arguments": {"token": "t"}}
    asked = (await ada.ask("tools/call", **call))["result"]
    assert asked["resultType"] == "input_required"
    (key,) = asked["inputRequests"]
    state = {"requestState": asked["requestState"]}
    stolen = await mallory.ask("tools/call", **call, inputResponses={key: FORGED}, **state)
    assert "Mallory" not in json.dumps(stolen)
    mine = await ada.ask("tools/call", **call, inputResponses={key: MINE}, **state)
    assert "Ada" in json.dumps(mine)


ON_A_TASK: dict[str, Json] = {"tasks/get": {}, "tasks/cancel": {}, "tasks/update": {"inputResponses": {"k": FORGED}}}
PATIENT = {"text": "patient"}


@requirement("GUARD-06", "RES-12")
async def test_the_task_of_a_server_is_one_persons_alone(people: tuple[Person, Person]) -> None:
    """Its id is of no use to another, altered neither; and a subscription to it tells nothing."""
    ada, mallory = people
    task = (await ada.ask("tools/call", name="modern__poke", arguments=PATIENT))["result"]["taskId"]
    own = (await mallory.ask("tools/call", name="modern__poke", arguments=PATIENT))["result"]["taskId"]
    spliced = own[: len(own) // 2] + task[len(own) // 2 :]
    for id in (task, task.upper(), spliced, task.removeprefix("weft."), "t0"):
        for method, more in ON_A_TASK.items():
            assert (await mallory.ask(method, taskId=id, **more))["error"]["code"] == -32602
    async with connect(mallory.port) as line:
        listen = {"notifications": {"taskIds": [task, own]}}
        await line.send(modern(mallory.port, 1, "subscriptions/listen", listen, mallory.headers, **ABLE))
        await line.answer_head()
        acknowledged = await anext(chunk async for chunk in line.chunks() if b"acknowledged" in chunk)
        assert (task.encode() in acknowledged, own.encode() in acknowledged) == (False, True)
    assert (await ada.ask("tasks/get", taskId=task))["result"]["status"] == "working"


@requirement("GUARD-06", "RES-12")
async def test_so_is_one_in_the_way_of_2025(people: tuple[Person, Person]) -> None:
    """Ours, whatever the server behind it makes of it."""
    ada, mallory = people
    hers, other = await ada.session(), await mallory.session()
    begun = await ask(ada.port, hers.call(1, "elder__poke", PATIENT, task={"ttl": 60_000}))
    task = begun.json()["result"]["task"]["taskId"]
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert (await ask(mallory.port, other.post(message(1, method, {"taskId": task})))).code == -32602
    for method, more in ON_A_TASK.items():
        assert (await mallory.ask(method, taskId=task, **more))["error"]["code"] == -32602
    assert task not in (await ask(mallory.port, other.post(message(1, "tasks/list")))).body.decode()
    assert task in (await ask(ada.port, hers.post(message(1, "tasks/list")))).body.decode()
    own = await ask(ada.port, hers.post(message(2, "tasks/get", {"taskId": task})))
    assert own.json()["result"]["status"] == "working"
