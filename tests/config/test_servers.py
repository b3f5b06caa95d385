"""Which servers are wanted: four layers of files, strict where they are ours, lenient where they are not."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import pytest

from clawft.config.entry_rules import MAX_WORD_BYTES, MAX_WORDS
from clawft.config.layers import MAX_SERVERS, FoundServer, Scope, Sources
from clawft.config.servers import Servers, carried, discover, waits
from clawft.errors import ConfigUnparsable, ConfigUnreadable, InvalidConfig
from clawft.store.concealed_secrets import conceal
from clawft.upstream.spec import SandboxTable, TokenExchange, ToolRules, UpstreamSpec
from tests.requirements import requirement

PROGRAM = sys.executable
FULL = f"""
command = "{PROGRAM}"
args = ["-m", "x"]
env = {{ TOKEN = "secret://env/TOKEN" }}
cwd = "sub"
timeout_ms = 5000
trust = "Trusted"
required = true
isolation = "per-session"
sandbox = {{ read = ["."], network = ["a.example"] }}
tools = {{ deny = ["delete_*"], timeout_ms = {{ build = 600000 }} }}
asks = ["elicitation"]
era = "handshake"
"""


class Files:
    """The layers as a test writes them."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace = home, workspace

    def user(self, name: str, text: str) -> Path:
        return self._write(self.home / "mcp_servers" / f"{name}.toml", text)

    def shared(self, text: str) -> Path:
        return self._write(self.home / "config.toml", text)

    def ours(self, text: str) -> Path:
        return self._write(self.workspace / ".clawft" / "mcp.toml", text)

    def foreign(self, servers: object) -> Path:
        return self._write(self.workspace / ".mcp.json", json.dumps({"mcpServers": servers}))

    def agent(self, text: str, agent: str = "default") -> Path:
        return self._write(self.home / "agents" / agent / "config.toml", text)

    def _write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def discover(self, *given: str, agent: str = "default", folders: tuple[str, ...] = ()) -> Servers:
        return discover(Sources(self.home, self.workspace, agent, given, folders))


@pytest.fixture
def files(home: Path, workspace: Path) -> Files:
    return Files(home, workspace)


def stdio(url: str = PROGRAM, **more: object) -> str:
    lines = [f'command = "{url}"', *(f"{key} = {json.dumps(value)}" for key, value in more.items())]
    return "\n".join(lines) + "\n"


def given(name: str, **entry: object) -> str:
    return json.dumps({"mcpServers": {name: entry}})


# ── layers ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-11", "S3-E01")
def test_nothing_anywhere_is_a_valid_configuration(files: Files) -> None:
    assert files.discover() == Servers()


@requirement("F9b-T01", "CONF-05", "F9b-A01")
def test_every_file_of_the_global_folder_is_a_server_named_after_it(files: Files) -> None:
    files.user("b", stdio())
    files.user("a", 'url = "https://a.example/mcp"')
    named = files.user("c", 'name = "other"\n' + stdio())
    (files.home / "mcp_servers" / "note.txt").write_text("no server")
    (files.home / "mcp_servers" / "b.toml.bak").write_text("broken [")
    found = files.discover().found
    assert list(found) == ["a", "b", "other"]
    assert (found["a"].spec.transport, found["b"].spec.transport) == ("http", "stdio")
    assert (found["other"].origin.file, found["other"].scope) == (str(named), Scope.USER)


@requirement("F9b-T02", "CONF-06", "F9b-A01", "CONF-16")
def test_a_workspace_names_servers_in_two_files_and_they_wait(files: Files) -> None:
    ours = files.ours(f'[mcp_servers.one]\ncommand = "{PROGRAM}"\n')
    foreign = files.foreign({"two": {"command": PROGRAM}})
    servers = files.discover()
    assert (servers.wanted, servers.refused) == ({}, {})
    assert {name: found.origin.file for name, found in servers.waiting.items()} == {
        "one": str(ours),
        "two": str(foreign),
    }
    assert waits("two", servers.waiting["two"]).hint == f"weft approvals grant two --workspace {files.workspace}"
    approved = discover(Sources(files.home, files.workspace, "default"), approved=lambda found: True)
    assert list(approved.wanted) == ["one", "two"]


@requirement("CONF-16", "CONF-15")
def test_a_workspace_that_waits_takes_nothing_away(files: Files) -> None:
    files.user("one", stdio(args=["mine"]))
    files.foreign({"one": {"command": PROGRAM, "args": ["theirs"]}})
    assert files.discover().wanted["one"].args == ("mine",)
    assert files.discover().wanted["one"].scope == "user"


@requirement("CONF-15", "CONF-06")
def test_the_same_file_given_by_hand_starts_and_is_trusted(files: Files) -> None:
    path = files.foreign({"two": {"command": "python3"}, "careful": {"command": PROGRAM, "trust": "untrusted"}})
    servers = files.discover(str(path))
    assert servers.wanted["two"].trust == "trusted"
    assert servers.wanted["careful"].trust == "untrusted"
    assert servers.waiting == {}


