"""The rest family: requests with a stored login, whose token goes to its own hosts only, unseen by the agent."""

import asyncio
import base64
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Meta, Struct

from clawft.auth.interactive_logins import InteractiveLogins
from clawft.auth.token_hosts import may_go, place_in
from clawft.auth.tokens import Login
from clawft.auth.vault import Vault
from clawft.auth.web import is_loopback
from clawft.builtin.oauth2 import logins_with, no_login, vault_of
from clawft.builtin.rest_answer import failure_of, reply_of, without_token
from clawft.builtin.web import judge_by
from clawft.errors import ExecutionFailed, InvalidArguments, LoginFailed, PermissionDenied, RequestTimeout
from clawft.link.http_out.fetch import FetchBounds, FetchedAnswer, FetchRequest, fetch
from clawft.link.share.large_messages import search_message
from clawft.policy.url import UrlPolicy
from clawft.provider.context import ToolContext
from clawft.provider.function import tool
from clawft.provider.manifest import Manifest, Permissions

MAX_URL_CHARS = 8192
MAX_HEADERS = 50
MAX_BODY_BYTES = 10_000_000
MAX_RESPONSE_BYTES = 10_000_000
DEFAULT_RESPONSE_BYTES = 1_000_000
REQUEST_SECONDS = 60.0
"""Time for the whole call, with all retries."""
MAX_TRIES = 3
MAX_PAUSE_S = 30.0
FIRST_PAUSE_S = 0.5

MANIFEST = Manifest(id="com.clawft.plugin-rest", name="REST with logins", permissions=Permissions(network=("*",)))

METHODS = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS".split())
OURS = frozenset(
    "authorization proxy-authorization cookie host content-length transfer-encoding connection te upgrade".split()
)
"""Headers that no caller may set: the first three would be somebody else's login."""
TRY_AGAIN = frozenset({429, 503})
_SAFE_TO_REPEAT = frozenset("GET HEAD PUT DELETE OPTIONS".split())

BodyKind = Literal["json", "form", "text", "base64"]


class RestRequest(Struct, frozen=True):
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    max_bytes: int
    """Size of the answer."""


BODY = Meta(
    description="what to send: any JSON; an object for form, a text for text and base64",
    extra_json_schema={
        "anyOf": [{"type": kind} for kind in ("object", "array", "string", "number", "boolean", "null")]
    },
)
"""All types by name: some clients refuse a schema that names none, or several in one place."""


def tools_with(settings: UrlPolicy | None) -> list[tuple[Callable[..., Any], bool]]:
    policy = settings or UrlPolicy()
    interactive_logins = logins_with(policy)

    @tool(alias="rest_request", title="Call a REST API")
    async def request(  # noqa: PLR0913, PLR0917 - the parts of a request
        provider: Annotated[str, Meta(min_length=1, max_length=128, description="whose login to use")],
        method: Annotated[str, Meta(min_length=1, max_length=16)],
        url: Annotated[str, Meta(min_length=1, max_length=MAX_URL_CHARS)],
        ctx: ToolContext,
        body: Annotated[Any, BODY] = None,
        headers: dict[str, str] | None = None,
        body_type: Annotated[BodyKind, Meta(description="how `body` is sent")] = "json",
        max_bytes: Annotated[int, Meta(ge=1, le=MAX_RESPONSE_BYTES)] = DEFAULT_RESPONSE_BYTES,
        account: Annotated[str, Meta(max_length=128, description="which of several logins")] = "",
    ) -> object:
        """Call a REST API with a stored login. Gives the JSON body, text, or binary data in base64."""
        asked = read_request(method, url, body, headers or {}, body_type, max_bytes)
        call = _RestCall(asked, provider, account, vault_of(ctx), interactive_logins, policy)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                found = await call.answer()
                return await search_message(found.body, "", partial(reply_of, found))
        except TimeoutError:
            message = f"{asked.method} {url}: no answer within {REQUEST_SECONDS:g} s"
            raise ExecutionFailed(message, hint=_after_silence(asked.method)) from None
        except RequestTimeout as late:
            raise ExecutionFailed(f"{asked.method} {late.message}", hint=_after_silence(asked.method)) from None

    return [(request, True)]


def _after_silence(method: str) -> str:
    """A warning that the request may have been carried out although no answer came."""
    return "" if method in _SAFE_TO_REPEAT else "it may have taken effect; check before you send it again"


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────────


def read_request(
    method: str, url: str, body: Any, headers: Mapping[str, str], kind: BodyKind, max_bytes: int
) -> RestRequest:
    verb = method.upper()
    if verb not in METHODS:
        raise InvalidArguments(f"method must be one of {', '.join(sorted(METHODS))}, not {method!r}")
    content, content_type = encode_body(body, kind)
    if len(content) > MAX_BODY_BYTES:
        raise InvalidArguments(f"body is longer than {MAX_BODY_BYTES} bytes")
    own = {"Accept": "application/json, */*;q=0.5", **({"Content-Type": content_type} if content else {})}
    given = check_headers(headers)
    lower = {name.lower() for name in given}
    told = {**{name: value for name, value in own.items() if name.lower() not in lower}, **given}
    return RestRequest(verb, url, told, content, max_bytes)


