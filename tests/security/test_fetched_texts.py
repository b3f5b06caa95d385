"""The largest documents that strangers serve, many at once: few are in memory at a time, and others are answered."""

import asyncio
import gzip
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault
from tests.requirements import requirement
from tests.servers.pipe import Pipe, call, mcp_server
from tests.servers.weft import RSS_LIMIT

pytestmark = pytest.mark.slow

MANY = 16
MOST = 9_990_000
FAIR_S = 3.0
"""For the answer to a small call meanwhile, on a busy machine."""
POLICY = '[security.url_policy]\nallow_hosts = ["127.0.0.1"]\n'

DOCUMENTS = {
    "lines": ("text/plain", b"a line like any other\n" * (MOST // 22)),
    "wide": ("text/html", b"<p>words and words\n" * (MOST // 19) + "\N{GRINNING FACE}".encode()),
    "controls": ("text/plain", b"\x01\x02" * (MOST // 2)),
    "blanks": ("text/html", b" a" * (MOST // 2)),
    "marks": ("text/html", b"<p>" * (MOST // 3)),
    "lists": ("application/json", b"[" + b"[]," * (MOST // 3) + b"[]]"),
}


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    kind, body = DOCUMENTS[(await reader.readuntil(b"\r\n\r\n")).split()[1].decode().strip("/")]
    packed = gzip.compress(body, 1)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    writer.write(head.encode() + packed)
    try:
        await writer.drain()
    except ConnectionError:
        pass  # it has enough
    writer.close()


@asynccontextmanager
async def weft(folder: Path) -> AsyncGenerator[tuple[Pipe, str]]:
    """And the address of a site that serves the documents, at which there is a login for `mine`."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(POLICY)
    token = TokenSet("a-token-of-some-length", expires_at=int(time.time()) + 3600, provider_name="mine")
    Vault(home / "tokens").write("mine", Login(token, AuthServer(), OAuthClient("x"), hosts=("127.0.0.1",)))
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    async with server, mcp_server(folder) as pipe:
        await pipe.open()
        yield pipe, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def asked(id: int, tool: str, url: str) -> bytes:
    more = {"provider": "mine", "method": "GET"} if tool == "rest__request" else {}
    return call(id, tool, {"url": url, "max_bytes": 10_000_000, **more})


@requirement("WEB-02", "QUAL-13")
@pytest.mark.parametrize(
    ("tool", "document"),
    [*(("web__fetch", name) for name in DOCUMENTS), ("rest__request", "lists"), ("rest__request", "controls")],
)
async def test_one_large_document_takes_a_bounded_part_of_the_memory(tmp_path: Path, tool: str, document: str) -> None:
    """A page of control characters took 426 MiB, a list of lists 315."""
    async with weft(tmp_path) as (pipe, site):
        await pipe.send(asked(1, tool, f"{site}/{document}"))
        assert not (await pipe.answer(1))["result"].get("isError")
        assert pipe.peak() < RSS_LIMIT


@requirement("WEB-02", "QUAL-13")
async def test_many_large_documents_at_once_take_turns(tmp_path: Path) -> None:
    """Sixteen took 482 MiB, sixty-four 1.4 GiB."""
    async with weft(tmp_path) as (pipe, site):
        await pipe.send(*(asked(id, "web__fetch", f"{site}/lines") for id in range(MANY)))
        await asyncio.sleep(1)
        began = time.monotonic()
        await pipe.is_well()
        assert time.monotonic() - began < FAIR_S
        early = sum(message.get("id") in range(MANY) for message in pipe.others)
        for _ in range(MANY - early):
            assert "result" in await pipe.read()
        assert pipe.peak() < RSS_LIMIT
