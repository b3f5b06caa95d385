"""Every place where a text of a server reaches an agent or a person: nothing hidden gets there, nothing without end."""

import asyncio
import functools
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from tests.requirements import requirement
from tests.security.test_hostile_servers import UNSEEN
from tests.servers.pipe import Json, Pipe, line, mcp_server, modern_meta, request
from tests.servers.weft import RSS_LIMIT, weft
from tests.servers.whisper import HIDDEN, WHISPER

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MUCH = 7_000_000
"""Of text in each place: above every bound but that of one message."""
MORE = 15_000_000
"""Above the bound of a resource, too."""
KB, MB = 1024, 1024 * 1024


class Place(Struct, frozen=True):
    """Where a server says something: as it names the place itself, and how many bytes may come from there."""

    name: str
    most: int


AGENT = (
    Place("tool title", 256 * KB),
    Place("tool description", 256 * KB),
    Place("tool schema", 256 * KB),
    Place("tool output", 256 * KB),
    Place("prompt description", 256 * KB),
    Place("argument name", 256 * KB),
    Place("argument description", 256 * KB),
    Place("resource name", 256 * KB),
    Place("resource type", 256 * KB),
    Place("resource description", 256 * KB),
    Place("template name", 256 * KB),
    Place("result text", 66 * KB),
    Place("embedded type", 66 * KB),
    Place("result structure", 66 * KB),
    Place("result error", 66 * KB),
    Place("call error", 66 * KB),
    Place("call error data", 66 * KB),
    Place("contents text", 8 * MB),
    Place("contents type", 8 * MB),
    Place("contents meta", 8 * MB),
    Place("resource error", 66 * KB),
    Place("prompt text", 8 * MB),
    Place("prompt about", 8 * MB),
    Place("prompt error", 66 * KB),
    Place("completion value", 66 * KB),
    Place("progress message", 66 * KB),
    Place("log in a call", 66 * KB),
    Place("log in a call, logger", 66 * KB),
    Place("question message", 66 * KB),
    Place("question title", 66 * KB),
    Place("sampling message", 4 * MB),
    Place("sampling prompt", 4 * MB),
    Place("visit url", 66 * KB),
    Place("visit message", 66 * KB),
)
"""What an agent gets, in either era."""
HANDSHAKE = (
    Place("visit error", 66 * KB),
    Place("visit id", 66 * KB),
    Place("log aside", 66 * KB),
    Place("log aside, logger", 66 * KB),
    Place("updated uri", 66 * KB),
)
"""What only the older era has, or needs no stream of its own there."""
PLACES = {"handshake": AGENT + HANDSHAKE, "stateless": AGENT}
EVERYWHERE = [(era, place) for era, places in PLACES.items() for place in places]

REQUESTS: tuple[tuple[str, Json], ...] = (
    ("tools/list", {}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "w://text"}),
    ("resources/read", {"uri": "w://blob"}),
    ("resources/read", {"uri": "w://fail"}),
    ("prompts/get", {"name": "w__p"}),
    ("prompts/get", {"name": "w__fail"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "w__p"}, "argument": {"name": "a", "value": ""}}),
    *(("tools/call", {"name": "w__poke", "arguments": {"text": text}}) for text in (
        "result", "wrong", "fail", "visit", "progress", "log", "elicit", "sample", "junk", "later", "update"
    )),
)  # fmt: skip
CAN: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {}}


def whisper(much: int) -> str:
    entry = {"command": sys.executable, "args": [str(WHISPER), str(much)]}
    return json.dumps({"mcpServers": {"w": entry}})


class Agent:
    """One that asks for everything, answers what it is asked, and keeps every line it was sent."""

    def __init__(self, pipe: Pipe, meta: Mapping[str, Any]) -> None:
        self._pipe = pipe
        self._meta = meta
        self.lines: list[str] = []

    async def say(self, method: str, params: Json) -> Json:
        id = len(self.lines) + 100
        known = {"progressToken": f"t{id}", **self._meta}
        whole = {**params, "_meta": known}
        await self._pipe.send(request(id, method, whole))
        answer = await self._until(id)
        asked = answer.get("result", {})
        if asked.get("resultType") == "input_required":
            given = {key: _given(each["method"]) for key, each in asked["inputRequests"].items()}
            await self._pipe.send(
                request(f"{id}b", method, {**whole, "requestState": asked["requestState"], "inputResponses": given})
            )
            answer = await self._until(f"{id}b")
        return answer

    async def _until(self, id: int | str) -> Json:
        while True:
            message = await self.hear()
            if "method" not in message and message.get("id") == id:
                return message

    async def hear(self) -> Json:
        message = await self._pipe.read()
        self.lines.append(json.dumps(message, ensure_ascii=False))
        if "method" in message and "id" in message:
            await self._pipe.send(line({"jsonrpc": "2.0", "id": message["id"], "result": _given(message["method"])}))
        return message

    async def until_heard(self, place: str) -> None:
        while not any(f"{place}:" in each for each in self.lines):
            await self.hear()


