"""Servers that want a login and lie about where: `weft auth login` says what is wrong, and does no more."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.pipe import Json
from tests.servers.raw_site import Asked, chunk, framed, read_asked
from tests.servers.weft import environment

pytestmark = pytest.mark.slow

PATIENCE_S = 40.0
EVIL = "\x1b[31m\x1b]0;mine\x07\u202e"
FORGED = "\nlogged in: rogue"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

Answers = Callable[[str], dict[str, bytes]]
"""From the address of the site: what it says in each place, where that is not what it should say."""


def answer(document: Json, status: str = "200 OK") -> bytes:
    return framed(json.dumps(document).encode(), status=status)


def resource(site: str, **more: object) -> bytes:
    return answer({"resource": f"{site}/mcp", "authorization_servers": [site], **more})


def issuer(site: str, **more: object) -> bytes:
    ends = {"authorization_endpoint": f"{site}/auth", "token_endpoint": f"{site}/token"}
    return answer(
        {
            "issuer": site,
            "registration_endpoint": f"{site}/register",
            "code_challenge_methods_supported": ["S256"],
            **ends,
            **more,
        }
    )


def wants_login(place: str) -> bytes:
    return framed(b"", f'WWW-Authenticate: Bearer resource_metadata="{place}"', status="401 x")


REFUSED: dict[str, tuple[Answers, str]] = {
    "an error in colours": (
        lambda site: {"/register": answer({"error": "x", "error_description": EVIL + FORGED}, "400 x")},
        "does not register us",
    ),
    "metadata inside": (lambda site: {"/mcp": wants_login("https://169.254.169.254/latest")}, "169.254.169.254"),
    "metadata inside, in another spelling": (
        lambda site: {"/mcp": wants_login("https://[::ffff:10.0.0.1]/")},
        "private",
    ),
    "this machine as a number": (lambda site: {"/mcp": wants_login("https://2130706433/x")}, "loopback"),
    "metadata that is not an address": (lambda site: {"/mcp": wants_login("http://[/")}, "not an address"),
    "metadata elsewhere": (
        lambda site: {"/resource": framed(b"", "Location: http://169.254.169.254/", status="302 x")},
        "redirects",
    ),
    "metadata in broken chunks": (lambda site: {"/resource": CHUNKED + chunk(b"{") + b"zzz\r\n"}, "chunk size"),
    "metadata that goes on and on": (
        lambda site: {"/resource": b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000},
        "more than 64 answers",
    ),
    "a resource that is not an address": (
        lambda site: {"/resource": resource(site, resource="http://[")},
        "another resource",
    ),
    "another's resource": (
        lambda site: {"/resource": resource(site, resource=f"https://bank.example/{EVIL}")},
        "another",
    ),
    "another issuer": (lambda site: {"/issuer": issuer(site, issuer=f"http://[{EVIL}")}, "another issuer"),
    "a script to visit": (
        lambda site: {"/issuer": issuer(site, authorization_endpoint="javascript:alert(1)")},
        "not an https address",
    ),
    "an address for a shell": (
        lambda site: {"/issuer": issuer(site, authorization_endpoint=f"{site}/a --remote `id`")},
        "characters that no address has",
    ),
    "an address inside to visit": (
        lambda site: {"/issuer": issuer(site, authorization_endpoint="https://10.0.0.5/reboot")},
        "10.0.0.5 is a private address",
    ),
    "nowhere to visit": (
        lambda site: {"/issuer": issuer(site, authorization_endpoint=5), "/register": answer({"client_id": "me"})},
        "names no authorization endpoint",
    ),
    "metadata without a bottom": (
        lambda site: {"/issuer": framed(b'{"a":' * 40_000)},
        "has no metadata of an authorization server",
    ),
    "an id with a header in it": (
        lambda site: {"/register": answer({"client_id": "me\r\nX: y"})},
        "an invalid client id or secret",
    ),
    "an id without end": (
        lambda site: {"/register": answer({"client_id": "me" * 50_000})},
        "an invalid client id or secret",
    ),
    "a secret with controls": (
        lambda site: {"/register": answer({"client_id": "me", "client_secret": f"s{EVIL}"})},
        "an invalid client id or secret",
    ),
    "an address for a terminal": (
        lambda site: {"/issuer": issuer(site, authorization_endpoint=f"{site}/{EVIL}")},
        "characters that no address has",
    ),
}


@asynccontextmanager
async def rogue(answers: Answers) -> AsyncGenerator[str]:
    """A server that needs a login, and its own authorization server."""
    said: dict[str, bytes] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = await read_asked(reader, writer)
                await asked.write(said.get(_place(asked), framed(b"", status="404 x")))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    site = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    said |= {"/mcp": wants_login(f"{site}/resource"), "/resource": resource(site), "/issuer": issuer(site)}
    said |= answers(site)
    async with server:
        yield site


def _place(asked: Asked) -> str:
    path = asked.head.split(b" ")[1].decode()
    return "/issuer" if path.startswith("/.well-known/oauth-authorization-server") else path


@requirement("LINK-26", "OAUTH-21")
@pytest.mark.parametrize("case", REFUSED)
async def test_a_login_that_leads_astray_ends_with_its_reason(tmp_path: Path, case: str) -> None:
    answers, reason = REFUSED[case]
    async with asyncio.timeout(PATIENCE_S), rogue(answers) as site:
        servers = json.dumps({"mcpServers": {"rogue": {"url": f"{site}/mcp"}}})
        command = (sys.executable, "-m", "clawft", "auth", "login", "rogue", "--no-browser", "--mcp-config", servers)
        pipe = asyncio.subprocess.PIPE
        weft = await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, env=environment(tmp_path), stdout=pipe, stderr=asyncio.subprocess.STDOUT
        )
        said = (await weft.communicate())[0].decode()
    assert weft.returncode == 1
    assert reason in said
    assert "Traceback" not in said
    assert FORGED not in said
    assert not any(mark in said for mark in "\x1b\x07\u202e")
