"""One HTTP exchange with a server, with a login where there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from clawft.errors import LinkClosed, LinkRefused
from clawft.wire.headers import as_text
from clawft.wire.secrets import mask_url

if TYPE_CHECKING:  # aiohttp costs more to import than everything else here: only a link that is opened loads it
    from aiohttp import ClientResponse, ClientSession

    from clawft.link.base import Credentials

CHALLENGES = (401, 403)
MAX_CHALLENGES = 6
"""How often one request may be sent before a server that is never content is given up."""


class ClientExchange:
    """One HTTP exchange; what aiohttp raises becomes one of our own errors."""

    def __init__(
        self, client: ClientSession, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> None:
        self._context: AbstractAsyncContextManager[ClientResponse] = client.request(
            method, url, headers=headers, data=body, allow_redirects=False
        )
        self._url = url

    async def __aenter__(self) -> ClientResponse:
        import aiohttp  # loaded already: the client exists

        from clawft.link.http_out.connect_failure import got_no_response  # as aiohttp

        try:
            return await self._context.__aenter__()
        except (aiohttp.ClientError, OSError, ValueError) as failed:
            closed = self._closed("cannot be reached", failed)
            closed.without_response = got_no_response(failed)
            raise closed from None

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        import aiohttp  # loaded already: the client exists

        await self._context.__aexit__(kind, error, None)
        if isinstance(error, aiohttp.ClientError | OSError) and not isinstance(error, TimeoutError):
            raise self._closed("broke off", error) from None

    def _closed(self, what: str, error: BaseException) -> LinkClosed:
        """Errors of the library name the whole address; ours do not."""
        from clawft.link.http_out.connect_failure import (  # as aiohttp
            advice,
            is_garbled,
            is_no_http,
            is_of_proxy,
            reason,
            was_disconnected,
        )

        shown = mask_url(self._url)
        if is_of_proxy(error, self._url):
            return LinkClosed(f"{shown} {what}: its proxy: {reason(error)}", hint=_PROXY_HINT)
        what = (
            "sent an answer that is no HTTP" if is_no_http(error) else "broke off" if was_disconnected(error) else what
        )
        problem = f"{shown} {what}: {reason(error).replace(self._url, shown)}"
        return LinkClosed(problem, hint=advice(error), is_garbled=is_garbled(error))


_PROXY_HINT = "correct `proxy` in the entry of this server, or ask the operator of the proxy"


class LoginExchange(ClientExchange):
    """An exchange with a login: a request that is refused for want of one is sent again with a better one."""

    def __init__(self, make: Callable[[Mapping[str, str]], ClientExchange], url: str, credentials: Credentials) -> None:
        """`make` gives the exchange with these headers added."""
        self._make = make
        self._url = url
        self._credentials = credentials

    async def __aenter__(self) -> ClientResponse:
        for _ in range(MAX_CHALLENGES):
            ready = self._credentials.ready()
            sent = await self._credentials.authorization() if ready is None else ready
            exchange = self._make({"Authorization": sent} if sent else {})
            response = await exchange.__aenter__()
            self._context = exchange
            if response.status not in CHALLENGES or not await self._is_better(response, sent):
                return response
            await exchange.__aexit__(None, None, None)
        raise LinkRefused(f"{mask_url(self._url)} accepts no login", http_status=401)

    async def _is_better(self, response: ClientResponse, sent: str) -> bool:
        try:
            return await self._credentials.challenged(response.status, challenges_in(response), sent)
        except BaseException:
            await self._context.__aexit__(None, None, None)
            raise


Exchanges = Callable[["ClientSession", str, str, Mapping[str, str], bytes | None], ClientExchange]


def exchanges(credentials: Credentials | None) -> Exchanges:
    """How a link makes its exchanges: as they are, or with a login."""
    if credentials is None:
        return ClientExchange

    def make(
        client: ClientSession, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> LoginExchange:
        def once(own: Mapping[str, str]) -> ClientExchange:
            return ClientExchange(client, method, url, {**headers, **own} if own else headers, body)

        return LoginExchange(once, url, credentials)

    return make


def challenges_in(response: ClientResponse) -> str:
    """All of them: a server may have several, each in a line of its own."""
    return as_text(", ".join(response.headers.getall("WWW-Authenticate", ())))