def _given(method: str) -> Json:
    if method.startswith("sampling"):
        return {"role": "assistant", "content": {"type": "text", "text": "ok"}, "model": "m"}
    return {"action": "accept", "content": {"answer": "yes"}}


async def _everything(folder: Path, era: str, much: int) -> tuple[list[str], int]:
    async with mcp_server(folder, "--mcp-config", whisper(much)) as pipe:
        if era == "handshake":
            await pipe.open(**CAN)
            agent = Agent(pipe, {})
            await agent.say("logging/setLevel", {"level": "debug"})
        else:
            told = {"io.modelcontextprotocol/clientCapabilities": CAN, "io.modelcontextprotocol/logLevel": "debug"}
            agent = Agent(pipe, modern_meta(**told))
        while "w__poke" not in json.dumps(await agent.say("tools/list", {})):
            pass
        if era == "handshake":
            await agent.say("resources/subscribe", {"uri": "w://text"})
        for method, params in REQUESTS:
            await agent.say(method, params)
        if era == "handshake" and not much:
            await agent.until_heard("log aside")
        (folder / "said").write_text(pipe.stderr())
        return agent.lines, pipe.peak()


@functools.cache
def everything(folder: Path, era: str, much: int) -> tuple[list[str], int]:
    return asyncio.run(_everything(folder, era, much))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, int], Path]:
    return {(era, much): tmp_path_factory.mktemp("w") for era in ("handshake", "stateless") for much in (0, MUCH)}


@requirement("GUARD-09", "QUAL-03")
@pytest.mark.parametrize(
    ("era", "place"),
    EVERYWHERE,
    ids=lambda value: value.name if isinstance(value, Place) else str(value),
)
def test_nothing_hidden_reaches_an_agent(folders: Mapping[tuple[str, int], Path], era: str, place: Place) -> None:
    lines, _ = everything(folders[era, 0], era, 0)
    heard = [each for each in lines if f"{place.name}:" in each]
    assert heard
    assert all("⟨U+009B⟩" in each for each in heard)  # nothing is lost: it is spelled out
    assert [each for each in heard if UNSEEN.search(each)] == []


@requirement("GUARD-08", "QUAL-12")
@pytest.mark.parametrize(
    ("era", "place"),
    EVERYWHERE,
    ids=lambda value: value.name if isinstance(value, Place) else str(value),
)
def test_nothing_without_bound_reaches_an_agent(
    folders: Mapping[tuple[str, int], Path], era: str, place: Place
) -> None:
    lines, peak = everything(folders[era, MUCH], era, MUCH)
    assert [len(each) for each in lines if f"{place.name}:" in each and len(each) > place.most] == []
    assert peak < RSS_LIMIT


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────────