@requirement("F9b-T03", "F9b-T05", "CONF-07", "F9b-A02", "F9b-A11")
def test_the_agent_replaces_and_adds(files: Files) -> None:
    files.user("one", stdio(args=["user"]))
    files.agent(f'[mcp_servers.one]\ncommand = "{PROGRAM}"\n[mcp_servers.new]\nurl = "http://127.0.0.1:1/"\n', "coder")
    assert files.discover(agent="coder").wanted["one"].args == ()
    assert list(files.discover(agent="coder").wanted) == ["one", "new"]
    assert files.discover().wanted["one"].args == ("user",)


@requirement("F9b-T04", "CONF-08", "F9b-A02")
def test_enabled_false_removes_and_needs_nothing_else(files: Files) -> None:
    files.user("one", stdio())
    off = files.agent("[mcp_servers.one]\nenabled = false\n[mcp_servers.nobody]\nenabled = false\n")
    servers = files.discover()
    assert (servers.wanted, servers.refused) == ({}, {})
    assert servers.found["one"].spec.command == PROGRAM, "what it was can still be shown"
    assert str(servers.found["one"].origin) == f"{off}:1"


@requirement("F9b-T06", "CONF-09", "AGENT-05")
def test_later_layers_win_in_a_fixed_order(files: Files, tmp_path: Path) -> None:
    files.user("one", stdio(args=["1"]))
    files.shared(f'[mcp_servers.one]\ncommand = "{PROGRAM}"\nargs = ["2"]\n')
    assert files.discover().wanted["one"].args == ("2",)
    files.agent(f'[mcp_servers.one]\ncommand = "{PROGRAM}"\nargs = ["3"]\n')
    assert files.discover().wanted["one"].args == ("3",)
    last = given("one", command=PROGRAM, args=["5"])
    assert files.discover(given("one", command=PROGRAM, args=["4"]), last).wanted["one"].args == ("5",)
    assert files.discover(last, given("one", enabled=False)).wanted == {}


@requirement("AGENT-05", "AC-10")
def test_what_is_given_may_be_a_file_of_either_kind_or_json(files: Files, tmp_path: Path) -> None:
    tables = tmp_path / "tables.toml"
    tables.write_text('[mcp_servers.a]\ncommand = "python3"\n')
    single = tmp_path / "single.toml"
    single.write_text('command = "python3"\n')
    lenient = tmp_path / "lenient.json"
    lenient.write_text('{ // mine\n "servers": {"c": {"command": "python3",},}, /* and */ }')
    servers = files.discover(str(tables), str(single), str(lenient), given("d", command="python3"))
    assert list(servers.wanted) == ["a", "single", "c", "d"]
    assert {found.scope for found in servers.found.values()} == {Scope.COMMAND_LINE}
    assert str(servers.found["c"].origin) == f"{lenient}:2"


@requirement("AGENT-05")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("missing.json", "there is no file missing.json"),
        ('{"mcpServers": {', "--mcp-config:1: not valid JSON"),
        ('{"other": {}}', "names no servers"),
    ],
)
def test_what_is_given_and_cannot_be_used_is_said(files: Files, text: str, said: str) -> None:
    (refused,) = files.discover(text).refused.values()
    assert said in refused.error.message
    assert refused.error.hint


# ── one entry ────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-01", "F9b-T07", "F9b-T08", "CONF-03")
def test_every_key_arrives(files: Files, workspace: Path) -> None:
    files.user("full", FULL)
    assert files.discover().found["full"].spec == UpstreamSpec(
        "full",
        command=PROGRAM,
        args=("-m", "x"),
        env={"TOKEN": "secret://env/TOKEN"},
        cwd=str(workspace / "sub"),
        timeout_ms=5000,
        trust="trusted",
        required=True,
        isolation="per-session",
        sandbox=SandboxTable(read=(".",), network=("a.example",)),
        tools=ToolRules(deny=("delete_*",), timeout_ms={"build": 600000}),
        asks=("elicitation",),
        era="handshake",
    )


@requirement("CONF-01", "CONF-03")
def test_the_defaults(files: Files, workspace: Path) -> None:
    files.user("x", stdio())
    assert files.discover().wanted["x"] == UpstreamSpec("x", command=PROGRAM, cwd=str(workspace), scope="user")


@requirement("CONF-02")
def test_a_stdio_url_is_a_command_split_without_a_shell(files: Files) -> None:
    files.user("x", f"""url = 'stdio://{PROGRAM} --flag "two words" $HOME'""")
    spec = files.discover().wanted["x"]
    assert (spec.command, spec.args, spec.url) == (PROGRAM, ("--flag", "two words", "$HOME"), "")


