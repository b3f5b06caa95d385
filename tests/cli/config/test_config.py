"""`weft config`."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from clawft.config.keys import BY_NAME
from tests.requirements import requirement


@pytest.fixture
def file(home: Path) -> Path:
    path = home / "config.toml"
    path.write_text('[tools]\ndeny = ["shell__*"]\n[result]\nlimit = 1000\n')
    return path


@requirement("CONF-22")
def test_show_is_toml_with_every_key(run: Any, file: Path) -> None:
    done = run("config", "show", "--names", "mcp")
    tables = tomllib.loads(done.out)
    assert tables["result"]["limit"] == 1000
    assert tables["tools"]["names"] == "mcp"
    assert all(f"\n{name} = " in f"\n{done.out}" for name in BY_NAME)


@requirement("CONF-22")
def test_show_with_origin_names_file_and_line(run: Any, file: Path) -> None:
    lines = run("config", "show", "--origin", "--deny", "web__*").out.splitlines()
    origins = {line.partition(" = ")[0]: line.rpartition("# ")[2] for line in lines}
    assert origins["result.limit"] == f"{file}:4"
    assert origins["tools.deny"] == f"{file}:2, command line"
    assert origins["audit.enabled"] == "default"


@requirement("CONF-22", "AGENT-14")
def test_show_as_json(run: Any, file: Path, home: Path, workspace: Path) -> None:
    shown = run("config", "show", "--json").json
    assert (shown["home"], shown["workspace"], shown["agent"]) == (str(home), str(workspace.resolve()), "default")
    assert shown["values"].keys() == BY_NAME.keys()
    assert shown["origins"] == {"tools.deny": [f"{file}:2"], "result.limit": [f"{file}:4"]}


@requirement("CONF-22", "CONF-23")
def test_path_names_the_files_in_their_order(run: Any, file: Path, home: Path, workspace: Path, tmp_path: Path) -> None:
    (home / "mcp_servers").mkdir()
    server = home / "mcp_servers" / "x.toml"
    server.write_text('url = "http://127.0.0.1:1/"')
    shown = run("config", "path", "--json", "--agent", "coder").json
    of_workspace = [workspace / ".clawft" / "mcp.toml", workspace / ".mcp.json"]
    order = [server, file, *of_workspace, home / "agents" / "coder" / "config.toml"]
    assert [each["path"] for each in shown["files"]] == list(map(str, order))
    assert [each["exists"] for each in shown["files"]] == [True, True, False, False, False]
    elsewhere = run("config", "path", "--json", CLAWFT_HOME=str(tmp_path / "other")).json
    assert elsewhere["home"] == str(tmp_path / "other")


@requirement("CONF-22", "CONF-13")
def test_check_lists_all_problems_and_fails(run: Any, file: Path) -> None:
    assert (run("config", "check").code, run("config", "check").out) == (0, "the configuration is fine\n")
    file.write_text("[tools]\nalow = []\n[result]\nlimit = 0\n")
    done = run("config", "check")
    assert done.code == 1
    assert f"{file}:2: unknown key 'tools.alow', did you mean 'tools.allow'?" in done.out
    assert f"{file}:4: result.limit must be" in done.out
    as_json = run("config", "check", "--json")
    assert (as_json.code, as_json.json["ok"], len(as_json.json["problems"])) == (1, False, 2)


@requirement("CONF-12")
def test_a_broken_file_is_named_with_its_line(run: Any, file: Path) -> None:
    file.write_text("[tools]\nallow = = 1\n")
    done = run("config", "show")
    assert done.code == 2
    assert done.err.startswith(f"weft: {file}:2: not valid TOML: ")


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def server(home: Path) -> Path:
    path = home / "mcp_servers" / "x.toml"
    path.parent.mkdir()
    path.write_text(
        'url = "http://127.0.0.1:1/"\nheaders = { Authorization = "Bearer s3cret", A = "secret://env/A" }\n'
    )
    return path


@requirement("CONF-22", "CONF-14")
def test_servers_are_shown_with_their_file_and_without_their_secrets(run: Any, server: Path) -> None:
    done = run("config", "show", "--origin")
    shown = tomllib.loads(done.out)["mcp_servers"]["x"]
    assert shown == {
        "url": "http://127.0.0.1:1/",
        "headers": {"Authorization": "…", "A": "secret://env/A"},
        "cwd": shown["cwd"],
        "trust": "untrusted",
    }
    assert f"# {server}:1" in done.out
    assert "s3cret" not in done.out
    (one,) = run("config", "show", "--json").json["servers"]
    assert (one["name"], one["origin"], one["scope"]) == ("x", f"{server}:1", "user")


@requirement("DELEG-11", "CONF-13")
def test_check_warns_of_rules_that_are_skipped(run: Any, home: Path) -> None:
    (home / "config.toml").write_text('[[delegation.rules]]\npattern = "(["\ntarget = "claude"\n')
    checked = run("config", "check")
    assert checked.code == 0
    assert checked.out.startswith("warn  rule 1 ('(['): not a valid pattern: ")
    assert "correct delegation.rules" in checked.out


@requirement("CONF-14", "CONF-22")
def test_check_warns_of_secrets_in_clear_and_fails_for_mistakes(run: Any, server: Path) -> None:
    done = run("config", "check")
    assert done.code == 0
    assert f"{server}:1: x: Authorization seems to contain a secret in plain text" in done.out
    assert "secret://env/X_AUTHORIZATION" in done.out
    server.write_text('url = "http://127.0.0.1:1/"\ntimeout = 3\n')
    done = run("config", "check")
    assert done.code == 1
    assert f"{server}:2: unknown key 'timeout', did you mean 'timeout_ms'?" in done.out


@requirement("CONF-22")
def test_check_and_doctor_see_what_cannot_start(run: Any, home: Path, workspace: Path) -> None:
    folder = home / "mcp_servers"
    folder.mkdir(mode=0o700)
    (folder / "lost.toml").write_text('command = "/bin/sh"\ncwd = "not/there"\n')
    for words in (("config", "check"), ("doctor",)):
        told = run(*words).out
        assert f"lost.toml:1: lost: it is to run in {workspace}/not/there, which is not a folder" in told
        assert "lost: /bin/sh" not in told
    (folder / "gone.toml").write_text('command = "/no/program"\n')
    (folder / "line.toml").write_text('command = "/bin/sh -c"\nargs = ["echo"]\n')
    for words in (("config", "check"), ("doctor",)):
        told = run(*words).out
        assert "gone.toml:1: gone: /no/program is not there" in told
        assert 'write command = "/bin/sh" and args = ["-c", "echo"]' in told
    (folder / "odd.toml").write_text('command = "/bin/sh"\nenv = { K = "secret://env/" }\n')
    for words in (("config", "check"), ("doctor",)):
        told = run(*words)
        assert (told.code, "odd.toml:2: odd: env.K: secret://env/ names no secret" in told.out) == (1, True)
        assert "needs the variable" not in told.out


@requirement("CONF-14", "CONF-22")
def test_doctor_sees_that_the_login_of_a_proxy_is_not_set(run: Any, home: Path) -> None:
    folder = home / "mcp_servers"
    folder.mkdir(mode=0o700)
    proxy = "http://${secret://env/NO_SUCH_LOGIN}@proxy.example:3128"
    (folder / "far.toml").write_text(f'url = "https://x.example/mcp"\nproxy = "{proxy}"\n')
    assert "far needs the variable NO_SUCH_LOGIN" in run("doctor").out


@requirement("CONF-14")
def test_check_and_doctor_see_secrets_in_addresses_and_arguments_too(run: Any, home: Path) -> None:
    folder = home / "mcp_servers"
    folder.mkdir(mode=0o700)
    key = "11112222-3333-4444-5555-666677778888"
    (folder / "far.toml").write_text(f'url = "https://x.example/mcp?exaApiKey={key}"\n')
    (folder / "own.toml").write_text('url = "https://ada:lovelace@x.example/mcp"\n')
    (folder / "near.toml").write_text(f'command = "/bin/sh"\nargs = ["x", "--api-key", "{key}"]\n')
    (folder / "good.toml").write_text('url = "https://x.example/mcp?key=${secret://env/KEY}&page=2"\n')
    for words in (("config", "check"), ("doctor",)):
        told = run(*words)
        assert told.code == 0
        assert "far.toml:1: far: exaApiKey seems to contain a secret in plain text" in told.out
        assert "export FAR_EXAAPIKEY=… and write exaApiKey=${secret://env/FAR_EXAAPIKEY}" in told.out
        assert "own.toml:1: own: url seems to contain a secret" in told.out
        assert "near.toml:1: near: the argument --api-key seems to contain a secret" in told.out
        assert "good: " not in told.out.replace("servers     good: https", "")
        assert key not in told.out + told.err


@requirement("CONF-14")
def test_check_and_doctor_see_passwords_of_addresses_that_a_program_is_given(run: Any, home: Path) -> None:
    folder = home / "mcp_servers"
    folder.mkdir(mode=0o700)
    base = "postgresql://ada:lovelace@localhost/base"
    (folder / "pg.toml").write_text(f'command = "/bin/sh"\nargs = ["x", "{base}"]\nenv = {{ BASE_URL = "{base}" }}\n')
    (folder / "mine.toml").write_text('command = "/bin/sh"\nargs = ["postgresql://ada@localhost/base"]\n')
    for words in (("config", "check"), ("doctor",)):
        told = run(*words)
        assert told.code == 0
        assert "pg.toml:1: pg: the argument postgresql://localhost/base seems to contain a secret" in told.out
        assert "pg.toml:1: pg: BASE_URL seems to contain a secret" in told.out
        assert "mine: the argument" not in told.out
        assert "lovelace" not in told.out + told.err
    assert "lovelace" not in run("config", "show").out


@requirement("CONF-05")
def test_two_files_of_one_server_are_told(run: Any, home: Path) -> None:
    folder = home / "mcp_servers"
    folder.mkdir(mode=0o700)
    (folder / "a.toml").write_text('name = "notes"\nurl = "http://127.0.0.1:9/mcp"\n')
    (folder / "notes.toml").write_text('url = "http://127.0.0.1:9/mcp"\n')
    for words in (("config", "check"), ("doctor",)):
        told = run(*words)
        assert told.code == 0
        assert f"notes.toml:1: {folder / 'a.toml'} describes a server notes too, and is ignored" in told.out
    assert "a.toml describes a server notes too" in run("tools", "list", "--no-builtin").err
    (folder / "a.toml").unlink()
    (home / "config.toml").write_text('[mcp_servers.notes]\nurl = "http://127.0.0.1:9/mcp"\n')
    assert run("config", "check").out == "the configuration is fine\n"


@requirement("CONF-10")
def test_a_variable_among_arguments_is_told(run: Any, home: Path) -> None:
    (home / "mcp_servers").mkdir(mode=0o700)
    (home / "mcp_servers" / "x.toml").write_text('command = "/bin/sh"\nargs = ["--home", "${HOME}/x"]\n')
    for words in (("config", "check"), ("doctor",)):
        told = run(*words)
        assert told.code == 0
        assert "x.toml:1: x: args hold '${HOME}/x', which is not filled in here" in told.out


@requirement("CONF-10", "CONF-06")
def test_what_an_editor_would_fill_in_is_told_of_servers_that_wait_too(run: Any, workspace: Path) -> None:
    """A file of VS Code as it is: comments, trailing commas, and questions that nobody asks here."""
    (workspace / ".mcp.json").write_text(
        """{
  // asked when a server starts
  "inputs": [{"id": "key", "type": "promptString"},],
  "servers": {
    "a": {"command": "/bin/sh", "args": ["${workspaceFolder}/x"], "env": {"KEY": "${input:key}", "H": "${env:HOME}"}},
    "b": {"url": "https://b.example/mcp", "headers": {"Authorization": "Bearer ${input:key}"}},
  },
}"""
    )
    told = run("config", "check")
    assert told.code == 0
    for line in (
        "5: a: args hold '${workspaceFolder}/x', which is not filled in here",
        "5: a: KEY holds '${input:key}', which is not filled in here",
        "6: b: Authorization holds '${input:key}', which is not filled in here",
    ):
        assert line in told.out
    assert "H holds" not in told.out, "that is a variable of ours"


@requirement("CONF-10")
def test_what_lies_where_servers_are_looked_for_and_is_passed_by_is_told(run: Any, home: Path) -> None:
    folder = home / "mcp_servers"
    folder.mkdir(mode=0o700)
    for name in ("claude.json", "old.toml.bak", ".hidden"):
        (folder / name).write_text("{}")
    told = run("config", "check")
    assert told.code == 0
    assert [line for line in told.out.splitlines() if "is not read" in line] == [
        f"warn  {folder}/claude.json is not read"
    ]
    shutil.rmtree(folder)
    folder.write_text("")
    assert f"fail  {folder} is not a folder\n      correct it, or move it away" in run("config", "check").out


@requirement("CONF-12", "AGENT-14")
def test_a_link_to_itself_is_told_wherever_servers_are_named(run: Any, home: Path, workspace: Path) -> None:
    """It is there, so it is not taken for a file that nobody has made."""
    for link in (workspace / ".mcp.json", home / "mcp_servers", home / "mcp_servers" / "notes.toml"):
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(link.name)
        said = f"{link} cannot be read: Too many levels of symbolic links"
        assert f"fail  {said}" in run("config", "check").out
        assert said in run("servers", "list").err
        assert "weft: 1 server is refused: " in run("prompts", "list").err
        link.unlink()
    given = workspace / "given.json"
    given.symlink_to(given.name)
    done = run("servers", "list", "--mcp-config", "given.json")
    assert (done.code, "given.json cannot be read: Too many levels" in done.err) == (2, True)


@requirement("CONF-12")
def test_a_folder_of_servers_that_is_gone_is_told(run: Any, home: Path) -> None:
    (home / "mcp_servers").symlink_to("dotfiles")
    assert f"{home}/mcp_servers leads to a folder that is not there" in run("servers", "list").err


@requirement("AGENT-14")
def test_an_agent_without_settings_is_told_where_others_have_some(run: Any, home: Path) -> None:
    assert run("tools", "list", "shell", "--agent", "reveiwer").err == ""
    file = home / "agents" / "reviewer" / "config.toml"
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text('[tools]\ndeny = ["shell__*"]\n')
    file.chmod(0o600)
    assert "has no settings" not in run("tools", "list", "shell", "--agent", "reviewer").err
    mistyped = run("tools", "list", "shell", "--agent", "reveiwer")
    assert mistyped.code == 0
    assert mistyped.err.splitlines() == [
        "weft: agent 'reveiwer' has no settings, those for all agents apply, did you mean 'reviewer'?"
    ]


@requirement("CONF-22", "QUAL-12")
def test_doctor_sees_a_file_of_servers_that_is_none(run: Any, workspace: Path) -> None:
    """Also where no other file would name any."""
    place = workspace / ".mcp.json"
    for make in (lambda: os.mkfifo(place), place.mkdir, lambda: place.symlink_to("/dev/zero")):
        make()
        for words in (("doctor",), ("config", "check")):
            done = run(*words)
            assert done.code == 1
            assert str(place) in done.out
        place.rmdir() if place.is_dir() else place.unlink()


@requirement("CONF-22", "QUAL-12")
def test_what_a_workspace_wrote_is_told_in_few_words(run: Any, workspace: Path) -> None:
    entry = {"command": "/bin/x", "args": ["${" * 50_000]}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"odd": entry, "n" * 100_000: entry}}))
    for words in (("config", "check"), ("config", "check", "--json"), ("servers", "list")):
        done = run(*words)
        assert "odd" in done.out
        assert len(done.out) + len(done.err) < 10_000, words
