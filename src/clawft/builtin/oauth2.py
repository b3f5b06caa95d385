"""The oauth2 family: logins of the user at other services, begun here and finished in the browser.

No reply holds a token, a client secret or a verifier.
"""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from clawft.auth.config import OAuth2Config, build_config, flow_of
from clawft.auth.discovery import By, check_owner, find_server
from clawft.auth.flow import AuthorizationResponse, AuthorizeResult, LoginFlow, begin
from clawft.auth.interactive_logins import InteractiveLogins
from clawft.auth.presets import ProviderName
from clawft.auth.tokens import AuthServer, Login
from clawft.auth.vault import Vault
from clawft.auth.web import Web
from clawft.builtin.web import judge_by
from clawft.errors import ClawftError, ExecutionFailed, PermissionDenied
from clawft.model import LOCAL
from clawft.policy.url import UrlPolicy
from clawft.provider.context import ToolContext
from clawft.provider.function import tool
from clawft.provider.manifest import Manifest, Permissions
from clawft.store.names import folder_name
from clawft.store.secrets import SCHEME, is_reference, resolve
from clawft.wire.secrets import mask_url

MAX_TEXT = 2_048
MAX_SCOPES = 100

MANIFEST = Manifest(
    id="com.clawft.plugin-oauth2",
    name="OAuth2 Helper",
    permissions=Permissions(filesystem=("~/.clawft/tokens/",), network=("*",)),
)

_CLIENT_SECRET = re.compile(
    r"secret://(env/(\w*SECRET|\w*(CLIENT|OAUTH)\w*)|keyring/oauth2/[\w.@-]+|"
    r"file/[\w./~@-]*(client|oauth)[\w.-]*secret[\w.-]*)",
    re.ASCII | re.IGNORECASE,
)
"""References whose name says that they are the secret of an OAuth client."""
_ENV = f"{SCHEME}env/"

LoginKind = Literal["provider", "server"]
Text = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
Scopes = Annotated[list[Annotated[str, Meta(min_length=1, max_length=256)]], Meta(max_length=MAX_SCOPES)]
Secret = Annotated[
    str,
    Meta(max_length=MAX_TEXT, description="a reference like secret://env/MY_CLIENT_SECRET; empty for a public client"),
]
Url = Annotated[str, Meta(max_length=MAX_TEXT)] | None
ProviderKey = Annotated[str, Meta(min_length=1, max_length=128, description="google, microsoft, github, generic …")]


class TokenSummary(Struct, frozen=True, omit_defaults=True):
    """What an agent may know of a token."""

    provider: str
    token_type: str = "Bearer"  # noqa: S105 - the name of a kind of token
    expires_at: int | None = None
    scopes: tuple[str, ...] = ()


class RenewedLogin(Struct, frozen=True, omit_defaults=True):
    provider: str
    expires_at: int | None = None
    scopes: tuple[str, ...] = ()


class LoginStatus(Struct, frozen=True, omit_defaults=True):
    """One login, for `status`."""

    provider: str
    kind: LoginKind
    state: Literal["good", "expired", "unreadable"]
    renewable: bool
    account: str = ""
    issuer: str = ""
    resource: str = ""
    hosts: tuple[str, ...] = ()
    expires_at: int | None = None
    scopes: tuple[str, ...] = ()


class DeviceLogin(Struct, frozen=True, omit_defaults=True):
    provider: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str = ""
    expires_at: int | None = None


def vault_of(ctx: ToolContext) -> Vault:
    """The caller's logins: those of the local user, or of the person named by a token."""
    own = Vault()
    principal = ctx.caller.principal
    return own if principal == LOCAL else Vault(own.folder / "people" / folder_name(principal))


def logins_with(policy: UrlPolicy) -> InteractiveLogins:
    return InteractiveLogins(lambda near: Web(judge_by(policy, "oauth2"), near))


def tools_with(settings: UrlPolicy | None) -> list[tuple[Callable[..., Any], bool]]:
    interactive_logins = logins_with(settings or UrlPolicy())
    return [(make(interactive_logins), True) for make in (_authorize, _device, _callback, _refresh, _status)]


