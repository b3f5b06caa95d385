"""`weft gateway`, `weft mcp-server` and `weft completion` as processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clawft.app.access import Entrance
from clawft.cli.gateway.connect import connect_lines, from_here
from clawft.cli.gateway.listen_address import cannot_listen
from clawft.cli.main import COMMANDS, verbs_of
from clawft.config.settings import Settings
from clawft.model import Caller
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


Process = subprocess.Popen[str]
TINY = Path(__file__).parents[1] / "servers" / "tiny.py"


@contextmanager
def serving(argv: list[str], environment: dict[str, str], workspace: Path) -> Generator[Process]:
    """The process, ended at the latest when we leave."""
    process = subprocess.Popen(
        argv, cwd=workspace, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


# ── gateway ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-16", "AGENT-14")
@pytest.mark.timeout(60)
def test_the_gateway_says_where_it_is_and_with_which_token(
    weft: list[str], environment: dict[str, str], workspace: Path, home: Path
) -> None:
    with serving([*weft, "gateway", "--port", "0", "--json"], environment, workspace) as process:
        assert process.stdout
        told = json.loads(process.stdout.readline())
        assert told["token"] == (home / "gateway.token").read_text().strip()
        assert (home / "gateway.token").stat().st_mode & 0o777 == 0o600
        assert _post(told["url"], told["token"]) == 200
        assert _post(told["url"], "wrong") == 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def _post(url: str, token: str) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code


_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}


@requirement("SHELL-16", "SHELL-19")
@pytest.mark.timeout(60)
@pytest.mark.skipif(not _has_ipv6(), reason="no IPv6 on this machine")
def test_an_ipv6_address_may_have_the_brackets_it_has_in_a_url(
    weft: list[str], environment: dict[str, str], workspace: Path
) -> None:
    words = [*weft, "gateway", "--host", "[::1]", "--port", "0", "--no-auth", "--json"]
    with serving(words, environment, workspace) as process:
        assert process.stdout
        told = json.loads(process.stdout.readline())
        assert told["url"].startswith("http://[::1]:")
        assert _post(told["url"], "") == 200


@requirement("SHELL-16")
@pytest.mark.parametrize("host", ["", "[]"])
@pytest.mark.parametrize("command", ["gateway", "serve-model --scenario scenario.toml"])
def test_a_variable_that_was_empty_opens_nothing_to_the_network(run: Any, command: str, host: str) -> None:
    done = run(*command.split(), "--port", "0", "--host", host)
    assert (done.code, done.out) == (2, "")
    assert "--host: an address is missing; 127.0.0.1 is this machine alone" in done.err


@requirement("SHELL-19")
@pytest.mark.parametrize(
    ("host", "own"), [("127.0.0.2", "127.0.0.2:1"), ("LOCALHOST", "localhost:1"), ("127.1", "[::1]")]
)
def test_every_spelling_of_loopback_answers_to_this_machine_alone(
    home: Path, workspace: Path, host: str, own: str
) -> None:
    access = Entrance(Settings(home=home, workspace=workspace), Caller(), host, "token").access
    assert access.check_place({b"host": own.encode()}) is None
    refused = access.check_place({b"host": b"rebound.example"})
    assert refused is not None
    assert refused.status == 421
    assert "a proxy in front of it must send a Host that the gateway knows, such as localhost" in refused.message


@requirement("SHELL-16")
@pytest.mark.timeout(60)
def test_the_gateway_prints_lines_to_paste(weft: list[str], environment: dict[str, str], workspace: Path) -> None:
    with serving([*weft, "gateway", "--port", "0", "--no-auth"], environment, workspace) as process:
        assert process.stdout
        said = ""
        while "Ctrl-C" not in said:
            said += process.stdout.readline()
        assert "http://127.0.0.1:" in said
        assert "claude mcp add --transport http weft http://" in said
        assert "code --add-mcp '{" in said
        assert "Bearer" not in said
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


@requirement("SHELL-16")
def test_the_lines_carry_the_token_and_survive_a_shell() -> None:
    lines = connect_lines("http://127.0.0.1:1/mcp", "s3cret")
    argv = subprocess.run(
        ["bash", "-c", f"code() {{ printf '%s' \"$2\"; }}; {lines['VS Code']}"],
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert json.loads(argv.stdout)["headers"] == {"Authorization": "Bearer s3cret"}
    assert lines["Claude Code"].endswith('--header "Authorization: Bearer s3cret"')
    written = json.loads(lines["Cursor, in .cursor/mcp.json"])["mcpServers"]["weft"]
    assert written == {"url": "http://127.0.0.1:1/mcp", "headers": {"Authorization": "Bearer s3cret"}}


@requirement("SHELL-16")
def test_lines_that_go_to_a_log_name_the_file_of_the_token_and_not_the_token(tmp_path: Path) -> None:
    file = tmp_path / "my home" / "gateway.token"
    file.parent.mkdir()
    file.write_text("s3cret\n")
    lines = connect_lines("http://127.0.0.1:1/mcp", "s3cret", file)
    assert "s3cret" not in str(lines)
    ran = f"code() {{ printf '%s' \"$2\"; }}; claude() {{ printf '%s' \"${{@: -1}}\"; }}; {lines['VS Code']}; echo; "
    said = subprocess.run(
        ["bash", "-c", ran + lines["Claude Code"]], capture_output=True, timeout=30, check=True, text=True
    ).stdout.splitlines()
    assert json.loads(said[0])["headers"] == {"Authorization": "Bearer s3cret"}
    assert said[1] == "Authorization: Bearer s3cret"


@requirement("SHELL-16")
@pytest.mark.timeout(60)
def test_the_token_is_not_printed_where_nobody_sits(
    weft: list[str], environment: dict[str, str], workspace: Path, home: Path
) -> None:
    with serving([*weft, "gateway", "--port", "0"], environment, workspace) as process:
        assert process.stdout
        said = ""
        while "Ctrl-C" not in said:
            said += process.stdout.readline()
    assert (home / "gateway.token").read_text().strip() not in said
    assert f"$(cat {home / 'gateway.token'})" in said


@requirement("SHELL-16")
@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("http://0.0.0.0:1/mcp", ("http://127.0.0.1:1/mcp", True)),
        ("http://[::]:1/mcp", ("http://[::1]:1/mcp", True)),
        ("http://127.0.0.1:1/mcp", ("http://127.0.0.1:1/mcp", False)),
        ("http://10.0.0.0:1/mcp", ("http://10.0.0.0:1/mcp", False)),
    ],
)
def test_the_lines_name_an_address_that_a_client_can_use(bound: str, told: tuple[str, bool]) -> None:
    assert from_here(bound) == told


@requirement("SHELL-16", "AGENT-14")
def test_a_port_in_use_says_what_to_do(run: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("gateway", "--port", str(port))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"weft: 127.0.0.1:{port} is in use\nhint: weft gateway --port 0 ")


@requirement("SHELL-16")
@pytest.mark.parametrize(("number", "said"), [(13, "needs more permissions"), (99, "cannot be listened on")])
def test_other_reasons_not_to_listen(number: int, said: str) -> None:
    failure = cannot_listen(OSError(number, os.strerror(number)), "10.0.0.1:80")
    assert said in failure.message
    assert failure.hint


@requirement("SHELL-16", "AGENT-14")
@pytest.mark.parametrize("command", ["gateway", "serve-model --scenario scenario.toml"])
@pytest.mark.parametrize("host", ["127.0..1", "a" * 64 + ".example"])
def test_what_is_no_name_of_a_host_is_no_traceback(run: Any, workspace: Path, command: str, host: str) -> None:
    (workspace / "scenario.toml").write_text('[[turns]]\ntext = "hello"\n')
    done = run(*command.split(), "--port", "0", "--host", host)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"weft: {host}:0 cannot be listened on: this is no name of a host\nhint: --host ")


# ── mcp-server ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("SHELL-15", "AC-9")
def test_stdout_carries_protocol_messages_only_until_stdin_ends(run: Any) -> None:
    asked: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    done = run("mcp-server", "--allow", "file__*", stdin="".join(json.dumps(each) + "\n" for each in asked))
    assert done.code == 0
    answers = {
        message["id"]: message["result"] for message in map(json.loads, done.out.splitlines()) if "id" in message
    }
    assert answers[1]["serverInfo"]["name"] == "clawft"
    assert {tool["name"].partition("__")[0] for tool in answers[2]["tools"]} == {"file"}


@requirement("SHELL-15", "CONF-13")
def test_a_wrong_configuration_leaves_stdout_empty(run: Any, home: Path) -> None:
    (home / "config.toml").write_text("x = 1")
    done = run("mcp-server")
    assert (done.code, done.out) == (2, "")
    assert "config.toml:1: unknown key 'x'" in done.err


# ── completion ───────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("AGENT-14")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_knows_every_command_and_verb(run: Any, shell: str) -> None:
    script = run("completion", shell).out
    words = [*COMMANDS, *(verb for command in COMMANDS for verb in verbs_of(command))]
    assert [word for word in words if word not in script] == []


@requirement("AGENT-14")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("weft to", ["tools"]),
        ("weft tools ", ["list", "search", "show", "call", "--help"]),
        ("weft tools list --to", ["--tokens"]),
        ("weft tools list --names ", ["plain", "mcp", "claude", "bare"]),
        ("weft completion z", ["zsh"]),
        ("weft tools call file__re", ["file__read"]),
        ("weft policy explain memory__s", ["memory__store", "memory__search"]),
    ],
)
def test_bash_completes(completed: Any, line: str, expected: list[str]) -> None:
    assert completed(line) == expected


@pytest.fixture
def completed(run: Any, weft: list[str], environment: dict[str, str], workspace: Path) -> Callable[[str], list[str]]:
    """What the function of the script offers, called as bash calls it."""

    def completed(line: str) -> list[str]:
        script = f"""