@requirement("CONF-02")
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "either a url or a command"),
        ('url = "http://x"\ncommand = "/x"', 1, "not both"),
        ('url = "ftp://x"', 1, "must begin with stdio://, http:// or https://"),
        ('url = "https://"', 1, "names no host"),
        ('url = "https://nobody@them:x/"', 1, "the url cannot be read"),
        ("url = 'stdio:///x \"open'", 1, "cannot be split"),
        ('url = "http://x"\ntrust = "much"', 2, "trust is trusted or untrusted"),
        ('url = "http://x"\nsandbox = "maybe"', 2, "sandbox is one of"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused_alone(files: Files, text: str, line: int, said: str) -> None:
    path = files.user("bad", text)
    files.user("good", stdio())
    servers = files.discover()
    assert list(servers.wanted) == ["good"]
    message = servers.refused["bad"].error.message
    assert said in message
    assert message.startswith(f"{path}:{line}: bad: ")


@requirement("CONF-13")
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('command = "/x"\ntimout_ms = 3\n', 2, "unknown key 'timout_ms', did you mean 'timeout_ms'?"),
        ('command = "/x"\n\n[tools]\nalow = []\n', 4, "unknown key 'tools.alow', did you mean 'allow'?"),
        ('command = "/x"\nsandbox = { wrte = [] }\n', 2, "unknown key 'sandbox.wrte', did you mean 'write'?"),
        ('command = "/x"\ntimeout_ms = 0\n', 2, "timeout_ms must be a whole number from 1"),
        ('command = "/x"\nenabled = "no"\n', 2, "enabled must be true or false"),
        ('command = "/x"\nenv = { A = 1 }\n', 2, "env must be a table of texts"),
        ('command = "/x"\nisolation = "own"\n', 2, "isolation must be shared or per-session"),
    ],
)
def test_our_own_files_are_strict(files: Files, text: str, line: int, said: str) -> None:
    path = files.user("bad", text)
    error = files.discover().refused["bad"].error
    assert isinstance(error, InvalidConfig)
    assert error.message.startswith(f"{path}:{line}: {said}")
    assert error.hint


@requirement("CONF-13")
@pytest.mark.parametrize(
    ("key", "written", "meant"),
    [
        ("timeout_ms", '"3000"', "timeout_ms = 3000"),
        ("args", '"--port 3"', 'args = ["--port", "3"]'),
        ("env", "{ A = 1 }", 'A = "1"'),
    ],
)
def test_a_common_slip_is_told_with_what_was_meant(files: Files, key: str, written: str, meant: str) -> None:
    files.user("bad", f'command = "/x"\n{key} = {written}\n')
    assert files.discover().refused["bad"].error.hint == f"write {meant}"


@requirement("CONF-13")
@pytest.mark.parametrize(
    ("text", "line", "element"),
    [
        ('command = "/x"\n[sandbox]\nread = ["."]\nwrite = ["a", 5]\n', 4, "sandbox.write[1]"),
        ('command = "/x"\n[sandbox]\nnetwork = 5\n', 3, "sandbox.network"),
        ('command = "/x"\n[tools]\nallow = ["a"]\ndeny = [1]\n', 4, "tools.deny[0]"),
        ('command = "/x"\nargs = ["a", 1]\n', 2, "args[1]"),
    ],
)
def test_a_wrong_type_is_told_with_the_element_and_its_line(files: Files, text: str, line: int, element: str) -> None:
    path = files.user("bad", text)
    error = files.discover().refused["bad"].error
    assert error.message.startswith(f"{path}:{line}: {element.partition('.')[0].partition('[')[0]} must be")
    assert error.hint.startswith(f"{element}: Expected ")


@requirement("CONF-16")
@pytest.mark.parametrize("globs", [["[" * 300], ["a*"] * 1_001], ids=["a long one", "many"])
def test_a_workspace_does_not_keep_us_busy_with_globs(files: Files, globs: list[str]) -> None:
    path = files.ours(f'[mcp_servers.a]\ncommand = "{PROGRAM}"\ntools = {{ allow = {json.dumps(globs)} }}\n')
    error = files.discover().refused["a"].error
    assert error.message == f"{path}:3: a: tools of a workspace file has up to 1000 globs of up to 256 letters"


@requirement("CONF-13")
def test_tables_in_a_shared_file_have_their_own_lines(files: Files) -> None:
    path = files.ours(f'[mcp_servers.a]\ncommand = "{PROGRAM}"\n\n[mcp_servers.b]\nurll = "x"\n[tools]\nallow = []\n')
    refused = files.discover().refused
    assert refused["b"].error.message.startswith(f"{path}:5: unknown key 'urll', did you mean 'url'?")
    assert refused[str(path)].error.message.startswith(f"{path}:6: unknown key 'tools'")
    files.ours('mcp_servers = "x"')
    assert files.discover().refused[str(path)].error.message == f"{path}:1: mcp_servers must be a table"
    files.ours('[mcp_servers]\na = "x"')
    assert files.discover().refused["a"].error.message == f"{path}:2: a server is a table"


@requirement("CONF-12")
def test_a_broken_file_is_named_with_its_line_and_the_others_go_on(files: Files) -> None:
    broken = files.user("broken", 'command = "x"\nargs = [\n= 3\n')
    files.user("good", stdio())
    foreign = files.workspace / ".mcp.json"
    foreign.write_text('{"mcpServers": {\n  "x": [nope]\n}}')
    servers = files.discover()
    assert list(servers.wanted) == ["good"]
    assert isinstance(servers.refused["broken"].error, ConfigUnparsable)
    assert servers.refused["broken"].error.message.startswith(f"{broken}:3: not valid TOML")
    assert servers.refused[str(foreign)].error.message.startswith(f"{foreign}:2: not valid JSON")


@requirement("CONF-12")
def test_an_unreadable_file_is_another_error(files: Files) -> None:
    (files.home / "mcp_servers" / "folder.toml").mkdir(parents=True)
    assert isinstance(files.discover().refused["folder"].error, ConfigUnreadable)


