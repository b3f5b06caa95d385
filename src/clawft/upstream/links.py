"""How a server is reached: its spec into links, best first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from clawft.errors import InvalidConfig
from clawft.link.base import Credentials, Link
from clawft.link.process import Launch, Said
from clawft.link.stream import StreamLink
from clawft.store.secrets import resolve, resolve_all
from clawft.upstream.cells import Cells
from clawft.upstream.nesting import nesting_depth
from clawft.upstream.spec import UpstreamSpec
from clawft.upstream.spec_rules import is_proxy
from clawft.wire.secrets import mask_url

if TYPE_CHECKING:  # only servers of a workspace have some
    from clawft.sandbox.pinned_file import PinnedFile

LoginTo = Callable[[UpstreamSpec], Credentials]
"""The login to a server, for servers reached over the network."""


def links_to(
    spec: UpstreamSpec,
    said: Callable[[str], Said] | None = None,
    cells: Cells | None = None,
    login_to: LoginTo | None = None,
    pinned: tuple[PinnedFile, ...] = (),
) -> list[Callable[[], Link]]:
    """One row per transport. Secrets are resolved when the link is made, and live no longer than it.

    `said` gives, for a server's name, who hears what it writes to stderr; without `cells` a child runs free; it was
    approved with what is `pinned`.
    """
    if spec.transport == "stdio":
        return [lambda: _child(spec, said(spec.name) if said else None, cells, pinned)]
    return _over_http(spec, None if login_to is None or has_token(spec) else login_to(spec))


def _over_http(spec: UpstreamSpec, login: Credentials | None) -> list[Callable[[], Link]]:
    from clawft.link.http_out.link import HttpLink  # most servers are children
    from clawft.link.http_out.sse import SseLink

    def link(kind: type[HttpLink | SseLink]) -> Link:
        return kind(_address(spec), _headers(spec), login, name=spec.name, limit=spec.max_message, proxy=_proxy(spec))

    return [lambda: link(HttpLink), lambda: link(SseLink)]


def _headers(spec: UpstreamSpec) -> dict[str, str]:
    """The headers with references resolved. A key of many lines is a secret like any other, but none for a header."""
    headers = resolve_all(spec.headers)
    for name, value in headers.items():
        if len(value.splitlines()) > 1:
            raise InvalidConfig(f"the header {name} has more than one line", hint="correct what it refers to")
    return headers


def _address(spec: UpstreamSpec) -> str:
    """The URL with references resolved. The written part was judged when it was read, the value of a
    variable was not.
    """
    url = resolve(spec.url)
    if not url.lower().startswith(("http://", "https://")):
        shown = mask_url(spec.url)
        raise InvalidConfig(
            f"{shown} does not resolve to an http:// or https:// address", hint="correct the variables it names"
        )
    return url


def _proxy(spec: UpstreamSpec) -> str:
    """The address of the proxy with references resolved. It may hold a login."""
    proxy = resolve(spec.proxy)
    if proxy and not is_proxy(proxy):
        hint = "correct the variables it names: in a login `/` is written %2F, `@` %40, `#` %23"
        raise InvalidConfig("the proxy does not resolve to an http:// address", hint=hint)
    return proxy


def has_token(spec: UpstreamSpec) -> bool:
    """Whoever writes a header of their own wants no login of ours beside it."""
    return any(name.lower() == "authorization" for name in spec.headers)


def _child(spec: UpstreamSpec, said: Said | None, cells: Cells | None, pinned: tuple[PinnedFile, ...]) -> StreamLink:
    confine = partial(cells.cell, spec) if cells is not None else None
    variables = {**resolve_all(spec.env), **nesting_depth(spec)}
    launch = Launch(spec.command, spec.args, variables, spec.cwd, confine, pinned)
    return StreamLink(launch, limit=spec.max_message, said=said, name=spec.name)
