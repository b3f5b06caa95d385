"""Sites whose TLS is not as it should be: each is told apart from the others, with what can be done about it."""

import asyncio
import json
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.security.siege import PATIENCE_S, Siege, honest
from tests.security.test_hostile_servers import is_error, said
from tests.servers.certificates import Authority, shown
from tests.servers.pipe import Json, Pipe, mcp_server
from tests.servers.raw_site import Asked, framed, listening, message, raw_site
from tests.servers.weft import RSS_LIMIT

pytestmark = pytest.mark.slow

FAR_DAYS = 5
HELLO_BEGUN = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"
"""A record of 16 KiB with a greeting that fills it, of which nothing more is here."""
ALERT = b"\x15\x03\x03\x00\x02\x02\x28"


async def good(asked: Asked) -> None:
    await asked.write(framed(message(asked.id, "poked"), "Connection: close"))
    asked.close()


class Rude:
    """Says this instead of a greeting, once or for as long as anybody reads."""

    def __init__(self, words: bytes, *, again: bytes = b"", pause: float = 0.0) -> None:
        self._words, self._again, self._pause = words, again, pause

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(1)
            writer.write(self._words)
            while self._again:
                writer.write(self._again)
                await writer.drain()
                await asyncio.sleep(self._pause)
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


EXPECTED = {
    "expired": ("certificate has expired", "clock of this machine"),
    "early": ("certificate is not yet valid", "clock of this machine"),
    "elsewhere": ("is not valid for '127.0.0.1'", "the name in the certificate"),
    "selfmade": ("self-signed certificate", "SSL_CERT_FILE"),
    "stranger": ("unable to get local issuer certificate", "SSL_CERT_FILE"),
    "weak": ("key too weak", "a longer key"),
    "plain": ("no TLS could be agreed on", "http:// instead of https://"),
    "alert": ("no TLS could be agreed on", "handshake failure"),
    "closing": ("it closed the connection at once", ""),
}


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    return authority


def contexts(trusted: Authority, folder: Path) -> dict[str, ssl.SSLContext]:
    return {
        "fine": trusted.context("fine"),
        "expired": trusted.context("expired", starts=-FAR_DAYS, ends=-1),
        "early": trusted.context("early", starts=1, ends=FAR_DAYS),
        "elsewhere": trusted.context("elsewhere", host="example.com"),
        "selfmade": shown(trusted.signed_by_itself("selfmade")),
        "weak": trusted.weak("weak"),
        "stranger": Authority(folder, "nobody").context("stranger"),
    }


RUDE = {
    "plain": Rude(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "alert": Rude(ALERT),
    "closing": Rude(b""),
    "dripping": Rude(HELLO_BEGUN, again=b"\0", pause=0.1),
}


async def until_told(pipe: Pipe, besieged: Siege) -> dict[str, str]:
    """What is said of each site; the honest server answers meanwhile."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await besieged.honest_answers(1)
            lines = pipe.stderr().splitlines()
            told = {name: next((line for line in lines if f"weft: {name}: " in line), "") for name in EXPECTED}
            if all(told.values()):
                return told


@requirement("LINK-16", "QUAL-03", "QUAL-12")
async def test_what_is_wrong_with_the_tls_of_a_site_is_told(tmp_path: Path, trusted: Authority) -> None:
    async with AsyncExitStack() as stack:
        servers: dict[str, Json] = {"honest": honest()}
        for name, tls in contexts(trusted, tmp_path).items():
            servers[name] = {"url": (await stack.enter_async_context(raw_site(good, tls=tls))).url}
        for name, rude in RUDE.items():
            origin = await stack.enter_async_context(listening(rude))
            servers[name] = {"url": f"{origin.replace('http', 'https')}/mcp"}
        told = json.dumps({"mcpServers": servers})
        async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
            await pipe.open()
            besieged = Siege(pipe)
            await besieged.until_listed("honest__echo")
            await besieged.until_listed("fine__poke")
            for name, line in (await until_told(pipe, besieged)).items():
                for words in EXPECTED[name]:
                    assert words in line
            assert pipe.peak() < RSS_LIMIT
            assert await pipe.end() == 0  # though one has not even greeted us


@requirement("LINK-16", "QUAL-03")
async def test_a_certificate_that_changes_later_ends_what_was_trusted(tmp_path: Path, trusted: Authority) -> None:
    tls = trusted.context("fine")
    async with raw_site(good, tls=tls) as site:
        told = json.dumps({"mcpServers": {"hostile": {"url": site.url}}})
        async with mcp_server(tmp_path, "--mcp-config", told) as pipe:
            await pipe.open()
            await Siege(pipe).until_listed("hostile__poke")
            call: Json = {"name": "hostile__poke", "arguments": {}}
            assert not is_error(await pipe.ask("tools/call", call))
            tls.load_cert_chain(trusted.signed_by_itself("other"))
            refused = await pipe.ask("tools/call", call)
            assert is_error(refused)
            assert "self-signed certificate" in said(refused)
            tls.load_cert_chain(trusted.certificate("again"))
            async with asyncio.timeout(PATIENCE_S):
                while is_error(await pipe.ask("tools/call", call)):
                    pass
