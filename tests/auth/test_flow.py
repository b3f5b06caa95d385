"""Authorization requests: fresh, used once, short-lived, and answered by whom we asked."""

import base64
import json
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from clawft.auth.flow import AuthorizationResponse, LoginFlow, account_in, begin, check_issuer, finish, read_returned
from clawft.auth.pkce import challenge_of
from clawft.auth.tokens import AuthServer, OAuthClient
from clawft.auth.web import Web
from clawft.errors import LoginFailed
from clawft.store.memory import MemoryStore
from tests.requirements import requirement

FLOW = LoginFlow(
    "generic",
    AuthServer(
        authorization_endpoint="https://login.example/auth?tenant=1", token_endpoint="https://login.example/token"
    ),
    OAuthClient("me"),
    "http://127.0.0.1:7777/callback",
    ("a", "b"),
    resource="https://api.example",
)


def no_web(near: str) -> Web:
    raise AssertionError("nothing may be asked")


@requirement("test_start_auth_code_flow", "F6-A02")
async def test_the_address_carries_everything_but_the_verifier() -> None:
    store = MemoryStore()
    begun = await begin(store, FLOW)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(begun.authorize_url).query).items()}
    kept = msgspec.json.decode((await store.get(f"oauth2_pkce_{begun.state}") or "").encode())
    assert asked == {
        "tenant": "1",
        "response_type": "code",
        "client_id": "me",
        "redirect_uri": "http://127.0.0.1:7777/callback",
        "scope": "a b",
        "state": begun.state,
        "code_challenge": challenge_of(kept["verifier"]),
        "code_challenge_method": "S256",
        "resource": "https://api.example",
    }
    assert begun.pkce_verifier is None
    assert kept["verifier"] not in msgspec.json.encode(begun).decode()
    assert len(kept["verifier"]) >= 43


@requirement("OAUTH-09")
async def test_an_address_cannot_say_for_us_what_we_say() -> None:
    """A server that read the first of two would log the person in for somebody else."""
    theirs = "tenant=1&empty=&client_id=evil&redirect_uri=https://evil.example&state=x&code_challenge_method=plain"
    place = f"https://login.example/auth?{theirs}&scope=all&resource=https://evil.example"
    flow = msgspec.structs.replace(FLOW, server=AuthServer(authorization_endpoint=place))
    begun = await begin(MemoryStore(), flow)
    asked = parse_qs(urlsplit(begun.authorize_url).query, keep_blank_values=True)
    assert {len(values) for values in asked.values()} == {1}
    assert (asked["tenant"], asked["empty"], asked["client_id"], asked["state"]) == (["1"], [""], ["me"], [begun.state])
    assert "evil" not in begun.authorize_url


@requirement("OAUTH-09")
async def test_without_a_place_to_log_in_nothing_is_begun() -> None:
    store = MemoryStore()
    with pytest.raises(LoginFailed, match="names no authorization endpoint"):
        await begin(
            store, msgspec.structs.replace(FLOW, server=AuthServer(token_endpoint="https://login.example/token"))
        )
    assert await store.list_keys() == []


@requirement("OAUTH-09")
def test_s256_as_the_rfc_has_it() -> None:
    assert challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@requirement("test_csrf_state_is_random")
async def test_no_two_flows_share_a_state() -> None:
    store = MemoryStore()
    states = {(await begin(store, FLOW)).state for _ in range(200)}
    assert len(states) == 200
    assert min(map(len, states)) >= 43


@requirement("OAUTH-16", "F6-A07")
@pytest.mark.parametrize("state", ["", "never-issued", "x" * 500, "../../etc"])
async def test_a_state_we_did_not_issue_is_refused(state: str) -> None:
    with pytest.raises(LoginFailed, match="not one of ours"):
        await finish(MemoryStore(), no_web, AuthorizationResponse(state, "code"))


@requirement("OAUTH-16", "OAUTH-17", "F6-A08")
async def test_a_state_is_gone_after_ten_minutes() -> None:
    now = 1000.0
    store = MemoryStore(clock=lambda: now)
    begun = await begin(store, FLOW)
    now += 601
    with pytest.raises(LoginFailed, match="older than ten minutes"):
        await finish(store, no_web, AuthorizationResponse(begun.state, "code"))


@requirement("OAUTH-16", "OAUTH-17")
async def test_a_state_is_used_up_even_by_an_answer_that_is_refused() -> None:
    store = MemoryStore()
    begun = await begin(store, FLOW)
    with pytest.raises(LoginFailed, match="access_denied"):
        await finish(store, no_web, AuthorizationResponse(begun.state, error="access_denied"))
    assert await store.list_keys() == []
    with pytest.raises(LoginFailed, match="used before"):
        await finish(store, no_web, AuthorizationResponse(begun.state, "code"))


@requirement("OAUTH-16")
@pytest.mark.parametrize("iss", ["https://evil.example", "https://login.example/", "HTTPS://login.example", ""])
def test_an_answer_from_elsewhere_is_refused(iss: str) -> None:
    with pytest.raises(LoginFailed, match="comes from"):
        check_issuer(AuthServer(issuer="https://login.example"), iss)


@requirement("OAUTH-16")
def test_an_answer_without_issuer_counts_only_where_none_is_promised() -> None:
    check_issuer(AuthServer(issuer="https://login.example"), None)
    check_issuer(AuthServer(issuer="https://login.example", sends_iss=True), "https://login.example")
    with pytest.raises(LoginFailed, match="does not say"):
        check_issuer(AuthServer(issuer="https://login.example", sends_iss=True), None)


@requirement("OAUTH-16")
async def test_a_mixed_up_answer_never_reaches_the_token_endpoint() -> None:
    store = MemoryStore()
    begun = await begin(store, FLOW)
    with pytest.raises(LoginFailed, match="comes from"):
        await finish(store, no_web, AuthorizationResponse(begun.state, "code", iss="https://evil.example"))


@requirement("OAUTH-15")
def test_a_redirect_is_read() -> None:
    assert read_returned("state=s&code=c%2Fd&iss=https%3A%2F%2Fa") == AuthorizationResponse("s", "c/d", "https://a")
    assert read_returned("error=access_denied&state=s") == AuthorizationResponse("s", error="access_denied")


@requirement("OAUTH-16")
@pytest.mark.parametrize("name", ["state", "code", "iss", "error"])
def test_what_is_said_twice_in_a_redirect_is_not_said(name: str) -> None:
    """Another reader on the way may have taken the other one (RFC 6749, 3.1)."""
    query = f"state=s&code=c&iss=https%3A%2F%2Fa&error=e&{name}=x"
    assert read_returned(query) == AuthorizationResponse("")
    assert read_returned("state=s&code=c&session=1&session=2") == AuthorizationResponse("s", "c")


@requirement("OAUTH-10")
@pytest.mark.parametrize("subject", ["\x1b[31mada", "ada\nweft: all is well", "a" * 5_000])
def test_a_name_nobody_has_is_not_kept_as_that_of_an_account(subject: str) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"sub": subject}).encode()).decode()
    assert account_in({"id_token": f"x.{claims}.x"}) == ""