def _authorize(interactive_logins: InteractiveLogins) -> Callable[..., Any]:
    @tool(alias="oauth2_authorize", title="Begin a login", destructive=False)
    async def authorize(  # noqa: PLR0913, PLR0917 - what a provider has to be told
        client_id: Text,
        client_secret: Secret,
        scopes: Scopes,
        ctx: ToolContext,
        provider: ProviderName = "generic",
        redirect_uri: Annotated[Url, Meta(description="leave it out: the login then finishes by itself")] = None,
        auth_url: Url = None,
        token_url: Url = None,
        issuer: Annotated[Url, Meta(description="finds both addresses by itself")] = None,
        flow: Literal["authorization_code", "client_credentials"] = "authorization_code",
        resource: Url = None,
        account: Annotated[str, Meta(max_length=128, description="tells several logins apart")] = "",
    ) -> object:
        """Begin a login at another service. Show the person `authorize_url`: they log in there, in their browser."""
        server = await _found_at(interactive_logins, issuer, "program" if flow == "client_credentials" else "browser")
        shown = auth_url or (token_url if flow == "client_credentials" else None)  # this flow needs no browser
        described = _DescribedProvider(provider, client_id, client_secret, scopes, shown, token_url, redirect_uri)
        config, vault = _config(described, server), vault_of(ctx)
        found = server or config.server
        if flow == "authorization_code":
            check_owner(found.authorization_endpoint, found)
        begun = flow_of(config, vault, redirect_uri or "", server=found, resource=resource or "", account=account)
        if flow == "client_credentials":
            return _granted(await interactive_logins.client_credentials(vault, begun))
        return await _through_a_browser(interactive_logins, ctx, begun)

    return authorize


async def _found_at(interactive_logins: InteractiveLogins, issuer: str | None, by: By) -> AuthServer | None:
    return await find_server(interactive_logins.make_web(issuer), issuer, by) if issuer else None


async def _through_a_browser(
    interactive_logins: InteractiveLogins, ctx: ToolContext, flow: LoginFlow
) -> AuthorizeResult:
    """Begin a login; without a redirect of the caller's own the person returns to a listener of ours."""
    if flow.redirect_uri:
        return await begin(ctx.store, flow)
    begun, login = await interactive_logins.begin_in_browser(
        ctx.store, vault_of(ctx), lambda ours: msgspec.structs.replace(flow, redirect_uri=ours)
    )
    interactive_logins.finish_in_background(login, flow.name)
    return begun


def _device(interactive_logins: InteractiveLogins) -> Callable[..., Any]:
    @tool(alias="oauth2_device", title="Begin a login on another device", destructive=False)
    async def device(
        client_id: Text,
        scopes: Scopes,
        ctx: ToolContext,
        client_secret: Secret = "",
        provider: ProviderName = "generic",
        device_url: Url = None,
        token_url: Url = None,
        issuer: Annotated[Url, Meta(description="finds the addresses by itself")] = None,
    ) -> DeviceLogin:
        """Begin a login without a browser here: the person types `user_code` at `verification_uri`, anywhere."""
        server = await _found_at(interactive_logins, issuer, "device")
        config = _config(_DescribedProvider(provider, client_id, client_secret, scopes, token_url, token_url), server)
        found = server or config.server
        if device_url:
            found = msgspec.structs.replace(found, device_authorization_endpoint=device_url)
            check_owner(device_url, found)
        vault = vault_of(ctx)
        code, login = await interactive_logins.begin_device(
            vault, flow_of(config, vault, "", server=found), own_page=True
        )
        interactive_logins.finish_in_background(login, provider)
        return DeviceLogin(
            provider, code.user_code, code.verification_uri, code.verification_uri_complete, code.expires_at
        )

    return device


def _callback(interactive_logins: InteractiveLogins) -> Callable[..., Any]:
    @tool(alias="oauth2_callback", title="Finish a login", destructive=False)
    async def callback(
        state: Text,
        code: Text,
        ctx: ToolContext,
        iss: Annotated[Url, Meta(description="the parameter of this name, if the redirect has one")] = None,
    ) -> TokenSummary:
        """Finish a login with what the redirect brought. Not needed where `redirect_uri` was left out."""
        return _granted(
            await interactive_logins.finish(ctx.store, vault_of(ctx), AuthorizationResponse(state, code, iss))
        )

    return callback


