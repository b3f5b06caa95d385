"""Servers other programs know: found where they keep them, in the form they write, without their secrets."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.config.imports import Candidate, find, our_name
from clawft.config.other_programs import PROGRAMS, Entries, OtherProgram, ServerFile, UserFolders
from clawft.upstream.spec import DEFAULT_TIMEOUT_MS
from tests.props.shapes import VALUES
from tests.requirements import requirement

PYTHON = sys.executable
COMMAND = {"command": PYTHON, "args": ["-m", "x"]}
KEYS = (
    *("command", "args", "env", "url", "httpUrl", "headers", "cwd", "timeout", "transport", "type", "tools", "source"),
    *("env_vars", "http_headers", "env_http_headers", "bearer_token_env_var", "tool_timeout_sec", "enabled_tools"),
    *("mcp", "projects", "mcpServers", "sandbox", "trust", "exchange", "asks", "proxy", "max_message"),
)
"""What an entry, or a file, of another program may hold, and anything under it."""


@pytest.fixture
def around(tmp_path: Path, workspace: Path) -> UserFolders:
    return UserFolders(tmp_path / "user", workspace, tmp_path / "roaming")


def found(program: str, around: UserFolders) -> dict[str, Candidate]:
    return {each.name: each for each in find(PROGRAMS[program], around)}


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@requirement("MGR-19")
@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_there_is_nothing_found(program: str, around: UserFolders) -> None:
    assert found(program, around) == {}


@requirement("MGR-19", "CONF-10")
@pytest.mark.parametrize(
    ("program", "place", "document"),
    [
        ("claude-code", "user/.claude.json", {"mcpServers": {"x": {"type": "stdio", **COMMAND}}}),
        ("claude-desktop", "user/.config/Claude/claude_desktop_config.json", {"mcpServers": {"x": COMMAND}}),
        (
            "claude-desktop",
            "user/Library/Application Support/Claude/claude_desktop_config.json",
            {"mcpServers": {"x": COMMAND}},
        ),
        ("claude-desktop", "roaming/Claude/claude_desktop_config.json", {"mcpServers": {"x": COMMAND}}),
        ("vscode", "user/.config/Code/User/mcp.json", {"servers": {"x": {"type": "stdio", **COMMAND}}}),
        ("vscode", "user/Library/Application Support/Code/User/mcp.json", {"servers": {"x": COMMAND}}),
        ("cursor", "user/.cursor/mcp.json", {"mcpServers": {"x": COMMAND}}),
        ("codex", "user/.codex/config.toml", f'[mcp_servers.x]\ncommand = "{PYTHON}"\nargs = ["-m", "x"]\n'),
        ("gemini", "user/.gemini/settings.json", {"theme": "x", "mcpServers": {"x": {**COMMAND, "trust": True}}}),
        ("zed", "user/.config/zed/settings.json", {"context_servers": {"x": {"source": "custom", **COMMAND}}}),
        (
            "zed",
            "user/.config/zed/settings.json",
            {"context_servers": {"x": {"command": {"path": PYTHON, "args": ["-m", "x"]}}}},
        ),
        ("workspace", "workspace/.mcp.json", {"mcpServers": {"x": COMMAND}}),
        ("workspace", "workspace/.vscode/mcp.json", {"servers": {"x": COMMAND}}),
    ],
)
def test_each_program_keeps_them_somewhere_else(
    program: str, place: str, document: Any, around: UserFolders, tmp_path: Path
) -> None:
    file = write(tmp_path / place, document)
    (one,) = find(PROGRAMS[program], around)
    assert (one.name, one.source, one.file, one.refused) == ("x", program, str(file), "")
    assert one.spec is not None
    assert (one.spec.command, one.spec.args, one.spec.trust, one.spec.cwd) == (PYTHON, ("-m", "x"), "untrusted", ".")


@requirement("MGR-19")
def test_servers_of_this_project_count_and_those_of_others_do_not(around: UserFolders) -> None:
    projects = {
        str(around.workspace): {"mcpServers": {"here": COMMAND}},
        "/elsewhere": {"mcpServers": {"there": COMMAND}},
    }
    write(around.user / ".claude.json", {"mcpServers": {"mine": COMMAND}, "projects": projects})
    assert list(found("claude-code", around)) == ["mine", "here"]


@requirement("MGR-19", "CONF-14")
def test_secrets_become_references_and_are_never_in_the_spec(around: UserFolders) -> None:
    entry = {**COMMAND, "env": {"API_KEY": "sk-abcdefghijkl", "LEVEL": "debug", "OTHER": "${OTHER}"}}
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": entry}})
    one = found("cursor", around)["x"]
    assert one.spec is not None
    assert one.spec.env == {"API_KEY": "secret://env/API_KEY", "LEVEL": "debug", "OTHER": "secret://env/OTHER"}
    assert one.secrets == {"secret://env/API_KEY": "sk-abcdefghijkl"}
    assert any(note.startswith("export API_KEY=") for note in one.notes)
    assert not any("sk-abc" in note for note in one.notes)


@requirement("MGR-19", "CONF-14")
def test_inputs_of_an_editor_become_references(around: UserFolders) -> None:
    document = """{
      // asked for by the editor
      "inputs": [{"type": "promptString", "id": "github-token", "password": true}],
      "servers": {
        "a": {"type": "http", "url": "https://a.example", "headers": {"Authorization": "Bearer ${input:github-token}"}},
        "b": {"command": "PYTHON", "args": ["${workspaceFolder}/x", "${other}"], "env": {"T": "${input:github-token}"}},
      }
    }""".replace("PYTHON", PYTHON)
    write(around.user / ".config" / "Code" / "User" / "mcp.json", document)
    both = found("vscode", around)
    a, b = both["a"].spec, both["b"].spec
    assert a is not None
    assert b is not None
    assert a.headers == {"Authorization": "secret://env/A_AUTHORIZATION"}
    assert both["a"].notes == ('export A_AUTHORIZATION="Bearer …"',)
    assert (b.env, b.args[0]) == ({"T": "secret://env/GITHUB_TOKEN"}, f"{around.workspace}/x")
    assert any("${other}" in note for note in both["b"].notes)


@requirement("MGR-19", "CONF-14")
def test_codex_names_variables(around: UserFolders) -> None:
    write(
        around.user / ".codex" / "config.toml",
        'model = "x"\n[mcp_servers.far]\nurl = "https://far.example/mcp"\nbearer_token_env_var = "FAR"\n'
        'tool_timeout_sec = 2.5\nhttp_headers = { "X-A" = "b" }\nenv_http_headers = { "X-B" = "BEE" }\n',
    )
    spec = found("codex", around)["far"].spec
    assert spec is not None
    assert spec.headers == {"X-A": "b", "X-B": "secret://env/BEE", "Authorization": "Bearer ${secret://env/FAR}"}
    assert spec.timeout_ms == 2500


@requirement("MGR-19")
@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ('env_vars = ["A", { name = "B", source = "remote" }]', ["A", "B"]),
        ('env_vars = ["A", { source = "remote" }, { name = 5 }, ["a"], 5]', ["A"]),
        ('env_vars = "FOO"', []),
        ("env_vars = 5", []),
        ("tool_timeout_sec = inf", []),
        ("tool_timeout_sec = nan", []),
        ("bearer_token_env_var = 5", []),
        ("env_http_headers = { X = 5 }", []),
    ],
)
def test_what_codex_does_not_mean_is_passed_by(line: str, variables: list[str], around: UserFolders) -> None:
    file = around.user / ".codex" / "config.toml"
    write(file, f'[mcp_servers.a]\ncommand = "{PYTHON}"\n{line}\n[mcp_servers.b]\ncommand = "{PYTHON}"\n')
    both = found("codex", around)
    assert {name: each.refused for name, each in both.items()} == {"a": "", "b": ""}
    spec = both["a"].spec
    assert spec is not None
    assert (spec.timeout_ms, spec.headers) == (DEFAULT_TIMEOUT_MS, {})
    assert spec.env == {name: f"secret://env/{name}" for name in variables}


@requirement("MGR-19")
def test_a_file_nobody_understands_hides_no_other(around: UserFolders) -> None:
    def read(told: Mapping[str, Any], around: UserFolders) -> Entries:
        yield "first", COMMAND
        raise TypeError(told["token"])

    def good(told: Mapping[str, Any], around: UserFolders) -> Entries:
        yield "second", COMMAND

    odd = write(around.user / "odd.json", {"token": "sk-abcdefghijkl"})
    other = write(around.user / "other.json", {"a": 1})
    program = OtherProgram("x", "X", lambda around: [ServerFile(odd, read), ServerFile(other, good)])
    first, refused, second = find(program, around)
    assert (first.name, second.name) == ("first", "second")
    assert refused.refused == f"{odd} contains something that cannot be read (TypeError); add its servers by hand"


@requirement("MGR-19")
@given(told=st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_whatever_other_programs_write_is_found_or_refused_with_a_reason(
    told: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "anything"
    folder.mkdir(exist_ok=True)
    servers = {"x": {**COMMAND, **told}, "y": told}
    document = {"mcpServers": servers, "context_servers": servers, "mcp_servers": servers, **told}
    file = write(folder / "odd.json", document)
    here = UserFolders(folder, folder, folder)
    for program in PROGRAMS.values():
        for each in program.files(here):
            one = OtherProgram("x", "X", lambda around, read=each.read: [ServerFile(file, read)])
            assert not any("cannot be read" in candidate.refused for candidate in find(one, here))


@requirement("MGR-19", "CONF-17")
def test_programs_are_resolved_and_missing_ones_refused(around: UserFolders) -> None:
    servers = {"a": {"command": "python3"}, "b": {"command": "no-such-program"}, "c": {"type": "claudeai-proxy"}}
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": servers})
    each = found("cursor", around)
    assert each["a"].spec is not None
    assert each["a"].spec.command == shutil.which("python3")
    assert (each["b"].spec, each["b"].refused) == (None, "no-such-program is not on the PATH; install it first")
    assert "claudeai-proxy" in each["c"].refused


@requirement("MGR-19", "CONF-17")
def test_a_program_beside_the_workspace_is_found_there(
    around: UserFolders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write(around.workspace / "bin" / "serve", "#!/bin/sh\n").chmod(0o755)
    servers = {"a": {"command": "./bin/serve"}, "b": {"command": "./serve", "cwd": "bin"}, "c": {"command": "./no"}}
    write(around.workspace / ".mcp.json", {"mcpServers": servers})
    each = found("workspace", around)
    paths = [spec.command for name in ("a", "b") if (spec := each[name].spec) is not None]
    assert paths == [str(around.workspace / "bin" / "serve")] * 2
    assert each["c"].refused == f"./no is not in {around.workspace}; install it first"


@requirement("MGR-19")
def test_we_do_not_import_ourselves(around: UserFolders) -> None:
    servers = {
        "weft": {"command": "weft", "args": ["mcp-server"]},
        "same": {"command": PYTHON, "args": ["-m", "clawft"]},
    }
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": servers})
    assert all(each.refused == "this is weft itself" for each in find(PROGRAMS["cursor"], around))


@requirement("MGR-19", "CONF-12")
def test_a_broken_file_is_one_refusal(around: UserFolders) -> None:
    path = write(around.user / ".cursor" / "mcp.json", "{")
    (one,) = find(PROGRAMS["cursor"], around)
    assert one.refused.startswith(f"{path}:1: not valid JSON")


@requirement("MGR-19", "PROV-12")
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("github", "github"),
        ("git", "git-mcp"),
        ("My Server", "My-Server"),
        ("a__b", "a_b"),
        ("é", "server"),
        ("_x", "x"),
    ],
)
def test_names_become_ours(theirs: str, ours: str) -> None:
    assert our_name(theirs) == ours


# ── odd forms that are published ─────────────────────────────────────────────────────────────────────────────────────

KEY = "11112222-3333-4444-5555-666677778888"


@requirement("MGR-19", "CONF-10")
def test_an_address_may_begin_with_a_variable_as_claude_code_shows_it(around: UserFolders) -> None:
    entry = {"type": "http", "url": "${API_BASE_URL:-https://api.example.com}/mcp"}
    bare = {"type": "http", "url": "${API_BASE_URL}/mcp"}
    wrong = {"type": "http", "url": "${API_BASE_URL:-ftp://api.example.com}/mcp"}
    write(around.workspace / ".mcp.json", {"mcpServers": {"api": entry, "bare": bare, "wrong": wrong}})
    told = found("workspace", around)
    assert told["api"].spec is not None
    assert told["api"].spec.url == "${secret://env/API_BASE_URL:-https://api.example.com}/mcp"
    assert told["bare"].refused == ""
    assert "must begin with" in told["wrong"].refused


@requirement("MGR-19", "CONF-14")
def test_a_secret_in_an_address_becomes_a_reference(around: UserFolders) -> None:
    url = f"https://mcp.exa.ai/mcp?tools=web_search&exaApiKey={KEY}"
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"exa": {"url": url}}})
    exa = found("cursor", around)["exa"]
    assert exa.spec is not None
    assert exa.spec.url == "https://mcp.exa.ai/mcp?tools=web_search&exaApiKey=${secret://env/EXA_EXAAPIKEY}"
    assert dict(exa.secrets) == {"secret://env/EXA_EXAAPIKEY": KEY}
    assert exa.notes[0].startswith("export EXA_EXAAPIKEY=…")


@requirement("MGR-19", "CONF-14")
@pytest.mark.parametrize("args", [["--api-key", KEY], [f"--api-key={KEY}"]])
def test_a_secret_among_arguments_is_told(around: UserFolders, args: list[str]) -> None:
    """Nothing can stand in for it there: what a program is started with can be read by all others."""
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": {"command": PYTHON, "args": args}}})
    (note,) = found("cursor", around)["x"].notes
    assert note.startswith("its argument --api-key seems to contain a secret")
    assert KEY not in note


@requirement("MGR-19", "CONF-14")
def test_a_password_in_an_address_is_told_among_arguments_and_not_copied_from_a_variable(around: UserFolders) -> None:
    base = "postgresql://ada:lovelace@localhost/base"
    entry = {"command": PYTHON, "args": [base], "env": {"BASE_URL": base}}
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": entry}})
    x = found("cursor", around)["x"]
    assert x.spec is not None
    assert x.spec.env == {"BASE_URL": "secret://env/BASE_URL"}
    assert any(
        note.startswith("its argument postgresql://localhost/base seems to contain a secret") for note in x.notes
    )
    assert "lovelace" not in " ".join(x.notes)


@requirement("MGR-19", "CONF-14")
def test_the_scheme_before_a_token_stays_and_the_workspace_is_filled_in_for_variables(around: UserFolders) -> None:
    far = {"url": "https://a.example/mcp", "headers": {"Authorization": f"Bearer {KEY}"}}
    near = {"command": PYTHON, "env": {"ROOT": "${workspaceFolder}/data"}}
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"far": far, "near": near}})
    both = found("cursor", around)
    assert both["far"].spec is not None
    assert both["far"].spec.headers == {"Authorization": "Bearer ${secret://env/FAR_AUTHORIZATION}"}
    assert dict(both["far"].secrets) == {"secret://env/FAR_AUTHORIZATION": KEY}
    assert both["near"].spec is not None
    assert both["near"].spec.env == {"ROOT": f"{around.workspace}/data"}


@requirement("MGR-19")
def test_a_server_that_an_extension_of_zed_brings_is_refused_with_the_reason(around: UserFolders) -> None:
    entry: dict[str, Any] = {"source": "extension", "enabled": True, "settings": {}}
    write(around.user / ".config" / "zed" / "settings.json", {"context_servers": {"x": entry}})
    assert "this server is started by an extension of the editor" in found("zed", around)["x"].refused


@requirement("MGR-19", "CONF-10")
def test_which_tools_were_chosen_there_stay_chosen(around: UserFolders) -> None:
    gemini = {**COMMAND, "includeTools": ["safe", "look"], "excludeTools": ["rm"]}
    write(around.user / ".gemini" / "settings.json", {"mcpServers": {"x": gemini}})
    codex = f'[mcp_servers.y]\ncommand = "{PYTHON}"\nenabled_tools = ["safe"]\ndisabled_tools = ["rm"]\n'
    write(around.user / ".codex" / "config.toml", codex)
    write(around.workspace / ".mcp.json", {"mcpServers": {"z": {**COMMAND, "tools": ["safe"]}}})
    chosen = {
        name: (each.spec.tools.allow, each.spec.tools.deny)
        for program in ("gemini", "codex", "workspace")
        for name, each in found(program, around).items()
        if each.spec is not None
    }
    assert chosen == {"x": (("safe", "look"), ("rm",)), "y": (("safe",), ("rm",)), "z": (("safe",), ())}


@requirement("MGR-19", "CONF-10")
def test_gemini_writes_variables_without_braces_too(around: UserFolders) -> None:
    entry = {"httpUrl": "https://$HOST/mcp", "headers": {"Authorization": "Bearer $TOKEN"}}
    local = {**COMMAND, "env": {"DATABASE_URL": "$DB_URL", "PRICE": "5$"}}
    write(around.user / ".gemini" / "settings.json", {"mcpServers": {"far": entry, "near": local}})
    told = found("gemini", around)
    far, near = told["far"].spec, told["near"].spec
    assert far is not None
    assert near is not None
    assert far.url == "https://${secret://env/HOST}/mcp"
    assert far.headers == {"Authorization": "Bearer ${secret://env/TOKEN}"}
    assert near.env == {"DATABASE_URL": "secret://env/DB_URL", "PRICE": "5$"}


@requirement("MGR-19")
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"envFile": "${workspaceFolder}/.env"}, "envFile"),
        ({"headersHelper": "/opt/bin/headers.sh"}, "secret://command/"),
        ({"auth": {"CLIENT_ID": "a"}}, "weft auth login x"),
        ({"oauth": {"clientId": "a"}}, "weft auth login x"),
    ],
)
def test_what_cannot_be_taken_over_is_told(around: UserFolders, more: Any, said: str) -> None:
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": {**COMMAND, **more}}})
    (note,) = found("cursor", around)["x"].notes
    assert said in note


@requirement("MGR-19")
@pytest.mark.parametrize("entry", [{}, None, [1], {"source": "custom", "settings": {}}])
def test_an_entry_that_starts_nothing_says_so(around: UserFolders, entry: Any) -> None:
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": entry}})
    assert "it needs either a url or a command" in found("cursor", around)["x"].refused


@requirement("MGR-19")
def test_a_whole_command_line_as_the_command_says_what_is_wrong(around: UserFolders) -> None:
    entry = {"command": "sh -m x"}
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": entry}})
    assert 'put its arguments into "args"' in found("cursor", around)["x"].refused


@requirement("MGR-19")
def test_a_command_with_a_variable_says_so(around: UserFolders) -> None:
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": {"command": "${NODE:-node}"}}})
    assert "holds a variable, which is not filled in here" in found("cursor", around)["x"].refused


@requirement("MGR-19", "CONF-10")
def test_what_an_editor_knows_of_its_folder_is_filled_in(around: UserFolders) -> None:
    args = ["${workspaceFolder}/a", "${workspaceFolderBasename}", "${userHome}${pathSeparator}b${/}c"]
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": {"command": PYTHON, "args": args}}})
    spec = found("cursor", around)["x"].spec
    assert spec is not None
    assert spec.args == (f"{around.workspace}/a", around.workspace.name, f"{around.user}/b/c")


@requirement("MGR-19")
def test_a_changed_name_is_told_with_the_one_it_had(around: UserFolders) -> None:
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"My Server (dev)!": COMMAND}})
    assert found("cursor", around)["My-Server-dev"].notes == ("it is 'My Server (dev)!' there",)


# ── what is disabled there ───────────────────────────────────────────────────────────────────────────────────────


def off(candidates: Mapping[str, Candidate]) -> dict[str, bool]:
    """Which of them are switched off; each of those says so."""
    told = {name: not each.spec.enabled for name, each in candidates.items() if each.spec is not None}
    noted = {name: any("disabled there" in note for note in each.notes) for name, each in candidates.items()}
    assert told == noted
    return told


@requirement("MGR-19")
@pytest.mark.parametrize("place", ["user/.gemini/settings.json", "workspace/.gemini/settings.json"])
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, {"a": False, "b": False}),
        ({"excluded": ["b"]}, {"a": False, "b": True}),
        ({"allowed": ["a"]}, {"a": False, "b": True}),
        ({"allowed": ["a", "b"], "excluded": ["a"]}, {"a": True, "b": False}),
        ({"allowed": "a", "excluded": 5}, {"a": False, "b": False}),
    ],
)
def test_what_gemini_excludes_comes_switched_off(
    place: str, rules: object, expected: dict[str, bool], around: UserFolders, tmp_path: Path
) -> None:
    write(tmp_path / place, {"mcp": rules, "mcpServers": {"a": COMMAND, "b": COMMAND}})
    assert off(found("gemini" if place.startswith("user") else "workspace", around)) == expected


@requirement("MGR-19")
def test_what_is_switched_off_in_claude_code_comes_switched_off(around: UserFolders) -> None:
    project = {
        "mcpServers": {"own": COMMAND},
        "disabledMcpServers": ["mine", "own"],
        "disabledMcpjsonServers": ["team"],
    }
    projects = {str(around.workspace): project, "/elsewhere": {"disabledMcpServers": ["other", "both"]}}
    mine = {"mcpServers": {"mine": COMMAND, "other": COMMAND}, "projects": projects}
    write(around.user / ".claude.json", mine)
    write(around.workspace / ".mcp.json", {"mcpServers": {"team": COMMAND, "both": COMMAND, "local": COMMAND}})
    write(around.workspace / ".claude" / "settings.local.json", {"disabledMcpjsonServers": ["local"]})
    assert off(found("claude-code", around)) == {"mine": True, "other": False, "own": True}
    assert off(found("workspace", around)) == {"team": True, "both": False, "local": True}


@requirement("MGR-19")
def test_what_an_entry_itself_switches_off_comes_switched_off(around: UserFolders) -> None:
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"a": {**COMMAND, "disabled": True}, "b": COMMAND}})
    assert off(found("cursor", around)) == {"a": True, "b": False}


@requirement("MGR-19", "CONF-14")
@pytest.mark.parametrize("place", ["user/.gemini/settings.json", "workspace/.gemini/settings.json"])
def test_variables_of_gemini_are_references_wherever_its_file_stands(
    place: str, around: UserFolders, tmp_path: Path
) -> None:
    write(tmp_path / place, {"mcpServers": {"x": {**COMMAND, "env": {"A": "$GEM", "B": "x-${OTHER}"}}}})
    spec = found("gemini" if place.startswith("user") else "workspace", around)["x"].spec
    assert spec is not None
    assert spec.env == {"A": "secret://env/GEM", "B": "x-${secret://env/OTHER}"}


@requirement("MGR-19", "CONF-14")
def test_a_dollar_in_files_of_others_stays_what_it_is(around: UserFolders) -> None:
    write(around.workspace / ".mcp.json", {"mcpServers": {"x": {**COMMAND, "env": {"A": "$GEM"}}}})
    spec = found("workspace", around)["x"].spec
    assert spec is not None
    assert spec.env == {"A": "$GEM"}


@requirement("MGR-19")
def test_what_only_the_other_kind_of_server_reads_is_left_out_and_told(around: UserFolders) -> None:
    far = {"url": "https://far.example/mcp", "args": ["a"], "env": {"API_KEY": "sk-abcdefghijkl"}}
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"a": {**COMMAND, "headers": {"A": "b"}}, "b": far}})
    both = found("cursor", around)
    a, b = both["a"].spec, both["b"].spec
    assert a is not None
    assert b is not None
    assert (a.headers, b.args, b.env, both["b"].secrets) == ({}, (), {}, {})
    assert both["a"].notes == ("its headers have no effect there and were left out",)