COMMANDS = (
    *("tools list", "tools show w__poke", "tools search poke", "resources list", "resources read w://text"),
    *("prompts list", "prompts get w__p", "servers list", "servers status", "servers status w", "servers test w"),
    *("policy explain w__poke", "approvals list", "approvals diff", "approvals grant u *", "approvals grant evil"),
    *("doctor --scan", "doctor", "config show", "config check", "audit tail", "approvals export --launches"),
    *(f"tools call w__poke text={text}" for text in ("result", "wrong", "fail", "die", "visit", "junk")),
    *("resources read w://fail", "prompts get w__fail", "tools call w__poke text=log --mcp-debug"),
)
"""Everything that shows a person, or a script, what a server said, or a file of strangers."""
ONLY_TEXT = ("approvals export --launches", "tools call w__poke text=log --mcp-debug")
EVIL = {"command": "/bin/true", "args": [HIDDEN, "a\nb"], "env": {f"A{HIDDEN}": HIDDEN}, "cwd": HIDDEN}
FILES: Json = {
    "mcpServers": {
        "evil": EVIL,
        f"n{HIDDEN}": EVIL,
        "path": {"command": f"rel{HIDDEN}"},
        "far": {"url": f"http://a.example/{HIDDEN}", "headers": {"X": HIDDEN}},
    }
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the server twice, once trusted and once not, and a workspace of somebody else's."""
    folder = tmp_path_factory.mktemp("shop")
    for name, *more in (("w", "--trust"), ("u",)):
        assert weft(folder, "servers", "add", name, *more, "--", sys.executable, str(WHISPER)).returncode == 0
    (folder / ".mcp.json").write_text(json.dumps(FILES))
    return folder


@requirement("GUARD-09", "AGENT-14")
@pytest.mark.parametrize("form", ["", " --json"], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_hidden_reaches_a_person(shop: Path, command: str, form: str) -> None:
    if form and command in ONLY_TEXT:
        pytest.skip("it has one form")
    done = weft(shop, *f"{command}{form}".split())
    said = done.stdout + done.stderr
    assert said
    assert UNSEEN.search(said) is None
    assert "Traceback" not in said


@requirement("GUARD-09")
def test_what_the_files_and_the_server_say_is_shown_all_the_same(shop: Path) -> None:
    for command, told in (
        ("tools show w__poke", "tool description:⟨U+001B⟩[31m"),
        ("resources list", "resource type:⟨U+001B⟩[31m"),
        ("prompts list", "argument name:⟨U+001B⟩[31m"),
        ("prompts get w__fail", "prompt error:⟨U+001B⟩[31m"),
        ("servers status w", "info name:⟨U+001B⟩[31m"),
        ("servers status w", "stderr:⟨U+001B⟩[31m"),
        ("config check", "n⟨U+001B⟩[31m"),
    ):
        done = weft(shop, *command.split())
        assert told in done.stdout + done.stderr, command


# ── resources and prompts ────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-08", "GUARD-09")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "w://text"}),
        ("resources/read", {"uri": "w://blob"}),
        ("prompts/get", {"name": "w__p"}),
    ],
)
async def test_what_is_read_passes_whole_or_not_at_all(tmp_path: Path, method: str, params: Json) -> None:
    async with mcp_server(tmp_path, "--mcp-config", whisper(MUCH)) as pipe:
        await pipe.open()
        await listed(pipe)
        whole = json.dumps((await pipe.ask(method, params))["result"])
        assert len(whole) > MUCH
        assert "truncated" not in whole
    async with mcp_server(tmp_path, "--mcp-config", whisper(MORE)) as pipe:
        await pipe.open()
        await listed(pipe)
        refused = (await pipe.ask(method, params))["error"]["message"]
        assert "result.resource_limit is 8388608" in refused
        size = int(refused.split(" has ")[1].split()[0])
    settings = tmp_path / "home" / "config.toml"
    settings.write_text(f"[result]\nresource_limit = {size}\n")
    async with mcp_server(tmp_path, "--mcp-config", whisper(MORE)) as pipe:
        await pipe.open()
        await listed(pipe)
        assert len(json.dumps((await pipe.ask(method, params))["result"])) > MORE


async def listed(pipe: Pipe) -> None:
    while "w__poke" not in json.dumps(await pipe.ask("tools/list")):
        await pipe.read()


@requirement("GUARD-09")
async def test_a_server_of_ones_own_may_say_what_it_likes(tmp_path: Path) -> None:
    told = json.loads(whisper(0))
    told["mcpServers"]["w"]["verbatim"] = True
    async with mcp_server(tmp_path, "--mcp-config", json.dumps(told)) as pipe:
        await pipe.open()
        await listed(pipe)
        for method, params in (
            ("tools/call", {"name": "w__poke", "arguments": {"text": "result"}}),
            ("resources/read", {"uri": "w://text"}),
            ("prompts/get", {"name": "w__p"}),
        ):
            said = json.dumps((await pipe.ask(method, params))["result"], ensure_ascii=False)
            assert UNSEEN.search(said)
        shown = json.dumps((await pipe.ask("tools/list"))["result"], ensure_ascii=False)
        assert UNSEEN.search(shown) is None, "definitions are pinned and shown to people: there is no opting out"
