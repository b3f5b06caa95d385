"""A login at a service: known, named on the command line, or as it was the last time."""

from __future__ import annotations

import msgspec

from clawft.auth.config import build_config, flow_of
from clawft.auth.discovery import find_server
from clawft.auth.flow import LoginFlow
from clawft.auth.interactive_logins import InteractiveLogins
from clawft.auth.presets import PRESETS
from clawft.auth.token_hosts import place_in
from clawft.auth.tokens import AuthServer, Login
from clawft.auth.vault import Vault
from clawft.cli.auth.browser import nobody_came, show_address
from clawft.cli.auth.server import configured_server
from clawft.cli.parser import Options
from clawft.cli.screen import safe
from clawft.cli.setup import settings
from clawft.config.places import home_folder
from clawft.errors import LoginFailed
from clawft.provider.server.logins import web_for
from clawft.store.files import FileStore, state_folder


async def to_service(told: Options) -> Login:
    vault = Vault(home_folder() / "tokens")
    before = next(iter(vault.read(told.name)), None)
    configured = [told.issuer, told.auth_url, told.token_url]
    if before is not None:
        configured += [before.server.issuer, before.server.token_endpoint, before.server.authorization_endpoint]
    interactive_logins = InteractiveLogins(web_for(settings(told).url_policy, configured))
    flow = await _flow(told, vault, interactive_logins, before)
    if told.client_credentials:
        return await interactive_logins.client_credentials(vault, flow)
    return await (
        _by_code(interactive_logins, vault, flow) if told.device else _by_browser(interactive_logins, vault, flow, told)
    )


async def _flow(told: Options, vault: Vault, interactive_logins: InteractiveLogins, before: Login | None) -> LoginFlow:
    """By what was typed, or else as it was the last time."""
    if before is not None and not (told.client_id or told.issuer or told.token_url):
        return _as_before(told, before)
    if not told.client_id:
        raise _lacking(told)
    return await _as_typed(told, vault, interactive_logins)


def _lacking(told: Options) -> LoginFailed:
    """The missing parts of a login at a service, by how much of it is known."""
    client = f"register one there, and write weft auth login {told.name} {_place(told)}--client-id ID"
    if told.name in PRESETS or _place(told):
        return LoginFailed(
            f"{told.name} accepts logins of registered clients only, and no client id was given", hint=client
        )
    if configured_server(told) is not None:
        return LoginFailed(
            f"{told.name} is a program that weft starts; there is no login for it",
            hint="pass what it needs in env; weft auth login is for servers with a URL, and for services",
        )
    return LoginFailed(
        f"{told.name} is neither a configured server nor a known service",
        hint=f"weft servers add {told.name} URL, or weft auth login {told.name} --issuer URL --client-id ID",
    )


def _place(told: Options) -> str:
    """As it was typed."""
    return f"--issuer {told.issuer} " if told.issuer else "--auth-url … --token-url … " if told.token_url else ""


def _as_before(told: Options, before: Login) -> LoginFlow:
    """A login like the one before; what was typed comes on top."""
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


async def _as_typed(told: Options, vault: Vault, interactive_logins: InteractiveLogins) -> LoginFlow:
    by = "program" if told.client_credentials else "device" if told.device else "browser"
    server = await find_server(interactive_logins.make_web(told.issuer), told.issuer, by) if told.issuer else None
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


async def _by_browser(interactive_logins: InteractiveLogins, vault: Vault, flow: LoginFlow, told: Options) -> Login:
    store = FileStore(state_folder(told.agent, "oauth2"))
    begun, finished = await interactive_logins.begin_in_browser(
        store, vault, lambda uri: msgspec.structs.replace(flow, redirect_uri=uri)
    )
    show_address(begun.authorize_url, told.no_browser)
    try:
        return await finished
    except TimeoutError:
        raise nobody_came() from None
    finally:
        await interactive_logins.receiver.close()


async def _by_code(interactive_logins: InteractiveLogins, vault: Vault, flow: LoginFlow) -> Login:
    code, finished = await interactive_logins.begin_device(vault, flow)
    print(f"open {safe(code.verification_uri_complete or code.verification_uri)}", flush=True)
    print(f"and type {safe(code.user_code)}", flush=True)
    return await finished
