"""Servers other programs know: found where they keep them, in the form they write, without their secrets."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from clawft.config.imports import PROGRAMS, Candidate, Surroundings, find, our_name
from tests.requirements import requirement

PYTHON = sys.executable
COMMAND = {"command": PYTHON, "args": ["-m", "x"]}


@pytest.fixture
def around(tmp_path: Path, workspace: Path) -> Surroundings:
    return Surroundings(tmp_path / "user", workspace, tmp_path / "roaming")


def found(program: str, around: Surroundings) -> dict[str, Candidate]:
    return {each.name: each for each in find(PROGRAMS[program], around)}


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@requirement("MGR-19")
@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_there_is_nothing_found(program: str, around: Surroundings) -> None:
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
    program: str, place: str, document: Any, around: Surroundings, tmp_path: Path
) -> None:
    file = write(tmp_path / place, document)
    (one,) = find(PROGRAMS[program], around)
    assert (one.name, one.source, one.file, one.refused) == ("x", program, str(file), "")
    assert one.spec is not None
    assert (one.spec.command, one.spec.args, one.spec.trust, one.spec.cwd) == (PYTHON, ("-m", "x"), "untrusted", ".")


@requirement("MGR-19")
def test_servers_of_this_project_count_and_those_of_others_do_not(around: Surroundings) -> None:
    projects = {
        str(around.workspace): {"mcpServers": {"here": COMMAND}},
        "/elsewhere": {"mcpServers": {"there": COMMAND}},
    }
    write(around.user / ".claude.json", {"mcpServers": {"mine": COMMAND}, "projects": projects})
    assert list(found("claude-code", around)) == ["mine", "here"]


@requirement("MGR-19", "CONF-14")
def test_secrets_become_references_and_are_never_in_the_spec(around: Surroundings) -> None:
    entry = {**COMMAND, "env": {"API_KEY": "sk-abcdefghijkl", "LEVEL": "debug", "OTHER": "${OTHER}"}}
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": {"x": entry}})
    one = found("cursor", around)["x"]
    assert one.spec is not None
    assert one.spec.env == {"API_KEY": "secret://env/API_KEY", "LEVEL": "debug", "OTHER": "secret://env/OTHER"}
    assert one.secrets == {"secret://env/API_KEY": "sk-abcdefghijkl"}
    assert any(note.startswith("export API_KEY=") for note in one.notes)
    assert not any("sk-abc" in note for note in one.notes)


@requirement("MGR-19", "CONF-14")
def test_inputs_of_an_editor_become_references(around: Surroundings) -> None:
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
def test_codex_names_variables(around: Surroundings) -> None:
    write(
        around.user / ".codex" / "config.toml",
        'model = "x"\n[mcp_servers.far]\nurl = "https://far.example/mcp"\nbearer_token_env_var = "FAR"\n'
        'tool_timeout_sec = 2.5\nhttp_headers = { "X-A" = "b" }\nenv_http_headers = { "X-B" = "BEE" }\n',
    )
    spec = found("codex", around)["far"].spec
    assert spec is not None
    assert spec.headers == {"X-A": "b", "X-B": "secret://env/BEE", "Authorization": "Bearer ${secret://env/FAR}"}
    assert spec.timeout_ms == 2500


@requirement("MGR-19", "CONF-17")
def test_programs_are_resolved_and_missing_ones_refused(around: Surroundings) -> None:
    servers = {"a": {"command": "python3"}, "b": {"command": "no-such-program"}, "c": {"type": "claudeai-proxy"}}
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": servers})
    each = found("cursor", around)
    assert each["a"].spec is not None
    assert each["a"].spec.command == shutil.which("python3")
    assert (each["b"].spec, each["b"].refused) == (None, "no-such-program is not on the PATH; install it first")
    assert "claudeai-proxy" in each["c"].refused


@requirement("MGR-19")
def test_we_do_not_import_ourselves(around: Surroundings) -> None:
    servers = {
        "weft": {"command": "weft", "args": ["mcp-server"]},
        "same": {"command": PYTHON, "args": ["-m", "clawft"]},
    }
    write(around.user / ".cursor" / "mcp.json", {"mcpServers": servers})
    assert all(each.refused == "this is weft itself" for each in find(PROGRAMS["cursor"], around))


@requirement("MGR-19", "CONF-12")
def test_a_broken_file_is_one_refusal(around: Surroundings) -> None:
    path = write(around.user / ".cursor" / "mcp.json", "{")
    (one,) = find(PROGRAMS["cursor"], around)
    assert one.refused.startswith(f"{path}:1: no valid JSON")


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
