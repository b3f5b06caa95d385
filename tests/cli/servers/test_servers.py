"""`weft servers`, and servers behind every other command: real processes, real files."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from clawft.cli.setup.start_servers import servers_of
from tests.requirements import requirement
from tests.servers.pipe import call, mcp_server, text_of
from tests.servers.web import Asked, serve
from tests.servers.weft import environment

pytestmark = pytest.mark.slow  # processes that take their time

TINY = Path(__file__).parents[2] / "servers" / "tiny.py"
PYTHON = sys.executable
SECRET = "sk-abcdefghijklmnop"


def config(**servers: list[str] | dict[str, Any]) -> str:
    """The text of `--mcp-config`: tiny servers by their options, or an entry as it is."""
    entries = {
        name: told if isinstance(told, dict) else {"command": PYTHON, "args": [str(TINY), *told]}
        for name, told in servers.items()
    }
    return json.dumps({"mcpServers": entries})


async def appears(path: Path) -> None:
    """A file of another process; there is no event to wait for from out here."""
    for _ in range(600):
        if await asyncio.to_thread(path.exists):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


def add(run: Any, name: str, *options: str) -> Any:
    return run("servers", "add", name, "--", PYTHON, str(TINY), *options)


def states(done: Any) -> dict[str, str]:
    return {each["name"]: each["state"] for each in done.json["servers"]}


# ── other commands ───────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("PROV-23", "AGENT-05", "S4-CLI-01")
def test_tools_of_servers_are_listed_and_called(run: Any) -> None:
    given = ("--mcp-config", config(one=["--title", "first"]), "--mcp-config", config(two=["--era", "handshake"]))
    listed = run("tools", "list", "--no-builtin", "--json", *given)
    names = {tool["name"] for tool in listed.json["tools"]}
    assert (listed.code, listed.err) == (0, "")
    assert {"one__echo", "two__echo"} <= names
    assert run("tools", "call", "one__echo", "text=5", *given).out == "first: 5\n"
    assert run("tools", "call", "mcp:two:echo", "text=6", *given).out == "tiny: 6\n"
    assert run("tools", "call", "echo", "text=7", *given[:2]).out == "first: 7\n"
    assert run("tools", "call", "echo", "text=8", *given).code == 1, "two servers have it"
    hidden = run("tools", "list", "--no-builtin", "--json", "--deny", "ech?", *given).json["tools"]
    assert names - {tool["name"] for tool in hidden} == {"one__echo", "two__echo"}


@requirement("WIRE-03", "SHELL-08")
def test_an_error_of_a_server_is_shown_with_its_name_code_and_data(run: Any) -> None:
    honest = str(Path(__file__).parents[2] / "servers" / "honest.py")
    given = ("--mcp-config", json.dumps({"mcpServers": {"h": {"command": sys.executable, "args": [honest]}}}))
    refused = ("tools", "call", "h__refuse", "code:=7", "message=mine", 'data:={"n": 1}', *given)
    done = run(*refused)
    assert (done.code, done.out + done.err) == (1, 'weft: h: mine (code 7): {"n":1}\n')
    assert run(*refused, "--json").json["isError"] is True
    asked = run("agent", "-p", "h__refuse code=7 message=mine", *given)
    assert "h: mine (code 7)" in asked.out + asked.err


@requirement("PROV-23", "RES-01")
def test_resources_and_prompts_of_servers_too(run: Any) -> None:
    given = ("--no-builtin", "--mcp-config", config(one=[]))
    assert run("resources", "read", "tiny://note", *given).out == "note of tiny\n"
    assert run("prompts", "get", "one__hello", *given).out == "user:\nhello tiny\n"


@requirement("POOL-16", "SEC-A02")
@pytest.mark.parametrize(("trust", "kind", "told"), [("trusted", "", "trusted"), ("untrusted", ", untrusted", "not")])
def test_whether_a_server_is_trusted_is_seen_where_its_tools_are(run: Any, trust: str, kind: str, told: str) -> None:
    given = ("--mcp-config", config(one={"command": PYTHON, "args": [str(TINY)], "trust": trust}), "--no-builtin")
    (echo,) = [each for each in run("tools", "list", "--json", *given).json["tools"] if each["name"] == "one__echo"]
    assert echo["trusted"] is (trust == "trusted")
    (line,) = [line for line in run("tools", "list", *given).out.splitlines() if line.startswith("one__echo ")]
    assert line.split("  ")[1].strip() == f"destructive{kind}"
    assert f"the server one, which is {told}" in run("tools", "show", "one__echo", *given).out
    run("tools", "call", "one__echo", "text=1", *given)
    assert run("audit", "tail", "-n", "1", "--json").json_lines[0].get("trusted", True) is (trust == "trusted")


@requirement("AGENT-14", "MGR-19")
@pytest.mark.parametrize(
    "words",
    [
        "tools list late",
        "tools search echo",
        "tools show late__echo",
        "tools call late__echo text=5",
        "tools call late__echo text=5 --json",
        "policy explain late__echo text=5",
        "resources list",
        "resources read tiny://note",
        "prompts list",
        "prompts get late__hello",
        "servers status",
        "servers test late",
    ],
)
def test_what_was_asked_for_is_shown_before_a_server_that_takes_its_time_has_ended(
    weft: list[str], environment: dict[str, str], workspace: Path, words: str
) -> None:
    """The server stays until we have read the answer; one that was ended first can leave no sign of that."""
    seen = workspace / "seen"
    process = subprocess.Popen(
        [*weft, *words.split(), "--no-builtin", "--mcp-config", config(late=["--linger", str(seen)])],
        cwd=workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    seen.touch()
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert Path(f"{seen}.seen").exists()


@requirement("POOL-22", "PROV-23")
@pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
def test_a_server_made_with_our_own_library_runs_behind_us(run: Any, home: Path) -> None:
    """Our home folder is out of its sight: it has one of its own, like every server has a cache of its own."""
    example = Path(__file__).parents[3] / "examples" / "two_functions.py"
    assert run("servers", "add", "mine", "--", PYTHON, str(example)).code == 0
    assert run("approvals", "grant", "mine", "*").code == 0
    assert run("tools", "call", "mine__add", "a=2", "b=3").out == '{"result":5}\n'
    assert (home / "sandbox" / "mine" / "clawft" / "audit").is_dir()


@requirement("POOL-03", "F9b-A03")
@pytest.mark.usefixtures("bubblewrap")
async def test_how_many_are_connected_is_the_users_to_say(tmp_path: Path) -> None:
    home = Path(environment(tmp_path)["CLAWFT_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[pool]\nmax_connections = 1\n")
    two = {"command": PYTHON, "args": [str(TINY)], "timeout_ms": 5000}
    async with mcp_server(tmp_path, "--mcp-config", config(one=[], two=two)) as pipe:
        await pipe.open()
        assert text_of(await pipe.ask("tools/call", {"name": "two__echo", "arguments": {"text": "1"}})) == "tiny: 1"
        await pipe.send(call("held", "one__hold", {"file": str(tmp_path / "gate")}))
        await appears(tmp_path / "gate.waiting")
        refused = await pipe.ask("tools/call", {"name": "two__echo", "arguments": {"text": "2"}})
        assert "no connection became free within 5 s (limit: 1)" in text_of(refused)
        assert "pool.max_connections" in text_of(refused)
        await pipe.send(call("waiting", "two__echo", {"text": "3"}))
        (tmp_path / "gate").touch()
        await pipe.answer("held")
        assert text_of(await pipe.answer("waiting")) == "tiny: 3"


@requirement("CONF-12", "CONF-20")
def test_a_file_that_cannot_be_read_is_not_for_servers_test(run: Any, home: Path) -> None:
    (home / "mcp_servers").mkdir()
    (home / "mcp_servers" / "bad.toml").write_text("command = [")
    done = run("tools", "list", "--strict-mcp-config")
    assert (done.code, done.err.splitlines()[-1]) == (1, "hint: weft config check")


@requirement("MGR-15", "FR-008")
def test_a_dead_server_is_a_line_on_stderr_and_no_failure(run: Any) -> None:
    given = config(good=[], bad=["--crash", "--say", "no key"], gone={"command": "/no/such/program"})
    done = run("tools", "list", "--no-builtin", "--mcp-config", given)
    assert (done.code, "good__echo" in done.out) == (0, True)
    lines = done.err.splitlines()
    assert sorted(line.split(":")[1] for line in lines) == [" server bad", " server gone"]
    assert "no key" in done.err
    assert "/no/such/program" in done.err


@requirement("MGR-15")
def test_a_built_in_tool_waits_for_no_server(run: Any) -> None:
    done = run("tools", "call", "memory__list", "--mcp-config", config(bad=["--crash"]))
    assert (done.code, done.err) == (0, "")


@requirement("MGR-15")
@pytest.mark.parametrize("tool", ["good__echo", "mcp:good__echo", "mcp:good:echo", "mcp__good__echo"])
def test_a_tool_waits_for_its_own_server_only(run: Any, tool: str) -> None:
    given = config(good=[], bad=["--crash"])
    done = run("tools", "call", tool, "text=1", "--mcp-config", given)
    assert (done.code, done.out, done.err) == (0, "tiny: 1\n", "")


@requirement("AGENT-06", "S4-CLI-02")
@pytest.mark.parametrize("command", [["tools", "list"], ["mcp-server"], ["gateway", "--port", "0"]])
def test_strict_ends_with_the_name_and_the_reason(run: Any, command: list[str]) -> None:
    given = config(good=[], bad=["--crash", "--say", "no key"])
    done = run(*command, "--strict-mcp-config", "--mcp-config", given)
    assert (done.code, done.out) == (1, "")
    assert "bad: " in done.err
    assert "no key" in done.err


@requirement("AGENT-06", "CONF-12")
def test_strict_ends_for_an_entry_that_cannot_be_used(run: Any) -> None:
    done = run("tools", "list", "--strict-mcp-config", "--mcp-config", config(git=[]))
    assert (done.code, done.out) == (1, "")
    assert "'git' is the namespace of built-in tools" in done.err


@requirement("AGENT-06")
def test_what_strict_proposes_works_as_it_is_printed(run: Any, home: Path, tmp_path: Path) -> None:
    strict = ("tools", "list", "--strict-mcp-config")
    entry = config(bad=["--crash"], other={"url": "http://x", "headers": {"Authorization": SECRET}, "enabled": False})
    typed = run(*strict, "--mcp-config", entry)
    assert typed.err.splitlines()[-1] == "hint: correct bad in --mcp-config"
    assert SECRET not in typed.err
    file = tmp_path / "some servers.json"
    file.write_text(entry)
    hint = run(*strict, "--mcp-config", str(file)).err.splitlines()[-1]
    assert hint == f"hint: weft servers test bad --mcp-config '{file}'"
    tried = run(*shlex.split(hint.removeprefix("hint: weft ")))
    assert (tried.code, "there is no server" in tried.err) == (1, False)
    wrong = run(*strict, "--mcp-config", config(git=[]))
    assert wrong.err.splitlines()[-1] == "hint: correct the entry, or remove it"
    (home / "mcp_servers").mkdir()
    (home / "mcp_servers" / "own.toml").write_text(f'command = "{PYTHON}"\nargs = ["{TINY}", "--crash"]\n')
    assert run(*strict).err.splitlines()[-1] == "hint: weft servers test own"


@requirement("CONF-20")
def test_a_required_server_ends_the_program_and_another_does_not(run: Any) -> None:
    crash = [str(TINY), "--crash"]
    given = config(must={"command": PYTHON, "args": crash, "required": True}, may={"command": PYTHON, "args": crash})
    done = run("mcp-server", "--mcp-config", given)
    assert (done.code, done.out) == (1, "")
    assert "weft: must: " in done.err
    assert run("mcp-server", "--mcp-config", config(may=["--crash"])).code == 0


@requirement("AGENT-07", "S4-CLI-03")
def test_debug_tells_what_each_server_does(run: Any) -> None:
    given = config(one=["--say", "hello there"], bad=["--crash", "--say", "oh"])
    done = run("tools", "list", "--mcp-debug", "--mcp-config", given)
    assert done.code == 0
    said = done.err
    assert f"[one] starting {PYTHON}" in said
    assert "[one] stderr: hello there" in said
    assert "[one] connected: stateless era, 2026-07-28, tiny-tiny 1.2.3, 4 tools" in said
    assert "[bad] stderr: oh" in said
    assert "exited with status 3" in said


@requirement("CONF-16")
def test_a_server_of_the_workspace_does_not_start_but_says_how(run: Any, workspace: Path) -> None:
    file = workspace / ".mcp.json"
    file.write_text(config(theirs=[]))
    done = run("tools", "list", "--no-builtin", "--json")
    assert done.json["tools"] == []
    assert "weft approvals grant theirs" in done.err
    assert run("tools", "call", "theirs__echo", "text=1", "--mcp-config", str(file)).out == "tiny: 1\n"


# ── list, status, test ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("MGR-19", "CONF-22", "CONF-12")
def test_list_shows_every_name_and_where_it_comes_from(run: Any, home: Path, workspace: Path) -> None:
    add(run, "mine")
    (home / "mcp_servers" / "wrong.toml").write_text("urll = 1\n")
    (workspace / ".mcp.json").write_text(config(theirs=[]))
    given = ("--mcp-config", config(typed=[], off={"enabled": False}))
    rows = {each["name"]: each for each in run("servers", "list", "--json", *given).json["servers"]}
    assert {name: row["state"] for name, row in rows.items()} == {
        "mine": "enabled",
        "typed": "enabled",
        "off": "disabled",
        "theirs": "waiting",
        "wrong": "refused",
    }
    assert rows["mine"]["origin"] == f"{home}/mcp_servers/mine.toml:1"
    assert (rows["mine"]["scope"], rows["mine"]["trust"], rows["mine"]["transport"]) == ("user", "untrusted", "stdio")
    assert (rows["typed"]["scope"], rows["typed"]["trust"]) == ("command line", "trusted")
    assert "did you mean 'url'?" in rows["wrong"]["error"]
    table = run("servers", "list", *given)
    assert table.out.splitlines()[0].split() == ["NAME", "STATE", "SCOPE", "TRANSPORT", "TRUST", "ORIGIN", "WHAT"]


@requirement("MGR-19")
def test_the_tools_of_one_server_are_listed_without_starting_the_others(run: Any) -> None:
    given = ("--mcp-config", config(one=[], slow=["--mute"]), "--mcp-debug")
    listed = run("tools", "list", "one", "--json", *given)
    assert {tool["server"] for tool in listed.json["tools"]} == {"one"}
    assert "[slow]" not in listed.err


@requirement("MGR-19")
def test_no_servers_says_how_to_get_some(run: Any) -> None:
    for verb in ("list", "status"):
        done = run("servers", verb)
        assert (done.code, done.out) == (0, "")
        assert "weft servers import" in done.err


@requirement("MGR-19", "MGR-15", "CONF-12")
def test_status_shows_how_each_server_is(run: Any, home: Path) -> None:
    add(run, "one")
    (home / "mcp_servers" / "wrong.toml").write_text("urll = 1\n")
    given = ("--mcp-config", config(gone={"command": "/no/such/program"}, off={"enabled": False}))
    done = run("servers", "status", "--json", *given)
    rows = {each["name"]: each for each in done.json["servers"]}
    assert done.code == 0
    assert states(done) == {"one": "connected", "gone": "failed", "off": "disabled", "wrong": "refused"}
    one = rows["one"]
    assert (one["era"], one["revision"], one["tools"], one["restarts"]) == ("stateless", "2026-07-28", 4, 0)
    assert one["tokens"] > 50
    assert one["pid"] > 0
    assert "/no/such/program" in rows["gone"]["error"]
    if sys.platform == "linux":
        assert one["memory"] > 1024 * 1024
    head = run("servers", "status", *given).out.splitlines()[0].split()
    assert head == [
        "NAME",
        "STATE",
        "ERA",
        "TRANSPORT",
        "TOOLS",
        "TOKENS",
        "RESTARTS",
        "PID",
        "MEMORY",
        "LAST",
        "ERROR",
    ]


@requirement("MGR-19", "AGENT-14")
def test_every_server_has_the_same_members_in_the_json_of_status(run: Any, workspace: Path) -> None:
    add(run, "up")
    add(run, "off")
    run("servers", "disable", "off")
    waiting = {"command": PYTHON, "args": [str(TINY)]}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"waits": waiting, "bad": {"command": "a;b"}}}))
    rows = run("servers", "status", "--json").json["servers"]
    assert {row["name"]: row["state"] for row in rows} == {
        "up": "connected", "off": "disabled", "waits": "waiting", "bad": "refused"
    }  # fmt: skip
    assert [list(row) for row in rows] == [list(rows[0])] * 4
    assert run("servers", "status", "off", "--json").json == next(row for row in rows if row["name"] == "off")


@requirement("AGENT-14", "MGR-19")
def test_a_tool_of_a_server_that_is_off_waits_or_is_refused_says_so(run: Any, workspace: Path) -> None:
    """And no other server is started to find that out: this one would leave a sign."""
    sign = workspace / "started"
    assert run("servers", "add", "other", "--", "/bin/sh", "-c", f"touch {sign}").code == 0
    add(run, "off")
    run("servers", "disable", "off")
    entry = {"command": PYTHON, "args": [str(TINY)]}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"waits": entry, "bad": {"command": "a;b"}}}))
    for words in (("tools", "call", "off__echo"), ("tools", "show", "off__echo"), ("tools", "list", "off")):
        assert "off is disabled\nhint: weft servers enable off\n" in run(*words).err
    waits = run("tools", "call", "waits__echo")
    assert (waits.code, waits.out) == (1, "")
    assert "waits for approval" in waits.err
    assert "\nhint: weft approvals grant waits" in waits.err
    assert "unsafe command" in run("tools", "list", "bad").err
    assert not sign.exists()
    run("tools", "call", "other__x")
    assert sign.exists()


@requirement("MGR-19", "LINK-08")
def test_status_of_one_has_its_last_words_and_origin(run: Any, home: Path) -> None:
    add(run, "one", "--say", "lines on stderr")
    done = run("servers", "status", "one")
    assert done.code == 0
    assert "lines on stderr" in done.out
    assert "tiny-tiny 1.2.3" in done.out
    assert f"{home}/mcp_servers/one.toml:1" in done.out
    add(run, "slow", "--mute")
    alone = run("servers", "status", "one", "--mcp-debug")
    assert "[slow]" not in alone.err
    missing = run("servers", "status", "on")
    assert (missing.code, missing.out) == (1, "")
    assert "did you mean one?" in missing.err


@requirement("MGR-19")
@pytest.mark.parametrize(("era", "first"), [("stateless", "server/discover"), ("handshake", "initialize")])
def test_test_times_each_step(run: Any, era: str, first: str) -> None:
    add(run, "one", "--era", era)
    told = run("servers", "test", "one", "--json").json
    assert (told["ok"], told["era"], told["tools"], told["prompts"], told["resources"]) == (True, era, 4, 1, 1)
    steps = [step["step"] for step in told["steps"]]
    assert steps[0] == "start"
    assert first in steps
    assert "tools/list" in steps
    assert all(step["ms"] >= 0 for step in told["steps"])
    assert run("servers", "test", "one").out.startswith("one  ok\n")


@requirement("MGR-19", "POOL-18")
def test_a_server_without_a_list_of_tools_is_said_to_have_none(run: Any, tmp_path: Path) -> None:
    """As one that is half done answers: with an empty object."""
    script = tmp_path / "empty.py"
    script.write_text(
        "import json, sys\n"
        "hello = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'x'}}\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    result = hello if asked['method'] == 'initialize' else {}\n"
        "    'id' in asked and print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n"
    )
    run("servers", "add", "empty", "--trust", "--", PYTHON, str(script))
    told = "its tools (its answer to tools/list has no list of them)"
    assert run("servers", "test", "empty", "--json").json["left_out"] == [told]
    assert f"left out  {told}" in run("servers", "test", "empty").out


@requirement("MGR-19", "POOL-22")
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no sandbox to be held by")
def test_one_of_a_workspace_is_tested_in_the_sandbox_it_has_when_it_is_served(
    run: Any, workspace: Path, tmp_path: Path
) -> None:
    """What its command line names outside is not for it: whoever wrote the file could name anything."""
    outside = tmp_path / "outside"
    outside.mkdir()
    script = workspace / "theirs.py"
    script.write_text("import pathlib, sys\npathlib.Path(sys.argv[1], 'mark').write_text('x')\n")
    entry = {"command": PYTHON, "args": [str(script), str(outside)]}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    assert run("approvals", "grant", "theirs").code == 0
    assert run("servers", "test", "theirs").code == 1
    assert not (outside / "mark").exists()


@requirement("MGR-19")
def test_test_fails_with_the_reason(run: Any) -> None:
    given = ("--mcp-config", config(bad=["--crash", "--say", "no key"]))
    done = run("servers", "test", "bad", *given)
    assert (done.code, done.out) == (1, "")
    assert "no key" in done.err
    assert "hint: weft servers status bad --mcp-config … --mcp-debug shows what it does" in done.err
    told = run("servers", "test", "bad", "--json", *given)
    assert (told.code, told.json["ok"], told.json["name"], told.json["hint"] != "") == (1, False, "bad", True)
    assert "no key" in told.json["error"]
    assert run("servers", "test", "nobody", *given).code == 1
    unknown = run("tools", "call", "bad__x", *given)
    assert unknown.code == 1
    assert unknown.err.endswith("weft: bad__x: bad is not connected\nhint: weft servers test bad\n")


# ── add, remove, enable, disable ─────────────────────────────────────────────────────────────────────────────────────


@requirement("MGR-19", "CONF-17", "CONF-05")
def test_add_writes_a_private_file_with_the_whole_path(run: Any, home: Path) -> None:
    done = run("servers", "add", "one", "--env", "LEVEL=3", "--trust", "--", "python3", str(TINY), "--title", "a b")
    path = home / "mcp_servers" / "one.toml"
    assert (done.code, done.out) == (0, f"written: {path}\n")
    assert f'command = "{shutil.which("python3")}"' in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert run("tools", "call", "one__echo", "text=1").out == "a b: 1\n"
    assert run("tools", "call", "one__env", "name=LEVEL").out == "3\n"


@requirement("MGR-19", "CONF-17", "CONF-02")
def test_add_resolves_the_program_of_an_address_too(run: Any, home: Path) -> None:
    assert run("servers", "add", "one", f"stdio://python3 '{TINY}' --title 'a b'", "--trust").code == 0
    assert f'command = "{shutil.which("python3")}"' in (home / "mcp_servers" / "one.toml").read_text()
    assert run("tools", "call", "one__echo", "text=1").out == "a b: 1\n"
    assert "cannot be split" in run("servers", "add", "two", "stdio://python3 'x").err


@requirement("MGR-19")
def test_add_takes_an_address(run: Any) -> None:
    added = run("servers", "add", "far", "https://x.example/mcp", "--header", "X-Team: blue", "--timeout-ms", "5")
    assert added.code == 0
    (row,) = run("servers", "list", "--json").json["servers"]
    assert (row["transport"], row["what"], row["trust"]) == ("http", "https://x.example/mcp", "untrusted")


@requirement("MGR-19", "CONF-14")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["git", "--", PYTHON], "'git' is the namespace of built-in tools"),
        (["git", "--", PYTHON, "a b"], f"weft servers add my-git -- {PYTHON} 'a b'"),
        (["my wiki", "https://x.example"], "weft servers add my-wiki https://x.example"),
        (["a__b", "--", PYTHON], "may not contain '__'"),
        (["x"], "either a URL, or -- and a command"),
        (["x", "http://a", "--", PYTHON], "either a URL, or -- and a command"),
        (["x", "--", "no-such-program"], "'no-such-program' is not on the PATH"),
        (["x", "--", "sh y"], "as separate words: -- sh y"),
        (["x", "--", "/bin/sh /y.sh"], "as separate words: -- /bin/sh /y.sh"),
        (["x", "--", "./no-such-program"], "no-such-program does not exist"),
        (["x", "--", "/usr"], "/usr is a folder, not a program"),
        (["x", "--", "/etc/passwd"], "/etc/passwd is not executable"),
        (["x", "--timeout-ms", "0", "--", PYTHON], "timeout_ms must be a whole number from 1 to"),
        (["x", "http://a", "--env", "A=b"], "hint: pass headers with --header\n"),
        (["x", "--header", "A: b", "--", PYTHON], "hint: pass variables with --env\n"),
        (["x", "--bogus", "http://a"], "unknown option: --bogus"),
        (["x", "http:/a.example/mcp"], "hint: did you mean http://a.example/mcp?\n"),
        (["x", "wiki.example/mcp"], "hint: did you mean https://wiki.example/mcp?\n"),
        (["x", "localhost:80"], "hint: did you mean http://localhost:80?\n"),
        (["x", "sh"], "hint: weft servers add x -- sh\n"),
        (["x", "./run.sh"], "hint: weft servers add x -- ./run.sh\n"),
        (["x", "--trust", "sh", "-y", "pkg"], "hint: weft servers add x --trust -- sh -y pkg\n"),
        (["x", "--", "/a;b"], "unsafe"),
        (["x", "ftp://a"], "must begin with"),
        (["x", "--env", "TOKEN", "--", PYTHON], "--env is NAME=VALUE"),
        (["x", "--env", "API_TOKEN=abcdefgh", "--", PYTHON], "--env API_TOKEN=secret://env/API_TOKEN"),
        (["x", "http://a", "--header", "Authorization: Bearer abc"], "secret://env/X_AUTHORIZATION"),
        (["x", "https://a.example/mcp?api_key=abcdefgh"], "'…api_key=${secret://env/X_API_KEY}…'"),
        (["x", "https://ada:lovelace@a.example/mcp"], "the address contains a password"),
        (["x", "--env", "BASE=redis://ada:lovelace@a.example", "--", PYTHON], "--env BASE=secret://env/BASE\n"),
        (["x", "--env", "KEY=secret://evn/KEY", "--", PYTHON], "one of env, file, command, keyring"),
        (["x", "--env", "KEY=secret://env/", "--", PYTHON], "hint: secret://env/NAME\n"),
    ],
)
def test_add_refuses_what_could_not_work_and_secrets_in_clear(
    run: Any, home: Path, words: list[str], said: str
) -> None:
    done = run("servers", "add", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not (home / "mcp_servers").exists()


@requirement("MGR-19", "CONF-14")
def test_add_warns_of_a_password_among_the_arguments(run: Any) -> None:
    done = run("servers", "add", "pg", "--", PYTHON, str(TINY), "postgresql://ada:lovelace@localhost/base")
    assert done.code == 0
    assert "the argument postgresql://localhost/base looks like a secret" in done.err
    assert "lovelace" not in done.out + done.err


@requirement("MGR-19")
def test_add_says_that_a_script_of_one_folder_is_not_found_from_another(run: Any, workspace: Path) -> None:
    (workspace / "server.py").write_text(TINY.read_text())
    assert "server.py is looked for in each workspace" in run("servers", "add", "x", "--", PYTHON, "server.py").err
    whole = run("servers", "add", "y", "--", PYTHON, str(workspace / "server.py"))
    assert "looked for" not in whole.err


@requirement("MGR-19")
def test_add_overwrites_only_when_told_and_keeps_the_old_one(run: Any, home: Path) -> None:
    add(run, "one")
    path = home / "mcp_servers" / "one.toml"
    before = path.read_text()
    again = add(run, "one", "--title", "x")
    assert (again.code, path.read_text()) == (2, before)
    forced = run("servers", "add", "one", "--force", "--", PYTHON, str(TINY), "--title", "x")
    assert forced.code == 0
    assert path.read_text() != before
    assert path.with_name("one.toml.bak").read_text() == before


@requirement("MGR-19", "CONF-08")
def test_disable_and_enable_change_one_line(run: Any, home: Path) -> None:
    add(run, "one")
    path = home / "mcp_servers" / "one.toml"
    path.write_text("# mine, with a comment\n" + path.read_text())
    assert run("servers", "disable", "one").code == 0
    assert states(run("servers", "list", "--json")) == {"one": "disabled"}
    assert "# mine, with a comment" in path.read_text()
    assert "already" in run("servers", "disable", "one").out
    assert run("servers", "enable", "one").code == 0
    assert states(run("servers", "status", "--json")) == {"one": "connected"}


@requirement("MGR-19", "CONF-07", "CONF-08")
def test_a_server_of_the_workspace_is_switched_off_for_the_agent(run: Any, home: Path, workspace: Path) -> None:
    (workspace / ".mcp.json").write_text(config(theirs=[]))
    agent = home / "agents" / "default" / "config.toml"
    agent.parent.mkdir(parents=True)
    agent.write_text("[result]\nlimit = 1000\n")
    assert run("servers", "disable", "theirs").code == 0
    assert states(run("servers", "list", "--json")) == {"theirs": "disabled"}
    assert run("servers", "enable", "theirs").code == 0
    assert agent.read_text().strip() == "[result]\nlimit = 1000"
    assert run("servers", "enable", "theirs").code == 2, "a program may not approve it"


@requirement("MGR-19")
def test_a_switch_keeps_links_letters_and_line_ends_whatever_the_locale(run: Any, home: Path, tmp_path: Path) -> None:
    text = f"# für mich\r\ncommand = {json.dumps(PYTHON)}\r\n"
    kept = tmp_path / "dotfiles.toml"
    kept.write_bytes(text.encode())
    (home / "mcp_servers").mkdir()
    (home / "mcp_servers" / "one.toml").symlink_to(kept)
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert run("servers", "disable", "one", **plain).code == 0
    assert (home / "mcp_servers" / "one.toml").is_symlink()
    assert kept.read_bytes().decode() == f"enabled = false\r\n{text}"


@requirement("MGR-19")
def test_remove_keeps_a_copy_and_touches_only_files_of_ours(run: Any, home: Path, workspace: Path) -> None:
    add(run, "one")
    (workspace / ".mcp.json").write_text(config(theirs=[]))
    done = run("servers", "remove", "one")
    assert (done.code, sorted(path.name for path in (home / "mcp_servers").iterdir())) == (0, ["one.toml.bak"])
    refused = run("servers", "remove", "theirs")
    assert (refused.code, (workspace / ".mcp.json").exists()) == (2, True)
    assert f"{workspace}/.mcp.json:1" in refused.err
    assert run("servers", "remove", "nobody").code == 1


@requirement("MGR-19")
def test_remove_goes_by_the_server_and_not_by_the_name_of_a_file(run: Any, home: Path) -> None:
    """Of two files that describe one, the one that is used goes first, and the other is told."""
    add(run, "one")
    folder = home / "mcp_servers"
    (folder / "two.toml").write_text(f'name = "one"\ncommand = "{PYTHON}"\n')
    (folder / "odd.toml").write_text(f'name = "git"\ncommand = "{PYTHON}"\n')
    other = run("servers", "remove", "two")
    assert (other.code, other.err.partition("\n")[0]) == (1, "weft: there is no server 'two'")
    first = run("servers", "remove", "one")
    assert first.out == f"removed: {folder}/two.toml (kept as two.toml.bak)\n"
    assert first.err == f"one is still there: {folder}/one.toml:1 describes it, too\n"
    second = run("servers", "remove", "one")
    assert (second.out, second.err) == (f"removed: {folder}/one.toml (kept as one.toml.bak)\n", "")
    assert run("servers", "remove", "git").out == f"removed: {folder}/odd.toml (kept as odd.toml.bak)\n"
    (folder / "broken.toml").write_text("=")
    (home / "config.toml").write_text("=")
    assert run("servers", "remove", "broken").code == 0


# ── doctor ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("PROV-06", "PROV-10", "AGENT-14")
def test_tools_that_clash_or_have_odd_names_are_told(run: Any, workspace: Path) -> None:
    """When they are listed, and by the doctor, who goes by what was listed last."""
    for name, also in (("a", ["_b", "x" * 80]), ("a_", ["b"])):
        (workspace / name).write_text(json.dumps(also))
        assert add(run, name, "--also", str(workspace / name)).code == 0
    listed = run("tools", "list", "--no-builtin")
    assert "a___b is left out: 'b' of a_ would get the name of '_b' of a" in listed.err
    found = [each["said"] for each in run("doctor", "--json").json["findings"] if each["what"] == "tools"]
    assert "a___b is left out: 'b' of a_ would get the name of '_b' of a" in found
    assert any(said.startswith(f"mcp:a__{'x' * 80} is offered as a__xxx") for said in found)


@requirement("AGENT-14", "CONF-14", "CONF-16")
def test_the_doctor_looks_at_servers_and_starts_none(run: Any, home: Path, workspace: Path) -> None:
    folder = home / "mcp_servers"
    folder.mkdir()
    (folder / "clear.toml").write_text(f'command = "{PYTHON}"\nenv = {{ API_KEY = "sk-abcdefgh" }}\n')
    (folder / "gone.toml").write_text('command = "/no/such/program"\n')
    (folder / "git.toml").write_text(f'command = "{PYTHON}"\n')
    wants = 'A = "secret://env/UNSET_A", B = "x ${secret://env/UNSET_B}", C = "${secret://env/UNSET_C:-c}"'
    (folder / "wants.toml").write_text(f'command = "{PYTHON}"\nenv = {{ {wants}, D = "secret://env/PATH" }}\n')
    (workspace / ".mcp.json").write_text(config(theirs=[]))
    done = run("doctor", "--json")
    found = [(each["level"], each["said"]) for each in done.json["findings"] if each["what"] == "servers"]
    assert done.code == 1
    assert sorted(level for level, _ in found) == ["fail", "fail", "ok", "ok", "warn", "warn", "warn", "warn"]
    assert [said.partition("variable ")[2] for _, said in found if "needs" in said] == ["UNSET_A", "UNSET_B"]
    said = " ".join(text for _, text in found)
    assert "API_KEY seems to contain a secret" in said
    assert "sk-abcdefgh" not in said
    assert "/no/such/program is not there" in said
    assert "theirs comes from the workspace" in said


@requirement("MGR-19", "AGENT-14")
def test_the_status_of_one_ends_with_the_next_step_below_its_reason(run: Any) -> None:
    given = ("--mcp-config", config(gone={"command": "/no/such/program"}, up=[]))
    *_, error, step = run("servers", "status", "gone", *given).out.split("\n")[:-1]
    assert error.startswith("error ")
    assert step == f"{' ' * error.index('/no/such')}→ weft servers reconnect gone"
    assert not run("servers", "status", "up", *given).out.endswith("\n\n")


@requirement("MGR-19", "LINK-26")
async def test_a_server_that_wants_a_login_is_tested_with_the_command_that_logs_in(run: Any) -> None:
    async def locked(asked: Asked) -> web.Response:
        return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"})

    async with serve(locked) as served:
        assert run("servers", "add", "docs", served.url).code == 0
        told = await asyncio.to_thread(run, "servers", "test", "docs")
    assert told.code == 1
    assert told.err.endswith(f"weft: docs: {served.url} needs a login\nhint: weft auth login docs\n")
    assert run("servers", "add", "keyed", "--env", "KEY=secret://env/UNSET", "--", PYTHON, str(TINY)).code == 0
    lacks = "weft: keyed: secret://env/UNSET is not there\nhint: export UNSET=… before weft is started\n"
    assert run("servers", "test", "keyed").err == lacks


@requirement("AGENT-14", "MGR-19")
def test_servers_that_are_not_used_are_a_line_of_a_listing_and_whole_in_theirs(run: Any, workspace: Path) -> None:
    entries = {"bad": {"command": "a;b"}, "odd": {"command": "c|d"}, "waits": {"command": PYTHON, "args": [str(TINY)]}}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": entries}))
    for words in (["prompts", "list"], ["resources", "list"], ["tools", "list"]):
        refused, waits, *more = run(*words).err.splitlines()
        assert refused == "weft: 2 servers are refused: bad, odd (weft servers list says why)"
        assert waits == "weft: 1 server waits for approval: waits (weft approvals grant waits)"
        assert more == []
    assert "'c|d' contains '|'" in run("servers", "list").err


@requirement("AGENT-14", "CONF-14")
def test_what_was_taken_over_from_a_workspace_is_no_trouble_there(run: Any, workspace: Path) -> None:
    """Its file goes on saying what other programs want, and they are many who share it."""
    entries = {"bad": {"command": "sh", "args": ["x"]}, "same": {"command": PYTHON, "args": [str(TINY)]}}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": entries}))
    assert run("doctor").code == run("config", "check").code == 1
    assert run("servers", "import", "--from", "workspace").code == 0
    assert "weft: server same" not in (told := run("tools", "list").err)
    assert ("refused" in told, "waits" in told) == (False, False)
    found = [each for each in run("doctor", "--json").json["findings"] if each["what"] == "servers"]
    assert {each["level"] for each in found} == {"ok"}
    assert any("bad: yours is used" in each["said"] for each in found)
    checked = run("config", "check", "--json")
    assert (checked.code, [each["level"] for each in checked.json["problems"]]) == (0, ["warn"])
    assert "bad" in [row["name"] for row in run("servers", "list", "--json").json["servers"]]


# ── which servers a name may belong to ───────────────────────────────────────────────────────────────────────────────


@requirement("MGR-15", "PROV-12")
@pytest.mark.parametrize(
    ("tool", "servers"),
    [
        ("a__x", ["a"]),
        ("mcp:a:x", ["a"]),
        ("mcp__a-b__x", ["a-b"]),
        ("ab__x", []),
        ("x", []),
        ("", []),
    ],
)
def test_the_server_a_name_speaks_of(tool: str, servers: list[str]) -> None:
    assert servers_of(tool, ["a", "a-b", "c"]) == servers


@requirement("CONF-12", "AGENT-14")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("missing.json", "--mcp-config: there is no file missing.json"),
        ('{"mcpServers": {', "not valid JSON"),
        ("broken.json", "broken.json:1: not valid JSON"),
    ],
)
@pytest.mark.parametrize("command", ["tools list", "mcp-server", "servers status"])
def test_a_wrong_mcp_config_is_wrong_usage(run: Any, workspace: Path, command: str, given: str, told: str) -> None:
    (workspace / "broken.json").write_text("{,")
    done = run(*command.split(), "--mcp-config", given)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "hint: " in done.err


@requirement("GUARD-14", "GUARD-06")
def test_allowed_tools_of_foreign_json_hold_for_all_tools_and_widen_nothing(run: Any, home: Path) -> None:
    servers = json.loads(config(one=[]))["mcpServers"]
    for document in (
        {"allowed_tools": ["*__echo", "read_file"]},
        {"tools": {"allowedTools": ["*__echo", "read_file"]}},
    ):
        given = ("--mcp-config", json.dumps({"mcpServers": servers, **document}))
        assert listed(run("tools", "list", "--json", *given)) == ["file__read", "one__echo"]
        assert listed(run("tools", "list", "--json", "--allow", "one__pid", *given)) == ["one__pid"]
    (home / "config.toml").write_text('[tools]\nallow = ["file__*"]\n')
    assert listed(run("tools", "list", "--json", "--deny", "file__[lsw]*", *given)) == ["file__read"]


def listed(done: Any) -> list[str]:
    return [tool["name"] for tool in done.json["tools"]]


@requirement("MGR-19", "AGENT-14")
def test_a_list_of_built_in_tools_starts_no_server(run: Any, home: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    folder = home / "mcp_servers"
    folder.mkdir(mode=0o700, parents=True)
    command = {"command": "/bin/sh", "args": ["-c", f"echo >> {started}"], "sandbox": "off"}
    (folder / "one.toml").write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in command.items()))
    for whose in ("file", "file__*", "file__r*"):
        listed = run("tools", "list", whose)
        assert "file__read" in listed.out.split()
        assert (listed.err, started.exists()) == ("", False)
    assert "server one" in run("tools", "list", "f*").err
    assert started.exists()


@requirement("MGR-19")
def test_servers_that_rest_until_they_are_called_are_not_said_to_be_down(run: Any, home: Path) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[pool]\nmax_connections = 1\n")
    for name in ("one", "two"):
        assert run("servers", "add", name, "--", sys.executable, str(TINY)).code == 0
    run("tools", "list")  # from now on their lists are known
    listed = run("tools", "list")
    assert "not ready" not in listed.err
    assert {"one__echo", "two__echo"} <= set(listed.out.split())
    assert "not connected" not in run("tools", "list", "one__nothing", "two__nothing").err