def _refresh(interactive_logins: InteractiveLogins) -> Callable[..., Any]:
    @tool(alias="oauth2_refresh", title="Renew a login", destructive=False)
    async def refresh(provider: ProviderKey, ctx: ToolContext) -> RenewedLogin:
        """Renew the stored login of a provider now. `rest__request` does it by itself when it is due."""
        vault = vault_of(ctx)
        logins = await vault.load(provider)
        if not logins:
            raise no_login(provider)
        token = (await interactive_logins.renewal(vault).renew(provider, logins[0])).tokens
        return RenewedLogin(provider, token.expires_at, token.scopes)

    return refresh


def _status(interactive_logins: InteractiveLogins) -> Callable[..., Any]:
    @tool(alias="oauth2_status", title="Show logins", read_only=True, open_world=False)
    async def status(ctx: ToolContext, provider: Annotated[str, Meta(max_length=128)] = "") -> list[LoginStatus]:
        """Which logins there are, for whom, until when; never the tokens themselves."""
        vault = vault_of(ctx)
        found = [each for name in vault.names() for each in await _statuses_of(vault, "provider", name)]
        if ctx.caller.principal == LOCAL:
            servers = vault.servers
            found += [each for name in servers.names() for each in await _statuses_of(servers, "server", name)]
        return [each for each in found if provider in ("", each.provider)]

    return status


async def _statuses_of(vault: Vault, kind: LoginKind, name: str) -> list[LoginStatus]:
    """The status of each login; unreadable ones are listed as such."""
    try:
        return [status_of(name, kind, each) for each in await vault.load(name)]
    except ClawftError:
        return [LoginStatus(name, kind, "unreadable", renewable=False)]


class _DescribedProvider(Struct, frozen=True):
    """A provider as an agent describes it."""

    provider: str
    client_id: str
    client_secret: str
    scopes: Sequence[str]
    auth_url: str | None
    token_url: str | None
    redirect_uri: str | None = None


def _config(described: _DescribedProvider, server: AuthServer | None) -> OAuth2Config:
    """The configuration; what the agent left out is taken from the server's metadata, if there is any."""
    return build_config(
        described.provider,
        described.client_id,
        check_there(check_secret(described.client_secret)),
        tuple(described.scopes),
        redirect_uri=described.redirect_uri,
        auth_url=described.auth_url or (server.authorization_endpoint or server.token_endpoint if server else None),
        token_url=described.token_url or (server.token_endpoint if server else None),
    )


def check_secret(given: str) -> str:
    """The secret. As the agent says where it is sent, it may only name one that is meant for this."""
    if is_reference(given) and not _CLIENT_SECRET.fullmatch(given):
        raise PermissionDenied(
            "oauth2",
            "this secret is not named as one of an OAuth client",
            hint="secret://env/…SECRET, secret://env/OAUTH…, secret://file/…/client_secret… or "
            "secret://keyring/oauth2/…; "
            "any other is for you to name: weft auth login NAME --client-secret REF",
        )
    return given


def check_there(given: str) -> str:
    """Raises InvalidConfig for a missing variable, which would otherwise fail only after the person has logged in."""
    if given.startswith(_ENV):
        resolve(given)
    return given


def no_login(provider: str, account: str = "") -> ExecutionFailed:
    whose = f" as {account!r}" if account else ""
    return ExecutionFailed(
        f"there is no login for {provider}{whose}", hint=f"weft auth login {provider}, or oauth2__authorize"
    )


def status_of(name: str, kind: LoginKind, login: Login) -> LoginStatus:
    return LoginStatus(
        name,
        kind,
        "expired" if login.tokens.is_expired() else "good",
        login.renewable,
        login.account,
        login.server.issuer,
        mask_url(login.resource),
        tuple(map(mask_url, login.hosts)),
        login.tokens.expires_at,
        login.tokens.scopes,
    )


def _granted(login: Login) -> TokenSummary:
    token = login.tokens
    return TokenSummary(token.provider_name, token.token_type, token.expires_at, token.scopes)
