"""A real authorization server (npm oidc-provider) on loopback, and a browser without a window to log in with."""

import functools
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urljoin

import aiohttp

from tests import peers
from tests.servers.lasting import Lasting, Seen

MAX_STEPS = 25
PROGRAM = Path(peers.__file__).parent / "idp.mjs"

CLIENT_SECRET = "canary-client-secret-9f3b"
EXCHANGE_SECRET = "canary-exchange-secret-51cd"
MACHINE_SECRET = "canary-machine-secret-77aa"

_FORM = re.compile(r'<form[^>]*action="([^"]+)"[^>]*>(.*?)</form>', re.DOTALL)
_FIELD = re.compile(r'name="([^"]+)"[^>]*value="([^"]*)"')


class Idp(Seen):
    def __init__(self, issuer: str, server: Lasting) -> None:
        super().__init__(server)
        self.issuer = issuer

    def given(self, grant: str) -> int:
        """How many tokens were given for this kind of grant."""
        return sum(line.split()[:2] == ["GIVEN", grant] for line in self.lines)

    @property
    def refused(self) -> list[str]:
        return [line for line in self.lines if line.startswith("REFUSED") and "pending" not in line]

    @property
    def endpoints(self) -> Mapping[str, str]:
        return {"auth_url": f"{self.issuer}/auth", "token_url": f"{self.issuer}/token"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@functools.cache
def _running(lifetime: int, exchanged: int) -> tuple[str, Lasting]:
    port = free_port()
    words = (peers.node(), PROGRAM, str(port))
    return f"http://127.0.0.1:{port}", Lasting(words, AT_TTL=str(lifetime), EXCHANGED_TTL=str(exchanged))


def idp(lifetime: int = 3600, exchanged: int = 3600) -> Idp:
    """`exchanged`: how many seconds a token lives that was given for another."""
    if not (peers.PACKAGES / "oidc-provider").is_dir():
        peers.missing("no npm package 'oidc-provider' in tests/peers")
    return Idp(*_running(lifetime, exchanged))


async def log_in(url: str, stop: str = "", person: str = "ada") -> str:
    """As a person would: fill in the forms and agree. Gives the address that begins with `stop`, or the last page."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        for _ in range(MAX_STEPS):
            if stop and url.startswith(stop):
                return url
            async with client.get(url, allow_redirects=False) as response:
                target, page, here = response.headers.get("Location"), await response.text(), str(response.url)
            while target is None:
                form = _FORM.search(page)
                if form is None:
                    return page
                fields = {name: value for name, value in _FIELD.findall(form[2]) if name != "abort"}
                fields |= {"login": person, "password": "x"}
                action = urljoin(here, form[1].replace("&amp;", "&"))
                async with client.post(action, data=fields, allow_redirects=False) as response:
                    target, page, here = response.headers.get("Location"), await response.text(), str(response.url)
            url = urljoin(here, target)
    raise AssertionError("too many steps")
