"""Tokens know when they are due, and show themselves to nobody."""

import time

import msgspec
import pytest

from clawft.auth.challenge import MAX_SCOPES
from clawft.auth.config import OAuth2Config, SecretText, build_config, flow_of
from clawft.auth.device import DeviceCode
from clawft.auth.endpoint import MAX_TOKEN_CHARS, read_token
from clawft.auth.presets import PRESETS
from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault
from clawft.errors import InvalidArguments, LoginFailed
from tests.requirements import requirement

CANARY = "canary-5b0c2a"


@requirement("test_token_set_not_expired")
def test_a_token_is_good_until_a_minute_before_its_end() -> None:
    assert not TokenSet("t", expires_at=int(time.time()) + 3600).is_expired()
    assert not TokenSet("t", expires_at=1000).is_expired(now=939.9)


@requirement("test_token_set_expired")
@pytest.mark.parametrize("now", [940, 999, 1000, 2000])
def test_from_a_minute_before_its_end_it_counts_as_expired(now: int) -> None:
    assert TokenSet("t", expires_at=1000).is_expired(now)


@requirement("test_token_set_no_expiry")
def test_without_an_end_it_never_expires() -> None:
    assert not TokenSet("t").is_expired(now=10**12)


@requirement("OAUTH-02")
def test_a_token_set_has_the_promised_members() -> None:
    token = TokenSet("t")
    assert (token.token_type, token.refresh_token, token.expires_at, token.scopes) == ("Bearer", None, None, ())
    assert token.provider_name == ""


@requirement("OAUTH-02")
@pytest.mark.parametrize(("token", "kind"), [("a\r\nX: 1", ""), ("a b", ""), ("ä", ""), ("a", "Bearer\r\nX: 1")])
def test_a_token_that_no_header_can_carry_is_none(token: str, kind: str) -> None:
    with pytest.raises(LoginFailed, match="no header can carry"):
        read_token({"access_token": token, "token_type": kind}, (), "x", 0)


@requirement("OAUTH-02")
@pytest.mark.parametrize("kind", ["mac", "DPoP", "N_A", "Basic"])
def test_a_kind_of_token_that_is_not_understood_is_not_used(kind: str) -> None:
    with pytest.raises(LoginFailed, match=f"for a Bearer header: {kind}"):
        read_token({"access_token": "a", "token_type": kind}, (), "x", 0)
    for known in ("Bearer", "bearer", "BEARER", "", None, 5):
        assert read_token({"access_token": "a", "token_type": known}, (), "x", 0).authorization == "Bearer a"


@requirement("OAUTH-02")
@pytest.mark.parametrize("lifetime", ["²", "9" * 5000, -1, 0, float("nan"), float("inf"), [], "soon"])
def test_a_lifetime_that_is_none_is_left_out(lifetime: object) -> None:
    assert read_token({"access_token": "a", "expires_in": lifetime}, (), "x", 0).expires_at is None


@requirement("OAUTH-11")
def test_a_short_lived_token_is_renewed_halfway_and_not_with_every_call() -> None:
    login = Login(TokenSet("t", refresh_token="r", expires_at=1010), obtained_at=1000)
    assert not login.is_due(1004)
    assert login.is_due(1005)


@requirement("OAUTH-01", "F6-A10")
def test_no_secret_shows_in_a_repr() -> None:
    token = TokenSet(CANARY, refresh_token=CANARY)
    config = OAuth2Config("generic", "id", SecretText(CANARY), "https://a.example", "https://b.example")
    code = DeviceCode(CANARY, "ABCD", "https://c.example", "", 0, 5)
    login = Login(token, AuthServer(), OAuthClient("id"))
    for each in (token, config, code, login, [token], {"login": login}):
        assert CANARY not in repr(each)
        assert CANARY not in str(each)