@requirement("CONF-13", "PROV-12")
@pytest.mark.parametrize("name", ["git", "a__b", "-x", "with space"])
def test_bad_names_are_refused(files: Files, name: str) -> None:
    servers = files.discover(given(name, command=PROGRAM))
    assert (servers.wanted, list(servers.refused)) == ({}, [name])


# ── foreign forms ────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-14", "CONF-10")
@pytest.mark.parametrize(
    ("told", "allow", "deny"),
    [
        ({"allowed_tools": ["a"]}, ("a",), ()),
        ({"includeTools": ["a", "b"], "excludeTools": ["b"]}, ("a", "b"), ("b",)),
        ({"enabled_tools": [], "disabled_tools": ["c"]}, (), ("c",)),
        ({"disabledTools": ["x", 3]}, ("*",), ("x",)),
        ({"tools": ["a"]}, ("a",), ()),
        ({"tools": {"allow": ["a"], "deny": ["b"]}, "allowedTools": ["c"], "excludeTools": ["d"]}, ("a",), ("b", "d")),
        ({"tools": "all", "allowedTools": "a"}, ("*",), ()),
    ],
)
def test_what_other_programs_forbid_stays_forbidden(
    files: Files, told: dict[str, object], allow: tuple[str, ...], deny: tuple[str, ...]
) -> None:
    rules = files.discover(given("x", command=PROGRAM, **told)).wanted["x"].tools
    assert (rules.allow, rules.deny) == (allow, deny)


@requirement("CONF-10", "AC-10")
@pytest.mark.parametrize(
    "document",
    [
        {"mcpServers": {"x": {"command": PROGRAM, "args": ["a", 1], "unknown": {"deep": []}}}},
        {"servers": {"x": {"type": "stdio", "command": PROGRAM, "args": ["a", "1"], "env": None}}},
        {"tools": {"mcpServers": {"x": {"command": PROGRAM, "args": ["a", "1"]}}}},
        {"mcpServers": {"x": {"transport": {"type": "stdio", "command": PROGRAM, "args": ["a", "1"]}}}},
    ],
)
def test_foreign_forms_of_a_command(files: Files, document: object) -> None:
    spec = files.discover(json.dumps(document)).wanted["x"]
    assert (spec.command, spec.args, spec.transport) == (PROGRAM, ("a", "1"), "stdio")


@requirement("CONF-10")
@pytest.mark.parametrize(
    "entry",
    [
        {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"A": "b"}, "timeout": 1500},
        {"transport": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"A": "b"}}, "timeout": 1500},
        {"httpUrl": "http://127.0.0.1:1/mcp", "headers": {"A": "b"}, "timeout": 1500, "trust": True},
    ],
)
def test_foreign_forms_of_an_address(files: Files, entry: dict[str, object]) -> None:
    spec = files.discover(given("x", **entry)).wanted["x"]
    assert (spec.url, spec.headers, spec.timeout_ms, spec.transport) == (
        "http://127.0.0.1:1/mcp",
        {"A": "b"},
        1500,
        "http",
    )


@requirement("CONF-10", "CONF-14")
def test_a_variable_of_others_is_our_reference(files: Files) -> None:
    entry = {"command": PROGRAM, "env": {"A": "${A}", "B": "${env:C}", "D": 3, "E": "x ${A} ${B:-y}", "F": None}}
    env = files.discover(given("x", **entry)).wanted["x"].env
    assert env == {
        "A": "secret://env/A",
        "B": "secret://env/C",
        "D": "3",
        "E": "x ${secret://env/A} ${secret://env/B:-y}",
    }


@requirement("LINK-25")
def test_the_proxy_of_another_program_is_reported_and_the_others_load(files: Files) -> None:
    document = {"mcpServers": {"far": {"type": "claudeai-proxy", "url": "https://x"}, "near": {"command": PROGRAM}}}
    servers = files.discover(json.dumps(document))
    assert list(servers.wanted) == ["near"]
    assert "claudeai-proxy" in servers.refused["far"].error.message
    assert "http" in servers.refused["far"].error.hint


# ── trust and programs ───────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-15", "F9b-T08")
@pytest.mark.parametrize(("told", "user", "by_hand"), [("", "untrusted", "trusted"), ("TRUSTED", "trusted", "trusted")])
def test_trust_follows_the_source(files: Files, told: str, user: str, by_hand: str) -> None:
    files.user("mine", stdio(trust=told))
    files.ours(f'[mcp_servers.theirs]\ncommand = "{PROGRAM}"\ntrust = "trusted"\n')
    servers = files.discover(given("typed", command=PROGRAM, trust=told))
    assert servers.wanted["mine"].trust == user
    assert servers.wanted["typed"].trust == by_hand
    assert servers.waiting["theirs"].spec.trust == "untrusted"


@requirement("F9b-T25", "CONF-17", "F9b-A10", "SEC-A04")
def test_an_untrusted_server_needs_the_path_that_was_meant(files: Files) -> None:
    files.user("x", stdio("python3"))
    error = files.discover().refused["x"].error
    assert "absolute path" in error.message
    assert f"{shutil.which('python3')} was meant" in error.message
    files.user("x", stdio("no-such-program"))
    assert "not on the PATH" in files.discover().refused["x"].error.hint
    files.user("x", stdio("python3", trust="trusted"))
    assert files.discover().wanted["x"].command == "python3"


