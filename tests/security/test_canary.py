"""A canary in every place a secret can be put: none of them is ever said, logged, recorded or kept elsewhere."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.requirements import requirement

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TINY = Path(__file__).parents[1] / "servers" / "tiny.py"
TELLTALE = "import os, sys; print(dict(os.environ), sys.argv, file=sys.stderr); sys.exit(3)"
"""A server that shouts everything it was given, and dies."""
SECONDS = 90.0


class Echo(BaseHTTPRequestHandler):
    """Refuses, and repeats in its refusal whatever it was sent."""

    def do_POST(self) -> None:
        body = f"500 {self.path} {dict(self.headers)}".encode()
        self.send_response(500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def parrot() -> Generator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join(10)


@dataclass
class Cage:
    """A home and a workspace full of canaries, and everything that was said so far."""

    home: Path
    workspace: Path
    port: int
    canaries: dict[str, str] = field(default_factory=dict[str, str])
    said: list[str] = field(default_factory=list[str])
    written: set[Path] = field(default_factory=set[Path])

    def canary(self, place: str) -> str:
        return self.canaries.setdefault(place, f"canary{secrets.token_hex(5)}")

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        self.written.add(path)
        return path

    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
        return {**kept, "CLAWFT_HOME": str(self.home), "FROM_ENV": self.canary("variable"), "PART": self.canary("part")}

    def run(self, *words: str, stdin: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "clawft", *words],
            cwd=self.workspace,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.said += [f"$ {words[0]} {words[1] if len(words) > 1 else ''}", done.stdout, done.stderr]
        return done.stdout + done.stderr

    def escaped(self) -> dict[str, list[str]]:
        """Canary → where it was seen outside of the files it was put into."""
        kept = [path for path in self.home.rglob("*") if path.is_file() and path not in self.written]
        texts = {str(path): path.read_text(errors="replace") for path in kept} | {"said": "\n".join(self.said)}
        return {
            place: seen
            for place, value in self.canaries.items()
            if (seen := [where for where, text in texts.items() if value in text])
        }


@pytest.fixture
def cage(home: Path, workspace: Path, tmp_path: Path, parrot: int) -> Cage:
    cage = Cage(home, workspace, parrot)
    kept = cage.write(tmp_path / "kept", cage.canary("file") + "\n")
    printer = cage.write(tmp_path / "printer.py", f"print({cage.canary('command')!r})\n")
    env = {
        "IN_CLEAR_TOKEN": cage.canary("env in clear"),
        "A": "secret://env/FROM_ENV",
        "B": f"secret://file{kept}",
        "C": f"secret://command/{sys.executable} {printer}",
        "D": "x ${secret://env/PART} y",
    }
    args = ["--token", cage.canary("argument"), f"--api-key={cage.canary('argument with =')}"]
    table = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items())

    def server(name: str, *lines: str) -> None:
        cage.write(home / "mcp_servers" / f"{name}.toml", "\n".join(lines) + "\n")

    server(
        "telltale",
        f"command = {json.dumps(sys.executable)}",
        f"args = {json.dumps(['-c', TELLTALE, *args])}",
        f"env = {{ {table} }}",
    )
    server(
        "good", f"command = {json.dumps(sys.executable)}", f"args = {json.dumps([str(TINY)])}", f"env = {{ {table} }}"
    )
    header = f'Authorization = "Bearer {cage.canary("header in clear")}", X-Key = "Key ${{secret://env/PART}}"'
    server(
        "parrot",
        f'url = "http://127.0.0.1:{parrot}/mcp?key={cage.canary("query")}&b=${{secret://env/PART}}"',
        f"headers = {{ {header} }}",
    )
    server("user", f'url = "http://ada:{cage.canary("password of a url")}@127.0.0.1:{parrot}/mcp"')
    server("far", f'url = "http://127.0.0.1:1/mcp?key={cage.canary("query of one that is down")}"')
    theirs = {"command": sys.executable, "args": ["-c", TELLTALE, "--password", cage.canary("workspace argument")]}
    entry = {**theirs, "env": {"API_KEY": cage.canary("workspace env")}}
    cage.write(workspace / ".mcp.json", json.dumps({"mcpServers": {"theirs": entry}}))
    cage.write(home / "config.toml", "[audit]\nvalues = true\n")
    return cage


COMMANDS: list[tuple[str, ...]] = [
    ("servers", "list"),
    ("servers", "list", "--json"),
    ("servers", "status"),
    ("servers", "status", "--json"),
    ("servers", "status", "telltale"),
    ("servers", "status", "parrot", "--mcp-debug"),
    ("servers", "test", "telltale"),
    ("servers", "test", "parrot"),
    ("servers", "test", "far"),
    ("servers", "test", "user"),
    ("servers", "import", "--from", "workspace", "--dry-run"),
    ("config", "show", "--origin"),
    ("config", "show", "--json"),
    ("config", "check"),
    ("doctor",),
    ("tools", "list", "--json", "--mcp-debug"),
    ("tools", "call", "parrot__x", "a=1"),
    ("approvals", "list", "--json"),
    ("approvals", "grant", "theirs"),
    ("approvals", "grant", "good", "echo", "env"),
    ("servers", "status", "theirs", "--json"),
    ("approvals", "diff", "--json"),
    ("approvals", "export", "--launches"),
    ("audit", "tail", "--json"),
]


@requirement("CONF-14", "AGENT-14")
def test_no_canary_ever_gets_out(cage: Cage) -> None:
    for words in COMMANDS:
        cage.run(*words)
    password = cage.canary("tool argument")
    asked = json.dumps({"text": "hello", "password": password, "deep": [{"api_key": password}]})
    assert "hello" in cage.run("tools", "call", "good__echo", "--args", asked)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "good__echo", "arguments": {"a": 1}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
    ]
    cage.run("mcp-server", "--mcp-debug", stdin="".join(json.dumps(each) + "\n" for each in messages))
    cage.run("audit", "tail", "--json")
    assert password not in "".join(path.read_text() for path in (cage.home / "audit").iterdir())
    assert cage.escaped() == {}


@requirement("CONF-14")
def test_the_canaries_were_alive(cage: Cage) -> None:
    """Without the defence they get out: the child really has each of them, and only our own words leave them out."""
    cage.run("approvals", "grant", "good", "env")
    for name, place in (("A", "variable"), ("B", "file"), ("C", "command"), ("IN_CLEAR_TOKEN", "env in clear")):
        assert cage.canary(place) in cage.run("tools", "call", "good__env", f"name={name}")
    assert f"x {cage.canary('part')} y" in cage.run("tools", "call", "good__env", "name=D")
    shouted = cage.run("servers", "status", "telltale")
    assert "exited with status 3" in shouted
    assert "'A': '…'" in shouted
    assert "status 500" in cage.run("servers", "test", "parrot")
    assert cage.escaped().keys() == {"variable", "file", "command", "env in clear", "part"}


@requirement("CONF-14")
def test_with_redact_they_are_taken_out_of_results_too(cage: Cage) -> None:
    cage.write(cage.home / "config.toml", "[result]\nredact = true\n")
    cage.run("approvals", "grant", "good", "e*")
    for name in "ABCD":
        assert "…" in cage.run("tools", "call", "good__env", f"name={name}")
    note = cage.write(cage.workspace / "note", "AKIAIOSFODNN7EXAMPLE is the key")
    assert "[redacted: AWS key] is the key" in cage.run("tools", "call", "file__read", f"path={note}")
    assert cage.escaped() == {}


@requirement("CONF-14")
def test_no_repr_shows_them() -> None:
    from clawft.config.entry import ServerEntry
    from clawft.link.process import Launch
    from clawft.upstream.spec import UpstreamSpec

    told = [
        ServerEntry(name="x", env={"A": "canary"}, args=("canary",), url="canary"),
        Launch("x", ("canary",), {"A": "canary"}),
        UpstreamSpec("x", env={"A": "canary"}, headers={"A": "canary"}, args=("canary",), url="canary"),
    ]
    assert not any("canary" in f"{each!r} {each}" for each in told)