@requirement("OAUTH-01", "F6-A10")
def test_a_client_secret_cannot_be_encoded() -> None:
    config = OAuth2Config("generic", "id", SecretText(CANARY), "https://a.example", "https://b.example")
    with pytest.raises(TypeError):
        msgspec.json.encode(config)


@requirement("test_preset_urls_google", "F6-A06")
def test_google() -> None:
    server = PRESETS["google"].server
    assert server.authorization_endpoint == "https://accounts.google.com/o/oauth2/v2/auth"
    assert server.token_endpoint == "https://oauth2.googleapis.com/token"


@requirement("test_preset_urls_microsoft", "F6-A06")
def test_microsoft() -> None:
    server = PRESETS["microsoft"].server
    assert server.authorization_endpoint == "https://login.microsoftonline.com/common/oauth2/v2.0/authorize"
    assert server.token_endpoint == "https://login.microsoftonline.com/common/oauth2/v2.0/token"


@requirement("OAUTH-08")
def test_generic_has_no_address_of_its_own() -> None:
    assert PRESETS["generic"].server == AuthServer()


@requirement("test_build_config_from_params_google")
def test_a_preset_needs_no_addresses() -> None:
    config = build_config("google", "id", "secret", ("a", "b"))
    assert (config.provider_name, config.auth_url) == ("google", PRESETS["google"].server.authorization_endpoint)
    assert config.scopes == ("a", "b")
    assert config.client_secret.reveal() == "secret"


@requirement("test_build_config_from_params_generic_missing_url")
@pytest.mark.parametrize("missing", ["auth_url", "token_url"])
def test_a_missing_address_is_named(missing: str) -> None:
    given = {"auth_url": "https://a.example/auth", "token_url": "https://a.example/token", missing: None}
    with pytest.raises(InvalidArguments, match=missing):
        build_config("generic", "id", "", auth_url=given["auth_url"], token_url=given["token_url"])


@requirement("OAUTH-14")
@pytest.mark.parametrize(
    "wrong",
    ["no address", "ftp://a.example", "https://", "http://a.example/token", "https://u:p@a.example", "https://a:99999"],
)
def test_a_malformed_address_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidArguments, match="token_url"):
        build_config("generic", "id", "", auth_url="https://a.example/auth", token_url=wrong)


@requirement("OAUTH-21")
def test_a_token_goes_to_those_who_gave_it_and_to_nobody_an_agent_names(vault: Vault) -> None:
    """Neither the page where people log in nor what the token is for makes a host of its own."""
    config = build_config(
        "generic", "me", "", auth_url="https://evil.example/auth", token_url="https://login.example/token"
    )
    assert flow_of(config, vault, "", resource="https://evil.example/").hosts == ("login.example",)
    server = AuthServer("https://login.example", "https://www.example/auth", "https://api.example/token")
    found = flow_of(config, vault, "", server=server, resource="https://evil.example/").hosts
    assert found == ("login.example", "www.example", "api.example")
    assert flow_of(config, vault, "", resource="http://[", hosts=("mine.example",)).hosts[1:] == ("mine.example",)


@requirement("OAUTH-02")
@pytest.mark.parametrize("name", ["access_token", "refresh_token"])
def test_a_token_without_end_is_none(name: str) -> None:
    """We keep hundreds in mind, each in all its spellings."""
    told = {"access_token": "a", "token_type": "Bearer", name: "t" * (MAX_TOKEN_CHARS + 1)}
    with pytest.raises(LoginFailed):
        read_token(told, (), "x", 0)
    assert read_token({**told, name: "t" * MAX_TOKEN_CHARS}, (), "x", 0)


@requirement("OAUTH-02")
def test_of_what_is_said_to_be_granted_only_scopes_count() -> None:
    said = "read \x1b[31mred \u202edliw write read " + "s " * 10 + " ".join(f"s{number}" for number in range(1_000))
    scopes = read_token({"access_token": "a", "scope": said}, (), "x", 0).scopes
    assert scopes[:3] == ("read", "write", "s")
    assert len(scopes) == MAX_SCOPES