def encode_body(body: Any, kind: BodyKind) -> tuple[bytes, str]:
    match kind, body:
        case _, None:
            return b"", ""
        case "json", _:
            return msgspec.json.encode(body), "application/json"
        case "form", dict():
            return urlencode(cast("dict[str, Any]", body), doseq=True).encode(), "application/x-www-form-urlencoded"
        case "text", str():
            return body.encode(), "text/plain; charset=utf-8"
        case "base64", str():
            return _unpacked(body), "application/octet-stream"
        case _:
            wanted = "an object" if kind == "form" else "a text"
            raise InvalidArguments(f"body must be {wanted} where body_type is {kind!r}")


def _unpacked(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as wrong:
        raise InvalidArguments(f"body is not base64: {wrong}") from None


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    if len(headers) > MAX_HEADERS:
        raise InvalidArguments(f"more than {MAX_HEADERS} headers")
    for name, value in headers.items():
        if name.lower() in OURS:
            raise InvalidArguments(f"the header {name} cannot be set", hint="the login adds what is needed")
        if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
            raise InvalidArguments(f"{name[:100]!r} is not a header name")
        if not value.isprintable():
            raise InvalidArguments(f"the header {name} has a line end or a control character in it")
    return dict(headers)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class _RestCall(Struct, frozen=True):
    """A request with its login and the URL policy."""

    asked: RestRequest
    provider: str
    account: str
    vault: Vault
    interactive_logins: InteractiveLogins
    policy: UrlPolicy

    async def answer(self) -> FetchedAnswer:
        """A successful answer; ExecutionFailed for others. If the login is refused, it is renewed once."""
        renewal = self.interactive_logins.renewal(self.vault)
        login = choose(await self.vault.load(self.provider), self.provider, self.account, self.asked.url)
        login = await renewal.fresh(self.provider, login)
        found = await self._with_patience(login)
        if found.status == 401 and login.renewable:
            try:
                login = await renewal.renew(self.provider, login)
            except LoginFailed as failed:
                raise failure_of(found, self.asked.method, str(failed)) from None
            found = await self._with_patience(login)
        if not 200 <= found.status < 300:
            raise failure_of(found, self.asked.method)
        return found

    async def _with_patience(self, login: Login) -> FetchedAnswer:
        """Retry after the time the server names, as long as it is too busy."""
        tries = 0
        while True:
            found = await self._fetch(login)
            pause = pause_before_again(found, self.asked.method, tries, time.time())
            tries += 1
            if pause is None or tries == MAX_TRIES:
                return without_token(found, login.tokens.access_token)
            await asyncio.sleep(pause)

    async def _fetch(self, login: Login) -> FetchedAnswer:
        asked = self.asked
        headers = {**asked.headers, "Authorization": login.tokens.authorization}
        return await fetch(
            asked.url,
            judge=judge_by(self.policy, "rest"),
            outgoing=FetchRequest(asked.method, headers, asked.body),
            bounds=FetchBounds(max_bytes=asked.max_bytes),
        )


def choose(logins: list[Login], provider: str, account: str, url: str) -> Login:
    """The newest login that may be used at this address."""
    known = [login for login in logins if account in ("", login.account)]
    if not known:
        raise no_login(provider, account)
    host = place_in(url)
    if urlsplit(url).scheme != "https" and not is_loopback(url):
        raise PermissionDenied("rest__request", f"a token is sent over https only, not to {url!r}")
    found = next((login for login in known if may_go(host, login.hosts)), None)
    if found is None:
        raise PermissionDenied(
            "rest__request",
            f"the login of {provider} is for {', '.join(known[0].hosts) or 'no host'}, not for {host}",
            hint=f"if you want its token to go there: weft auth allow {provider} {host}",
        )
    return found


def pause_before_again(found: FetchedAnswer, method: str, tries: int, now: float) -> float | None:
    """Seconds until the next try; None if there is to be none."""
    if found.status not in TRY_AGAIN:
        return None
    header = next((value for name, value in found.headers if name.lower() == "retry-after"), "")
    wait = _seconds(header, now)
    if wait is None:
        return FIRST_PAUSE_S * 2**tries if method in _SAFE_TO_REPEAT else None
    return wait if wait <= MAX_PAUSE_S else None


def _seconds(told: str, now: float) -> float | None:
    if told.isascii() and told.isdigit():
        return float(told)
    from email.utils import parsedate_to_datetime  # only for servers that send a date

    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - now)
    except (ValueError, OverflowError):
        return None
