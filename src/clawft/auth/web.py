"""How authorization servers are asked: over https, without redirects, at judged addresses, within bounds.

What the user configured is the user's consent; what a server's metadata names is not, and is judged: on this machine,
too, a server may send us only to itself and to where the user allowed. Plain http and loopback count only for a server
that is itself on this machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from clawft.errors import ClawftError, LoginFailed
from clawft.link.http_out.fetch import FetchBounds, FetchedAnswer, FetchRequest, Judge, fetch
from clawft.store.concealed_secrets import conceal

MAX_DOCUMENT = 256 * 1024
ASK_SECONDS = 20.0
EXCERPT = 200
REASON_CHARS = 300

_ODD = re.compile(r"[^\w!#$%&'()*+,./:;=?@\[\]~-]")
"""Blanks, controls, quotes, backslashes: what a terminal, a shell or another reader could take for something else."""
_object = msgspec.json.Decoder(dict[str, Any])
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


class NotReached(LoginFailed):
    """An authorization server that did not answer, or not now. Another login would not help."""


class WebAnswer(Struct, frozen=True):
    status: int
    told: Mapping[str, Any]

    def text(self, name: str) -> str:
        value = self.told.get(name)
        return value if isinstance(value, str) else ""

    @property
    def reason(self) -> str:
        """Why it was a no: in its own words, or by its status."""
        said = self.text("error_description") or self.text("error") or f"status {self.status}"
        return brief(said, REASON_CHARS)


class Web:
    """`near` is the address that was configured: how far what is found from there may be trusted.

    `seconds`: how long an answer may take of a server that was reached.
    """

    def __init__(self, judge: Judge, near: str, seconds: float = ASK_SECONDS) -> None:
        self.near = near
        self._judge = judge
        self._bounds = FetchBounds(MAX_DOCUMENT, seconds, redirects=0, connect_s=ASK_SECONDS)

    def check_shown(self, url: str) -> None:
        """An address a person is sent to: judged as it is written, for it is their browser that looks up the name."""
        check_place(url, self.near)
        self._judge(url, ())

    async def document(self, url: str) -> Mapping[str, Any] | None:
        """A JSON object, or None if there is none at this place. Raises LoginFailed if the place itself is refused."""
        check_place(url, self.near)
        found = await self._ask(url, FetchRequest(headers={"Accept": "application/json"}))
        return _read(found) if found.status == 200 else None

    async def post_form(
        self, url: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> WebAnswer:
        check_place(url, self.near)
        body = urlencode(fields).encode()
        return await self._answer(url, FetchRequest("POST", {**_FORM, **(headers or {})}, body))

    async def post_json(self, url: str, fields: Mapping[str, Any]) -> WebAnswer:
        check_place(url, self.near)
        return await self._answer(url, FetchRequest("POST", _JSON, msgspec.json.encode(fields)))

    async def _answer(self, url: str, outgoing: FetchRequest) -> WebAnswer:
        found = await self._ask(url, outgoing)
        if found.truncated:
            raise LoginFailed(f"{place_of(url)} answered with more than {MAX_DOCUMENT} bytes")
        return WebAnswer(found.status, _read(found) or {})

    async def _ask(self, url: str, outgoing: FetchRequest) -> FetchedAnswer:
        try:
            return await fetch(url, judge=self._judge, outgoing=outgoing, bounds=self._bounds)
        except LoginFailed:
            raise
        except ClawftError as failed:
            raise NotReached(f"{place_of(url)}: {failed.message}", hint=failed.hint) from None


def _read(found: FetchedAnswer) -> Mapping[str, Any] | None:
    try:
        return _object.decode(found.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def brief(said: str, most: int) -> str:
    """In one line, as what a stranger says must not pass for lines of ours; and without secrets that it was sent."""
    return " ".join(conceal(said).split())[:most]


def place_of(url: str) -> str:
    """Scheme, host and path: a query may hold what is nobody's business."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def check_place(url: str, near: str) -> None:
    """Raises LoginFailed, with the reason, if this place may not be asked at all."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise LoginFailed(f"{url[:EXCERPT]!r} is not an address") from None
    if parts.scheme not in ("https", "http") or not host:
        raise LoginFailed(f"{url[:EXCERPT]!r} is not an https address")
    if _ODD.search(url):
        raise LoginFailed(f"{url[:EXCERPT]!r} has characters that no address has")
    if parts.username is not None or parts.fragment:
        raise LoginFailed(f"{place_of(url)}: an address of an authorization server has no user name and no fragment")
    if is_loopback(url) and not is_loopback(near):
        raise LoginFailed(f"{place_of(url)} is on this machine, but {place_of(near)} is not")
    if parts.scheme == "http" and not is_loopback(url):
        raise LoginFailed(f"{place_of(url)}: plain http would show the token to everyone on the way", hint="use https")


def trusting(origins: Sequence[str], otherwise: Judge) -> Judge:
    """Judges addresses. An address that the user wrote down has the user's consent, wherever it lies; one it redirects
    to has not.
    """
    homes = {_home(each) for each in origins if each}

    def judge(url: str, addresses: Sequence[str]) -> None:
        if _home(url) not in homes:
            otherwise(url, addresses)

    return judge


def _home(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port, however they are spelled; what is no address is its own, and nobody's."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", url, None


_PORTS = {"https": 443, "http": 80}


MakeWeb = Callable[[str], Web]
"""For the address of a server that was configured: how to ask whatever is found from there."""