weft() {{ {weft[0]} -m clawft "$@"; }}
{run("completion", "bash").out}
COMP_LINE="{line}"
COMP_POINT={len(line)}
_weft
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
        done = subprocess.run(
            ["bash", "--norc", "-c", script],
            env=environment,
            cwd=workspace,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return completed


@requirement("AGENT-14", "MGR-19")
def test_servers_and_what_they_listed_last_are_completed_and_none_is_started(
    completed: Any, run: Any, workspace: Path
) -> None:
    server = workspace / "server.py"
    server.write_text(TINY.read_text())
    assert run("servers", "add", "notes", "--", sys.executable, str(server)).code == 0
    assert run("tools", "list", "notes").code == 0
    server.write_text("import pathlib; pathlib.Path('started').touch()")
    assert completed("weft tools call notes__e") == ["notes__echo", "notes__env"]
    assert completed("weft servers test n") == ["notes"]
    assert completed("weft approvals grant n") == ["notes"]
    assert not (workspace / "started").exists()


@requirement("AGENT-14")
def test_no_name_is_run_by_the_shell_that_completes_it(completed: Any, run: Any, workspace: Path) -> None:
    """bash expands the words it is offered; servers name their tools, and workspaces their servers, as they like."""
    names = ["$(touch${IFS}pwned)", "`touch${IFS}pwned`", "'; touch pwned"]
    also = workspace / "also.json"
    also.write_text(json.dumps([*names, "good"]))
    entry: dict[str, Any] = {"command": sys.executable, "args": [str(TINY), "--also", str(also)]}
    assert run("servers", "add", "notes", "--", entry["command"], *entry["args"]).code == 0
    assert run("tools", "list", "notes").code == 0
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": dict.fromkeys(names, entry)}))
    assert completed("weft tools call notes__g") == ["notes__good"]
    assert "notes" in completed("weft servers test ")
    assert not (workspace / "pwned").exists()


@requirement("AGENT-14")
def test_bash_accepts_the_script(run: Any) -> None:
    script = run("completion", "bash").out
    checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, timeout=30, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
