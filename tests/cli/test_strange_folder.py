"""`weft` started in a folder of somebody else, which has nothing to say about what is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time


@requirement("GIT-12", "POOL-22")
def test_no_program_of_the_folder_is_run_in_place_of_ours(run: Any, workspace: Path) -> None:
    """The attack: a PATH that names a folder of the project, as `npm run` has one."""
    subprocess.run(["git", "init", "--quiet", workspace], check=True)
    place, ran = workspace / "node_modules" / ".bin", workspace / "ran"
    place.mkdir(parents=True)
    for name in ("git", "bwrap", "prlimit", "setpriv", "unshare", "true"):
        (place / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (place / name).chmod(0o755)
    path = f"{place}{os.pathsep}{os.environ['PATH']}"
    assert run("tools", "call", "git__status", "repo_path=.", PATH=path).code == 0
    assert run("tools", "call", "shell__exec", "command=/bin/ls", PATH=path).code == 0
    assert not ran.exists()


@requirement("CONF-16", "GUARD-09")
def test_a_launch_is_shown_with_every_end_of_a_line_in_it(run: Any, workspace: Path) -> None:
    """The attack: what looks like a comment, or like words to print, is a command of its own."""
    launch = {"command": "/bin/sh", "args": ["-c", "echo hi # \nwipe", "// hi\u2028wipe", "a\tb\x0bc"]}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"db": launch}}))
    told = "'echo hi # ⟨U+000A⟩wipe' '// hi⟨U+2028⟩wipe' 'a⟨U+0009⟩b⟨U+000B⟩c'"
    listed = run("servers", "list")
    assert told in listed.out
    assert told in listed.err
    for words in (("servers", "status"), ("servers", "status", "db"), ("doctor",)):
        assert told in run(*words).out
    assert told in run("approvals", "list").err
    granted = run("approvals", "grant", "db").out
    assert r"echo hi # \nwipe" in granted
    assert "// hi⟨U+2028⟩wipe" in granted


@requirement("CONF-16", "GUARD-09")
def test_a_name_that_is_refused_steers_no_terminal(run: Any, workspace: Path) -> None:
    name = "a\x1b[2J\u202eb"
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {name: {"command": "/bin/true"}}}))
    shown = run("servers", "status", name)
    assert shown.out.startswith("a⟨U+001B⟩[2J⟨U+202E⟩b  refused\n")
    assert not {"\x1b", "\u202e"} & set(shown.out + shown.err)


@requirement("CONF-06")
@pytest.mark.parametrize("text", ["a." * 5_000 + "b = 1", "\n[mcp_servers.a]\ntimeout_ms = " + "9" * 5_000])
def test_no_file_of_the_folder_keeps_weft_from_starting(run: Any, workspace: Path, text: str) -> None:
    (workspace / ".clawft").mkdir()
    (workspace / ".clawft" / "mcp.toml").write_text(text)
    checked = run("config", "check")
    assert checked.code == 1
    assert "mcp.toml:" in checked.out
    assert "Traceback" not in checked.err
    assert run("tools", "call", "file__list").code == 0


@requirement("CONF-06")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": "' + '\\"' * 300_000, "not valid JSON"),
        ("{" + "/* " * 300_000, "not valid JSON"),
        (json.dumps({"mcpServers": {f"s{at}": {"command": "/bin/true"} for at in range(18_000)}}), "more than 1000"),
    ],
    ids=["a text without an end", "a comment without an end", "a crowd of servers"],
)
def test_no_json_of_the_folder_keeps_weft_waiting(run: Any, workspace: Path, text: str, said: str) -> None:
    (workspace / ".mcp.json").write_text(text)
    start = time.monotonic()
    checked = run("config", "check")
    assert checked.code == 1
    assert said in checked.out
    assert time.monotonic() - start < 5


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are texts")
@requirement("CONF-12")
@pytest.mark.parametrize(
    "words",
    [("mcp-server",), ("servers", "status"), ("approvals", "list", "--json"), ("config", "path", "--json")],
    ids=" ".join,
)
def test_a_folder_whose_name_is_no_text_is_refused_with_what_to_do(run: Any, workspace: Path, words: Any) -> None:
    odd = os.fsdecode(os.fsencode(workspace) + b"/odd\xff")
    os.mkdir(odd)
    Path(odd, ".mcp.json").write_text('{"mcpServers": {"s": {"command": "/bin/cat"}}}')
    told = run(*words, "--workspace", odd)
    assert (told.code, told.out) == (2, "")
    assert "is not UTF-8" in told.err
    assert "hint: rename it" in told.err
    assert "Traceback" not in told.err


@requirement("CONF-12")
@pytest.mark.parametrize(
    "words", [("mcp-server",), ("approvals", "list"), ("audit", "verify"), ("audit", "tail"), ("doctor",)], ids=" ".join
)
@pytest.mark.parametrize("kind", ["a file", "a link to nowhere"])
def test_a_home_that_is_no_folder_is_told_as_that(run: Any, tmp_path: Path, words: Any, kind: str) -> None:
    place = tmp_path / "not-a-home"
    place.write_text("") if kind == "a file" else place.symlink_to(tmp_path / "nowhere")
    told = run(*words, CLAWFT_HOME=str(place))
    assert (told.code, told.out) == (2, "")
    assert f"{place} is not a folder" in told.err
    assert "CLAWFT_HOME" in told.err


@pytest.mark.skipif(sys.platform == "win32", reason="HOME decides nothing there")
@requirement("CONF-16")
def test_a_relative_home_does_not_make_the_files_of_a_folder_the_users_own(run: Any, workspace: Path) -> None:
    ours = workspace / "h" / ".clawft" / "mcp_servers"
    ours.mkdir(parents=True)
    (ours / "planted.toml").write_text('command = "/bin/cat"\n')
    told = run("servers", "list", CLAWFT_HOME="", HOME="h")
    assert (told.code, told.out) == (2, "")
    assert "HOME is not an absolute path" in told.err


@pytest.mark.skipif(sys.platform == "win32", reason="names of files have no such letters there")
@requirement("CONF-16", "GUARD-09")
@pytest.mark.parametrize("name", ["new\nline", "b\u202eidi", "esc\x1b[31m", "it's a \\ folder"])
def test_the_command_that_approves_a_server_of_an_odd_folder_can_be_pasted(
    run: Any, workspace: Path, name: str
) -> None:
    """Spelled in any other way it would name another folder, which may be there."""
    odd = workspace / name
    odd.mkdir()
    (odd / ".mcp.json").write_text('{"mcpServers": {"s": {"command": "/bin/cat"}}}')
    told = run("servers", "status", "s", "--workspace", str(odd)).out
    (command,) = [line.partition("→ ")[2] for line in told.splitlines() if "→ weft approvals grant" in line]
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True, text=True
    ).stdout
    assert words.split("\0")[:-1] == ["weft", "approvals", "grant", "s", "--workspace", str(odd)]
