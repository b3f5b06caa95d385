"""`weft auth login NAME`: through the browser and back to a listener of ours, or by a code typed elsewhere."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawft.cli.main import begin_loop
from clawft.cli.options import common_options, discovered, settings
from clawft.cli.parser import Options, Parser, WrongUsage
from clawft.cli.screen import one_line, safe, tell
from clawft.config.places import ask_to_reconnect, home_folder
from clawft.errors import LoginFailed, NeedsAuth, quoted

if TYPE_CHECKING:  # help needs none of it
    from clawft.auth.desk import LoginDesk
    from clawft.auth.flow import AuthorizationResponse, LoginFlow
    from clawft.auth.receiver import Receiver
    from clawft.auth.tokens import AuthServer, Login, OAuthClient
    from clawft.auth.vault import Vault
    from clawft.upstream.spec import UpstreamSpec

LOGIN_SECONDS = 600.0
"""How long the person may take."""


def options(parser: Parser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="a configured server, a known service (google …), or a name of yours"
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    parser.add_argument("--device", action="store_true", help="by a code that is typed on another device")
    parser.add_argument("--client-credentials", action="store_true", help="as a program, without a person")
    parser.add_argument("--client-id", metavar="ID", default="", help="of a client that is registered there")
    parser.add_argument("--client-secret", metavar="REF", default="", help="where its secret is: secret://env/NAME …")
    parser.add_argument("--scope", metavar="SCOPE", action="append", default=[], help="a right to ask for; repeatable")
    parser.add_argument("--issuer", metavar="URL", default="", help="the service, which says the rest itself")
    parser.add_argument("--auth-url", metavar="URL", default="", help="where people log in, if there is no issuer")
    parser.add_argument("--token-url", metavar="URL", default="", help="where tokens are given, if there is no issuer")
    parser.add_argument(
        "--host", metavar="HOST", action="append", default=[], help="where the token may go; repeatable"
    )
    parser.add_argument("--resource", metavar="URL", default="", help="what the token is for (RFC 8707)")
    parser.add_argument("--account", metavar="NAME", default="", help="tells several logins at one service apart")
    common_options(parser)


def login(told: Options) -> int:
    if told.client_secret and not told.client_secret.startswith("secret://"):
        raise WrongUsage(
            "--client-secret takes a reference: what stands on a command line can be seen by everyone",
            hint="put it into a variable, and say --client-secret secret://env/NAME",
        )
    from clawft.store.concealed_secrets import conceal  # loaded with the logins

    told.host = read_hosts(told.host, f"weft auth login {told.name} --host")
    server = _server(told)
    made = begin_loop(asyncio.run, _to_server(told, server) if server else _to_service(told))
    if server is not None:
        ask_to_reconnect(home_folder(), server.name)
    print(f"logged in: {told.name}{f' as {one_line(conceal(made.account))}' if made.account else ''}")
    return 0


def read_hosts(texts: Sequence[str], command: str) -> list[str]:
    """Hosts of a command line. Raises WrongUsage for the first that could never be a place for a token."""
    from clawft.auth.token_hosts import read_host  # only where somebody names one

    hosts = {text: read_host(text) for text in texts}
    for text, host in hosts.items():
        if not host:
            raise WrongUsage(f"{text!r} is no host a token could go to", hint=f"{command} {_spelled(text)}")
    return list(hosts.values())


def _spelled(text: str) -> str:
    from clawft.auth.token_hosts import meant_host  # loaded by now

    return quoted(meant_host(text) or ("*.example.com" if "*" in text else "api.example.com"))


def _server(told: Options) -> UpstreamSpec | None:
    """The configured server of this name, if there is one that is reached over the network."""
    found = _configured(told)
    return found if found is not None and found.url else None


def _configured(told: Options) -> UpstreamSpec | None:
    found = discovered(told).found.get(told.name)
    return None if found is None else found.spec


# ── to a server ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _to_server(told: Options, spec: UpstreamSpec) -> Login:
    if spec.exchange is not None:
        raise LoginFailed(
            f"{spec.name} is called in the name of the people on your gateway: nobody logs in to it here",
            hint="weft gateway",
        )
    from clawft.auth.challenge import read_challenge  # only where somebody logs in
    from clawft.auth.receiver import Receiver
    from clawft.auth.register import Identity
    from clawft.provider.server.logins import ServerLogins

    logins = ServerLogins(home_folder(), settings(told).url_policy)
    receiver = Receiver()
    identity = Identity(_client(told, logins.vault), scopes=tuple(told.scope))
    desk = logins.with_browser(spec, identity, LoginScreen(receiver, told.no_browser, spec.url))
    try:
        return await desk.log_in(read_challenge(await _challenge(spec)))
    finally:
        await receiver.close()


def _client(told: Options, vault: Vault) -> OAuthClient | None:
    from clawft.auth.tokens import OAuthClient  # loaded with the logins
    from clawft.auth.vault import kept_secret

    if not told.client_id:
        return None
    secret = kept_secret(vault, told.client_secret)
    return OAuthClient(told.client_id, secret, "client_secret_basic" if secret else "none")


async def _challenge(spec: UpstreamSpec) -> str:
    """What the server says to somebody who is not logged in."""
    from clawft.link.http_out.link import HttpLink  # only where somebody logs in
    from clawft.store.secrets import resolve_all
    from clawft.upstream.session.session import Session

    session = Session(HttpLink(spec.url, resolve_all(spec.headers)), _Deaf())
    try:
        await session.connect()
    except NeedsAuth as wanted:
        return wanted.challenge
    finally:
        await session.close()
    return ""  # it lets anybody in, but may want a login for its tools


class _Deaf:
    """Listens to a session that is opened only to be refused."""

    def noticed(self, notification: object, stream: int | None) -> None:
        pass

    async def asked(self, request: object, stream: int | None) -> dict[str, object]:
        return {}

    def lost(self, error: object) -> None:
        pass


# ── to a service ─────────────────────────────────────────────────────────────────────────────────────────────────────


async def _to_service(told: Options) -> Login:
    from clawft.auth.desk import LoginDesk  # only where somebody logs in
    from clawft.auth.vault import Vault
    from clawft.provider.server.logins import web_for

    vault = Vault(home_folder() / "tokens")
    before = next(iter(vault.read(told.name)), None)
    configured = [told.issuer, told.auth_url, told.token_url]
    if before is not None:
        configured += [before.server.issuer, before.server.token_endpoint, before.server.authorization_endpoint]
    desk = LoginDesk(web_for(settings(told).url_policy, configured))
    flow = await _flow(told, vault, desk, before)
    if told.client_credentials:
        return await desk.client_credentials(vault, flow)
    return await (_by_code(desk, vault, flow) if told.device else _by_browser(desk, vault, flow, told))


async def _flow(told: Options, vault: Vault, desk: LoginDesk, before: Login | None) -> LoginFlow:
    """By what was typed, or else as it was the last time."""
    if before is not None and not (told.client_id or told.issuer or told.token_url):
        return _as_before(told, before)
    if not told.client_id:
        raise _lacking(told)
    return await _as_typed(told, vault, desk)


def _lacking(told: Options) -> LoginFailed:
    """What a login at a service needs, by how much of it is known."""
    from clawft.auth.presets import PRESETS  # loaded with the desk

    client = f"register one there, and write weft auth login {told.name} {_place(told)}--client-id ID"
    if told.name in PRESETS or _place(told):
        return LoginFailed(f"{told.name} gives logins to registered clients, and none was named", hint=client)
    if _configured(told) is not None:
        return LoginFailed(
            f"{told.name} is a program that weft starts, and nobody logs in to it",
            hint="what it has to know it gets by env; weft auth login is for servers with a URL, and for services",
        )
    return LoginFailed(
        f"{told.name} is no configured server, and nothing is known of a service of that name",
        hint=f"weft servers add {told.name} URL, or weft auth login {told.name} --issuer URL --client-id ID",
    )


def _place(told: Options) -> str:
    """As it was typed."""
    return f"--issuer {told.issuer} " if told.issuer else "--auth-url … --token-url … " if told.token_url else ""


def _as_before(told: Options, before: Login) -> LoginFlow:
    """The same once more; what was typed comes on top."""
    from clawft.auth.flow import LoginFlow  # loaded with the desk

    return LoginFlow(
        told.name,
        before.server,
        before.client,
        "",
        tuple(told.scope) or before.asked,
        resource=told.resource or before.resource,
        account=told.account or before.account,
        hosts=tuple(dict.fromkeys((*before.hosts, *told.host))),
        near=before.server.token_endpoint,
    )


async def _as_typed(told: Options, vault: Vault, desk: LoginDesk) -> LoginFlow:
    from clawft.auth.config import build_config, flow_of  # loaded with the desk
    from clawft.auth.discovery import find_server
    from clawft.auth.token_hosts import place_in

    by = "program" if told.client_credentials else "device" if told.device else "browser"
    server = await find_server(desk.make_web(told.issuer), told.issuer, by) if told.issuer else None
    config = build_config(
        told.name,
        told.client_id,
        told.client_secret,
        tuple(told.scope),
        auth_url=told.auth_url or (server.authorization_endpoint if server else "") or _unused(told, server),
        token_url=told.token_url or (server.token_endpoint if server else ""),
    )
    hosts = (*told.host, *filter(None, [place_in(told.resource)]))
    return flow_of(config, vault, "", server=server, resource=told.resource, account=told.account, hosts=hosts)


def _unused(told: Options, server: AuthServer | None) -> str:
    """Where nobody goes to a browser, there need be no place for it."""
    if told.device or told.client_credentials:
        return told.token_url or (server.token_endpoint if server else "")
    return ""


async def _by_browser(desk: LoginDesk, vault: Vault, flow: LoginFlow, told: Options) -> Login:
    import msgspec  # loaded with the flow

    from clawft.store.files import FileStore, state_folder  # only where somebody comes back

    store = FileStore(state_folder(told.agent, "oauth2"))
    begun, finished = await desk.begin_here(store, vault, lambda uri: msgspec.structs.replace(flow, redirect_uri=uri))
    _show(begun.authorize_url, told.no_browser)
    try:
        return await finished
    except TimeoutError:
        raise _nobody_came() from None
    finally:
        await desk.receiver.close()


async def _by_code(desk: LoginDesk, vault: Vault, flow: LoginFlow) -> Login:
    code, finished = await desk.begin_device(vault, flow)
    print(f"open {safe(code.verification_uri_complete or code.verification_uri)}", flush=True)
    print(f"and type {safe(code.user_code)}", flush=True)
    return await finished


# ── the browser ──────────────────────────────────────────────────────────────────────────────────────────────────────


class LoginScreen:
    """A person in front of a screen: shown an address, heard of through the listener. The login is for `server`."""

    def __init__(self, receiver: Receiver, no_browser: bool, server: str) -> None:
        self._receiver = receiver
        self._no_browser = no_browser
        self._server = server

    async def redirect_uri(self) -> str:
        return await self._receiver.open()

    async def visit(self, url: str, state: str) -> AuthorizationResponse:
        from urllib.parse import urlsplit  # loaded with the logins

        from clawft.auth.site import same_site  # likewise

        expected = self._receiver.expect(state)
        if not same_site(url, self._server):
            shown, wanted = (urlsplit(each).hostname or "" for each in (url, self._server))
            tell(f"note: what you allow at {safe(shown)} is for {safe(wanted)}")
        _show(url, self._no_browser)
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                return await expected
        except TimeoutError:
            raise _nobody_came() from None


def _nobody_came() -> LoginFailed:
    return LoginFailed(f"nobody has logged in within {LOGIN_SECONDS:g} s")


def _show(url: str, no_browser: bool) -> None:
    """Always printed: a browser that does not open must not be the end of it."""
    print(f"log in here: {safe(url)}", flush=True)
    if not no_browser:
        tell("opening the browser; if nothing happens, open the address yourself (--no-browser opens nothing)")
        threading.Thread(target=_open, args=(url,), daemon=True).start()


def _open(url: str) -> None:
    """By argv, never by a shell, and only what was judged to be a web address before it came here."""
    import webbrowser  # only where one is opened

    if sys.platform != "linux" or _has_display():
        webbrowser.open(url)


def _has_display() -> bool:
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