@requirement("CONF-17")
@pytest.mark.parametrize(
    ("command", "folder"), [("./serve", "workspace"), ("bin/serve", "workspace"), ("~/serve", "user")]
)
def test_the_path_that_was_meant_is_a_whole_one(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, folder: str
) -> None:
    """Wherever we were started ourselves: a server runs in the workspace."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    program = (tmp_path / folder / command.removeprefix("~/")).resolve()
    files.user("x", stdio(command))
    assert "serve is not in" in files.discover().refused["x"].error.hint
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    error = files.discover().refused["x"].error
    assert f"{program} was meant" in error.message
    assert error.hint == f'write command = "{program}"'


@requirement("test_connect_mcp_server_rejects_unsafe_command", "CONF-18", "F9a-A05")
@pytest.mark.parametrize("bad", ["../x", "/x;y", "/x|y", "/x&y", "/$x", "/`x`", "/x\ny"])
def test_unsafe_commands_are_refused_whatever_the_trust(files: Files, bad: str) -> None:
    servers = files.discover(given("x", command=bad), given("y", command=PROGRAM, args=[bad]))
    assert "unsafe" in servers.refused["x"].error.message
    assert servers.wanted["y"].args == (bad,), "no shell reads arguments"


@requirement("CONF-18")
@pytest.mark.parametrize("bad", [f"stdio://{PROGRAM}\nls", f"stdio://{PROGRAM}\rls"])
def test_a_command_that_is_written_as_an_address_has_one_line(files: Files, bad: str) -> None:
    assert "unsafe command" in files.discover(given("x", url=bad)).refused["x"].error.message


@requirement("CONF-19")
def test_programs_only_from_the_folders_named(files: Files, tmp_path: Path) -> None:
    files.user("x", stdio())
    assert list(files.discover(folders=(str(Path(PROGRAM).parent),)).wanted) == ["x"]
    refused = files.discover(folders=(str(tmp_path),)).refused["x"].error
    assert "security.command_folders" in refused.hint
    python = shutil.which("python3") or ""
    resolved = files.discover(given("y", command="python3"), folders=(str(Path(python).parent),))
    assert resolved.wanted["y"].command == python, "what was judged is what runs"


@requirement("CONF-15", "POOL-22")
@pytest.mark.parametrize(
    ("sandbox", "fine"),
    [
        ('"off"', False),
        ('"strict"', True),
        ('{ write = ["out"], read = [".git/config"] }', True),
        ('{ read = ["~/.ssh"] }', False),
        ('{ write = ["/etc"] }', False),
        ('{ write = ["out/../../x"] }', False),
        ('{ write = [".git/hooks"] }', False),
        ('{ write = ["./.git//config"] }', False),
        ('{ write = [".git/hooks/pre-commit"] }', False),
        ('{ write = [".mcp.json"] }', False),
        ('{ write = [".vscode/tasks.json"] }', False),
    ],
)
def test_a_workspace_cannot_let_its_servers_out(files: Files, sandbox: str, fine: bool) -> None:
    files.ours(f'[mcp_servers.a]\ncommand = "{PROGRAM}"\nsandbox = {sandbox}\n')
    servers = files.discover()
    assert ("a" in servers.refused) is not fine
    assert fine or "a workspace file may not" in str(servers.refused["a"].error)
    files.user("mine", f'command = "{PROGRAM}"\nsandbox = {sandbox}\n')
    assert "mine" in files.discover().wanted


@requirement("CONF-15")
@pytest.mark.parametrize("key", ["redact = false", "verbatim = true"])
def test_a_workspace_cannot_switch_off_what_is_taken_out_of_results(files: Files, key: str) -> None:
    files.ours(f'[mcp_servers.x]\ncommand = "{PROGRAM}"\n{key}\n')
    assert "a workspace file may not" in str(files.discover().refused["x"].error)
    files.user("mine", f'command = "{PROGRAM}"\n{key}\n')
    assert "mine" in files.discover().wanted


@requirement("CONF-15")
def test_a_workspace_cannot_name_a_proxy(files: Files) -> None:
    files.ours('[mcp_servers.x]\nurl = "https://a.example/mcp"\nproxy = "http://proxy.example:3128"\n')
    assert "a workspace file may not name a proxy" in str(files.discover().refused["x"].error)
    files.foreign({"y": {"url": "https://a.example/mcp", "proxy": "http://proxy.example:3128"}})
    assert all(not found.spec.proxy for found in files.discover().waiting.values())
    files.user("mine", 'url = "https://a.example/mcp"\nproxy = "http://proxy.example:3128"\n')
    assert files.discover().wanted["mine"].proxy == "http://proxy.example:3128"


@requirement("CONF-15")
@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ('url = "https://a.example/mcp"\nproxy = "proxy.example:3128"', "the proxy must begin with http://"),
        ('url = "https://a.example/mcp"\nproxy = "https://proxy.example"', "the proxy must begin with http://"),
        ('url = "https://a.example/mcp"\nproxy = "http://u:p@proxy.example"', "must be a reference"),
        (f'command = "{PROGRAM}"\nproxy = "http://proxy.example"', "proxy is for servers that are reached by http"),
    ],
)
def test_a_proxy_that_is_none_is_refused(files: Files, entry: str, told: str) -> None:
    files.user("mine", entry + "\n")
    assert told in str(files.discover().refused["mine"].error)


@requirement("CONF-15")
def test_the_login_of_a_proxy_is_a_reference(files: Files) -> None:
    proxy = "http://${secret://env/PROXY_LOGIN}@proxy.example:3128"
    files.user("mine", f'url = "https://a.example/mcp"\nproxy = "{proxy}"\n')
    assert files.discover().wanted["mine"].proxy == proxy


@requirement("WIRE-08", "CONF-15")
@pytest.mark.parametrize(("size", "fine"), [(64 * 1024, True), (16 * 1024 * 1024, True), (16 * 1024 * 1024 + 1, False)])
def test_a_workspace_cannot_raise_what_a_message_may_have(files: Files, size: int, fine: bool) -> None:
    files.ours(f'[mcp_servers.x]\ncommand = "{PROGRAM}"\nmax_message = {size}\n')
    assert ("x" in files.discover().waiting) is fine
    files.user("mine", f'command = "{PROGRAM}"\nmax_message = {size}\n')
    assert files.discover().wanted["mine"].max_message == size


@requirement("WIRE-08")
def test_a_message_may_not_have_less_than_anybody_needs(files: Files) -> None:
    files.user("mine", f'command = "{PROGRAM}"\nmax_message = 5\n')
    told = str(files.discover().refused["mine"].error)
    assert "max_message must be a whole number of bytes from 65536 to 1073741824" in told


@requirement("CONF-14", "CONF-16")
@pytest.mark.parametrize(("reference", "fine"), [("command/id", False), ("file/etc/x", False), ("keyring/x", True)])
def test_a_workspace_cannot_make_us_run_or_read_for_a_secret(files: Files, reference: str, fine: bool) -> None:
    files.ours(f'[mcp_servers.x]\ncommand = "{PROGRAM}"\nenv = {{ A = "secret://{reference}" }}\n')
    assert ("x" in files.discover().waiting) is fine


EXCHANGE = """
url = "https://crm.example/mcp"
[exchange]
client_id = "weft"
client_secret = "secret://env/CRM"
audience = "crm"
scopes = ["crm.read"]
"""


@requirement("CONF-01", "LINK-26")
def test_a_server_may_be_called_in_the_name_of_people(files: Files) -> None:
    files.user("crm", EXCHANGE)
    wanted = files.discover(given("y", url="https://y.example", exchange={"client_id": "w"})).wanted
    assert wanted["crm"].exchange == TokenExchange("weft", "secret://env/CRM", "crm", "", ("crm.read",))
    assert wanted["y"].exchange == TokenExchange("w")


@requirement("CONF-12", "CONF-14", "CONF-16")
@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("secret://env/CRM", "hunter2-hunter2", "must be a reference"),
        ("https://crm", "http://crm", "needs https://"),
        ("https://crm.example/mcp", f"stdio://{PROGRAM}", "reached by http"),
        ("[exchange]", "required = true\n[exchange]", "session of their own"),
        ("[exchange]", 'isolation = "per-session"\n[exchange]', "session of their own"),
        ("[exchange]", 'headers = { authorization = "x" }\n[exchange]', "only one of them"),
        ('client_id = "weft"', "", "exchange must be a table of client_id"),
        ("audience", "audiance", "'exchange.audiance', did you mean"),
    ],
)
def test_an_exchange_is_asked_for_as_a_whole_or_not_at_all(files: Files, before: str, after: str, said: str) -> None:
    files.user("crm", EXCHANGE.replace(before, after))
    refused = files.discover().refused["crm"].error
    assert said in str(refused)
    assert "hunter2" not in str(refused)


@requirement("CONF-16")
def test_a_workspace_cannot_have_peoples_tokens_exchanged(files: Files) -> None:
    files.ours("[mcp_servers.crm]" + EXCHANGE.replace("[exchange]", "[mcp_servers.crm.exchange]"))
    servers = files.discover()
    assert "a workspace file may not have people's tokens exchanged" in str(servers.refused["crm"].error)


@requirement("CONF-20", "CONF-12")
def test_a_required_server_stays_required_when_it_cannot_be_read(files: Files) -> None:
    files.user("x", "required = true\nurl = 3\n")
    files.user("y", 'required = true\nurl = "ftp://x"\n')
    refused = files.discover().refused
    assert (refused["x"].required, refused["y"].required) == (True, True)


@requirement("CONF-15", "CONF-12")
@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
def test_a_file_that_everybody_can_change_starts_nothing(files: Files) -> None:
    files.user("closed", stdio())
    files.user("open", stdio()).chmod(0o666)
    agent = files.agent(f'[mcp_servers.two]\ncommand = "{PROGRAM}"\n')
    agent.chmod(0o602)
    servers = files.discover()
    assert list(servers.wanted) == ["closed"]
    assert "chmod go-w" in servers.refused["open"].error.hint
    assert str(agent) in servers.refused


@requirement("CONF-08", "CONF-16")
def test_a_workspace_can_switch_off_but_not_replace(files: Files) -> None:
    files.user("one", stdio())
    files.foreign({"one": {"enabled": False}})
    assert files.discover().wanted == {}


@requirement("CONF-08", "CONF-16", "CONF-12")
@pytest.mark.parametrize("entry", [{"command": "bash"}, 7, {"command": PROGRAM, "sandbox": "off"}, {}])
def test_what_a_workspace_spoils_is_its_own_and_no_server_of_the_user(files: Files, entry: object) -> None:
    files.user("one", stdio())
    foreign = files.foreign({"one": entry})
    servers = files.discover()
    assert list(servers.wanted) == ["one"]
    assert list(servers.refused) == [f"one ({foreign})"]


# ── after a change ───────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-21", "CONF-12")
def test_what_broke_goes_on_as_it_was(files: Files) -> None:
    files.user("one", stdio(args=["1"]))
    ours = files.agent(f'[mcp_servers.two]\ncommand = "{PROGRAM}"\n[mcp_servers.three]\ncommand = "{PROGRAM}"\n')
    before = files.discover()
    files.user("one", "broken = [")
    ours.write_text("[mcp_servers.two")
    after = carried(before, files.discover(), nobody)
    assert after.wanted == before.wanted
    assert set(after.refused) == {"one", str(ours)}
    ours.write_text(f'[mcp_servers.two]\ncommand = "{PROGRAM}"\n')
    assert set(carried(after, files.discover(), nobody).wanted) == {"one", "two"}, "what was taken out is gone"


def nobody(found: FoundServer) -> bool:
    """Has approved it."""
    return False


@requirement("CONF-16", "CONF-12")
@pytest.mark.parametrize(
    "entry",
    [
        {"cwd": "~nobody-knows-them"},
        {"args": ["http://[/?token=a-long-secret"]},
        {"args": ["http://user:a-long-secret@["]},
        {"command": "", "url": "https://nobody-knows@them:${secret://env/NO_PORT_HERE}/"},
    ],
)
def test_an_odd_entry_of_a_workspace_costs_nobody_else_a_word(files: Files, entry: dict[str, object]) -> None:
    files.user("mine", stdio())
    files.foreign({"odd": {"command": PROGRAM, **entry}})
    servers = files.discover()
    assert list(servers.wanted) == ["mine"]
    assert list(servers.waiting) == ["odd"]
    assert "odd" in str(waits("odd", servers.waiting["odd"]))
    assert "a-long-secret" not in str(waits("odd", servers.waiting["odd"]))
    assert conceal("all is well") == "all is well"


@requirement("CONF-14", "CONF-16")
def test_a_server_that_waits_has_no_word_of_ours_left_out(files: Files) -> None:
    files.foreign({"odd": {"command": PROGRAM, "args": ["--token=approvals"]}})
    assert list(files.discover().waiting) == ["odd"]
    assert conceal("weft approvals list") == "weft approvals list"


@requirement("CONF-16")
def test_a_line_about_a_server_that_waits_is_a_line(files: Files) -> None:
    files.foreign({"odd": {"command": PROGRAM, "args": ["a b"] * 1_000}})
    told = str(waits("odd", files.discover().waiting["odd"]))
    assert len(told) < 4_000
    assert " …" in told


@requirement("CONF-22", "QUAL-12")
@pytest.mark.parametrize(
    "entry",
    [
        {"args": ["a"] * (MAX_WORDS + 1)},
        {"args": ["a" * (MAX_WORD_BYTES + 1)]},
        {"args": ["ä" * (MAX_WORD_BYTES // 2 + 1)]},
        {"env": {f"V{number}": "x" for number in range(MAX_WORDS + 1)}},
        {"env": {"V": "x" * (MAX_WORD_BYTES + 1)}},
        {"env": {"V" * (MAX_WORD_BYTES + 1): "x"}},
    ],
    ids=["words", "a word", "its bytes", "variables", "a value", "a variable"],
)
def test_more_than_a_program_can_be_given_is_refused_in_few_words(files: Files, entry: dict[str, object]) -> None:
    files.foreign({"odd": {"command": PROGRAM, **entry}})
    assert len(str(files.discover().refused["odd"].error)) < 1_000


@requirement("CONF-22", "QUAL-12")
def test_as_much_as_a_program_can_be_given_is_taken(files: Files) -> None:
    args = ["a" * MAX_WORD_BYTES, *["a"] * (MAX_WORDS - 1)]
    files.foreign({"odd": {"command": PROGRAM, "args": args, "env": {f"V{n}": "x" for n in range(MAX_WORDS)}}})
    assert files.discover().waiting["odd"].spec.args == tuple(args)


@requirement("CONF-22", "QUAL-12")
def test_a_name_that_nobody_wants_to_read_is_not_repeated(files: Files) -> None:
    files.foreign({"n" * 900_000: {"command": PROGRAM}})
    ((name, refused),) = files.discover().refused.items()
    assert len(name) + len(str(refused.error)) < 1_000
    assert "a server name is 1 to 64" in str(refused.error)


@requirement("CONF-22")
def test_as_many_servers_as_a_file_may_name_are_found_in_one_walk(files: Files) -> None:
    """Looking for each from the beginning took long: what stands between them may be megabytes."""
    files.foreign({f"s{number}": {"command": PROGRAM, "args": ["x" * 500]} for number in range(MAX_SERVERS)})
    began = time.process_time()
    assert len(files.discover().waiting) == MAX_SERVERS
    assert time.process_time() - began < 5.0


@requirement("CONF-16", "CONF-12")
@pytest.mark.parametrize("entry", [{}, {"command": "relative"}, {"command": PROGRAM, "args": 1, "timeout_ms": "x"}])
def test_a_mistake_of_a_workspace_keeps_nobody_from_starting(files: Files, entry: dict[str, object]) -> None:
    files.foreign({"odd": {**entry, "required": True}})
    files.ours("[mcp_servers.odd_too]\nrequired = true\n[mcp_servers.third]\nrequired = true\nnothing = 1\n")
    refused = files.discover().refused
    assert {"odd", "odd_too", "third"} & set(refused)
    assert not any(each.required for each in refused.values())


# ── pasted where it does not belong ──────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-10")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"mcpServers": {}}', "this is JSON; servers in JSON are read from .mcp.json"),
        (f'[mcp_servers.x]\ncommand = "{PROGRAM}"\n', "x.toml:1: this file describes one server (write only its keys"),
        (stdio() + "env = { PORT = 8080 }\n", 'x.toml:2: env must be a table of texts (write PORT = "8080")'),
    ],
)
def test_what_belongs_elsewhere_in_a_file_of_one_server(files: Files, text: str, told: str) -> None:
    files.user("x", text)
    assert told in str(files.discover().refused["x"].error)


@requirement("CONF-10")
@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"x": {"command": PROGRAM}}, "names servers outside of mcpServers"),
        ({"mcpServers": [{"command": PROGRAM}]}, "names its servers in a list instead of an object"),
        ({"mcpServer": {"x": {"command": PROGRAM}}}, "names servers under 'mcpServer' instead of mcpServers"),
        ({"servers_old": {"x": {"command": PROGRAM}}, "mcpServers": {}}, ""),
        ({}, ""),
        ({"mcpServers": None}, ""),
        ({"inputs": [], "somebody": {"else": 1}}, ""),
    ],
)
def test_servers_that_stand_where_nobody_looks_are_told(files: Files, document: object, told: str) -> None:
    file = files.foreign({})
    file.write_text(json.dumps(document))
    refused = files.discover().refused
    assert [refusal.error.message for refusal in refused.values()] == ([f"{file} {told}"] if told else [])


@requirement("CONF-10")
def test_a_wrong_type_in_a_foreign_file_is_told_in_words(files: Files) -> None:
    files.foreign({"x": {"command": 3}})
    assert files.discover().refused["x"].error.message.endswith(": x: command must be a text: the path of a program")


# ── a mistake has the line of its key ────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-13")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('command = "/x"\nargs = []\n\n\ntrust = "maybe"\n', 5),
        ('\n\nurl = "ftp://x"\n', 3),
        ('command = "/x"\n\nsandbox = "of"\n', 3),
        ('command = "/x"\nname = "y z"\n', 2),
        ('command = "/x"\n\n[env]\nA = "a"\nK = "secret://nope/x"\n', 5),
        ('command = "/x"\nenv = { K = "secret://env/" }\n', 2),
        ('\nurl = "https://a.example/${secret://nope/x}"\n', 2),
        ('command = "/x"\n\nheaders = { A = "b" }\n', 3),
        ('url = "https://a.example"\n\nargs = ["a"]\n', 3),
        ('url = "https://a.example"\n\nenv = { A = "b" }\n', 3),
        ('url = "stdio:///x"\n\nheaders = { A = "b" }\n', 3),
        ('trust = "untrusted"\ncommand = "python3"\n', 2),
        ('url = "https://a.example"\nproxy = "socks://x"\n', 2),
        ('trust = "untrusted"\n', 1),
    ],
)
def test_a_mistake_has_the_line_of_its_key(files: Files, text: str, line: int) -> None:
    file = files.user("x", text)
    [refused] = files.discover().refused.values()
    assert refused.error.message.startswith(f"{file}:{line}: ")
    assert refused.error.hint
    shared = files.ours("[mcp_servers.x]\n" + text.replace("[env]", "[mcp_servers.x.env]"))
    file.unlink()
    [refused] = files.discover().refused.values()
    assert refused.error.message.startswith(f"{shared}:{line + 1 if line > 1 or 'ftp' in text else 1}: ")


@requirement("CONF-13")
def test_a_reference_that_can_stand_for_nothing_is_told_before_the_start(files: Files) -> None:
    files.user("a", stdio() + 'env = { K = "secret://nope/x" }\n')
    files.user("b", stdio() + 'env = { K = "x-${secret://env/}" }\n')
    files.user("c", stdio() + 'env = { K = "secret://env/GOOD" }\n')
    files.user("d", stdio() + 'enabled = false\nenv = { K = "secret://nope/x" }\n')
    servers = files.discover()
    assert list(servers.found) == ["c", "d"]
    assert "env.K: secret://nope/x: unknown kind of secret" in servers.refused["a"].error.message
    assert servers.refused["a"].error.hint == "one of env, file, command, keyring"
    assert servers.refused["b"].error.hint == "secret://env/NAME"


@requirement("CONF-13")
def test_what_only_the_other_kind_of_server_reads_is_passed_by_in_foreign_files(files: Files) -> None:
    both = files.discover(
        given("a", command=PROGRAM, headers={"A": "b"}), given("b", url="https://a.example", args=["a"], env={"A": "b"})
    )
    assert (list(both.found), both.refused) == (["a", "b"], {})
    files.user("off", 'enabled = false\nurl = "https://a.example"\nargs = ["a"]\n')
    assert files.discover().refused == {}
