"""What a hostile server says about itself is refused, each time with its reason."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clawft.auth.challenge import Challenge, read_challenge
from clawft.auth.discovery import (
    By,
    check_owner,
    check_resource,
    check_server,
    covers,
    find_resource,
    find_server,
    resource_places,
    server_places,
)
from clawft.auth.presets import PRESETS
from clawft.auth.register import is_document, method_for
from clawft.auth.tokens import AuthServer
from clawft.auth.web import Web, check_place
from clawft.errors import LoginFailed
from clawft.policy.url import UrlPolicy
from clawft.provider.server.logins import web_for
from tests.requirements import requirement
from tests.servers.web import Asked, serve

SERVER = "https://mcp.example/tools/mcp"
ISSUER = "https://login.example/tenant"
GOOD: Mapping[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": "https://login.example/auth",
    "token_endpoint": "https://login.example/token",
    "code_challenge_methods_supported": ["S256"],
}

pytestmark = requirement("LINK-26")


def test_good_metadata_is_taken() -> None:
    assert check_server(GOOD, ISSUER, SERVER).token_endpoint == "https://login.example/token"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"issuer": "https://evil.example"}, "another issuer"),
        ({"issuer": ISSUER + "/"}, "another issuer"),
        ({"issuer": None}, "another issuer"),
        ({"code_challenge_methods_supported": ["plain"]}, "S256"),
        ({"code_challenge_methods_supported": None}, "S256"),
        ({"token_endpoint": "http://login.example/token"}, "plain http"),
        ({"token_endpoint": "https://127.0.0.1/token"}, "on this machine"),
        ({"token_endpoint": "https://[::1]/token"}, "on this machine"),
        ({"token_endpoint": "https://localhost:8443/token"}, "on this machine"),
        ({"authorization_endpoint": "file:///etc/passwd"}, "not an https address"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "not an https address"),
        ({"authorization_endpoint": "https://u:p@login.example/auth"}, "user name"),
        ({"registration_endpoint": "http://login.example/register"}, "plain http"),
        ({"token_endpoint": None}, "no token endpoint"),
        ({"token_endpoint": "https://login.example:99999/"}, "not an address"),
        ({"issuer": "https://["}, "another issuer"),
        ({"authorization_endpoint": "https://login.example/\x1b[31m"}, "characters that no address has"),
        ({"authorization_endpoint": "https://login.example/auth -o `id`"}, "characters that no address has"),
        ({"authorization_endpoint": "https://login.example\\.evil/"}, "characters that no address has"),
        ({"authorization_endpoint": "https://login.example/\u202e"}, "characters that no address has"),
    ],
)
def test_hostile_metadata_is_refused_with_its_reason(changed: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(LoginFailed, match=reason):
        check_server({**GOOD, **changed}, ISSUER, SERVER)


@pytest.mark.parametrize("by", ["device", "program"])
def test_what_is_kept_of_an_issuer_without_pkce_names_no_page_for_a_browser(by: By) -> None:
    assert (
        check_server({**GOOD, "code_challenge_methods_supported": []}, ISSUER, SERVER, by).authorization_endpoint == ""
    )
    assert check_server(GOOD, ISSUER, SERVER, by).authorization_endpoint == GOOD["authorization_endpoint"]


PRESET_SERVERS = [preset.server for name, preset in PRESETS.items() if name != "generic"]
HONEST, EVIL = "https://login.honest.example/auth", "https://evil.example/token"


@pytest.mark.parametrize(
    ("shown", "server"),
    [
        (HONEST, AuthServer(token_endpoint=EVIL)),
        (HONEST, AuthServer(token_endpoint=EVIL, issuer="https://evil.example")),
        (HONEST, AuthServer(token_endpoint="https://login.honest.example.evil.example/token")),
        (HONEST, AuthServer(token_endpoint="https://login.honest.example@evil.example/token")),
        ("https://honest.auth0.com/authorize", AuthServer(token_endpoint="https://evil.auth0.com/oauth/token")),
        ("https://login.honest.co.uk/auth", AuthServer(token_endpoint="https://evil.co.uk/token")),
        ("https://198.51.100.1/auth", AuthServer(token_endpoint="https://203.0.100.1/token")),
        (PRESETS["google"].server.authorization_endpoint, AuthServer(token_endpoint=EVIL)),
        (PRESETS["github"].server.device_authorization_endpoint, AuthServer(token_endpoint=EVIL)),
    ],
)
def test_nobody_is_sent_to_an_honest_page_for_somebody_else(shown: str, server: AuthServer) -> None:
    """What they are given there, and the proof that goes with it, would be sent to an address an agent has named."""
    with pytest.raises(LoginFailed, match="would get the login"):
        check_owner(shown, server)


@pytest.mark.parametrize(
    ("shown", "server"),
    [
        (HONEST, AuthServer(token_endpoint="https://login.honest.example/token")),
        ("https://www.honest.example/auth", AuthServer(token_endpoint="https://api.honest.example/token")),
        ("https://login.honest.co.uk/auth", AuthServer(token_endpoint="https://api.honest.co.uk/token")),
        ("http://127.0.0.1:8080/auth", AuthServer(token_endpoint="http://127.0.0.1:9090/token")),
        (HONEST, AuthServer(token_endpoint="https://honest-tokens.example", issuer="https://honest.example")),
        ("https://microsoft.com/devicelogin", PRESETS["microsoft"].server),
        ("https://www.google.com/device", PRESETS["google"].server),
        ("https://github.com/login/device", PRESETS["github"].server),
        *((known.authorization_endpoint, known) for known in PRESET_SERVERS),
        *((known.device_authorization_endpoint, known) for known in PRESET_SERVERS),
    ],
)
def test_places_of_one_owner_belong_together(shown: str, server: AuthServer) -> None:
    check_owner(shown, server)


@pytest.mark.parametrize(
    "place",
    [
        "https://169.254.169.254/latest",
        "https://10.0.0.1/",
        "https://192.168.1.1/",
        "https://[fe80::1]/",
        "https://metadata.google.internal/",
    ],
)
async def test_places_inside_are_not_asked_for_a_server_outside(place: str) -> None:
    web = web_for(UrlPolicy(), [SERVER])(SERVER)
    with pytest.raises(LoginFailed, match=r"private|link-local|metadata|cannot be resolved"):
        await find_server(web, place)


async def test_plain_http_and_loopback_are_not_asked_for_a_server_outside() -> None:
    web = web_for(UrlPolicy(allow_hosts=("*",)), [SERVER])(SERVER)
    for place, reason in (("http://login.example", "plain http"), ("http://127.0.0.1:9", "on this machine")):
        with pytest.raises(LoginFailed, match=reason):
            await find_server(web, place)


async def test_a_server_on_this_machine_may_name_another_on_it_and_nothing_else() -> None:
    check_place("http://127.0.0.1:9400", near="http://127.0.0.1:9401/mcp")
    with pytest.raises(LoginFailed, match="plain http"):
        check_place("http://login.example", near="http://127.0.0.1:9401/mcp")


@pytest.mark.parametrize(
    "resource",
    ["https://evil.example/tools/mcp", "http://mcp.example/tools/mcp", "https://mcp.example/too", None, 5, ""],
)
def test_metadata_of_another_resource_is_refused(resource: object) -> None:
    with pytest.raises(LoginFailed, match="another resource"):
        check_resource({"resource": resource, "authorization_servers": [ISSUER]}, SERVER)


def test_a_resource_may_stand_for_what_lies_below_it() -> None:
    assert covers("https://mcp.example", SERVER)
    assert covers("https://mcp.example/tools/", SERVER)
    assert covers("HTTPS://MCP.example/tools/mcp", SERVER)
    assert not covers("https://mcp.example/tools/mcp/x", SERVER)
    assert not covers("https://mcp.example:444", SERVER)


def test_a_bare_host_is_the_same_issuer_with_and_without_its_slash() -> None:
    """The official SDK writes the slash into every resource's metadata, and hardly any issuer has it."""
    told = {**GOOD, "issuer": "https://login.example"}
    assert check_server(told, "https://login.example/", SERVER).issuer == "https://login.example"


def test_places_are_tried_in_the_order_of_the_standard() -> None:
    assert resource_places(SERVER, Challenge()) == [
        "https://mcp.example/.well-known/oauth-protected-resource/tools/mcp",
        "https://mcp.example/.well-known/oauth-protected-resource",
    ]
    assert resource_places(SERVER, Challenge("https://mcp.example/x")) == ["https://mcp.example/x"]
    assert server_places(ISSUER) == [
        "https://login.example/.well-known/oauth-authorization-server/tenant",
        "https://login.example/.well-known/openid-configuration/tenant",
        "https://login.example/tenant/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize("answer", ["redirect", "huge", "list", "text"])
async def test_a_server_cannot_lead_discovery_astray(answer: str) -> None:
    """Neither by a redirect, nor by a document without end, nor by something that is none."""
    from aiohttp import web as http

    async def respond(asked: Asked) -> http.StreamResponse:
        match answer:
            case "redirect":
                return http.Response(status=302, headers={"Location": "http://127.0.0.1:1/evil"})
            case "huge":
                return http.Response(text='{"resource":"' + "x" * 1_000_000 + '"}', content_type="application/json")
            case "list":
                return http.json_response([1, 2])
            case _:
                return http.Response(text="hello")

    async with serve(respond) as served:
        web = Web(lambda url, addresses: None, near=served.url)
        if answer == "redirect":
            with pytest.raises(LoginFailed, match="redirects"):
                await find_resource(web, served.url, Challenge())
        else:
            found = await find_resource(web, served.url, Challenge())
            assert found.issuer == served.url.removesuffix("/mcp")


HEADERS: list[tuple[str, Callable[[Challenge], bool]]] = [
    (
        'Bearer resource_metadata="https://a/b", scope="x y"',
        lambda c: (c.resource_metadata, c.scopes) == ("https://a/b", ("x", "y")),
    ),
    ("bearer error=insufficient_scope, scope=admin", lambda c: c.wants_scopes and c.scopes == ("admin",)),
    ('Bearer scope="a \x1b[31m \u202e b\\\\c ' + "d" * 300 + '"', lambda c: c.scopes == ("a",)),
    ('Basic realm="x", Bearer scope="a"', lambda c: c.scopes == ("a",)),
    ('Bearer realm="a \\"b\\", scope=no", scope="a"', lambda c: c.scopes == ("a",)),
    ("Basic realm=x", lambda c: c == Challenge()),
    ("", lambda c: c == Challenge()),
    ("Bearer", lambda c: c == Challenge()),
    ("=,=,;;Bearer ,,,", lambda c: c == Challenge()),
    ("Bearer " + "a=b," * 10_000, lambda c: c == Challenge()),
]


@pytest.mark.parametrize(("header", "holds"), HEADERS, ids=range(len(HEADERS)))
def test_challenges_are_read(header: str, holds: Callable[[Challenge], bool]) -> None:
    assert holds(read_challenge(header))


@requirement("QUAL-12")
@pytest.mark.parametrize("rest", ["a" * 8_000, "a" * 4_000 + " " * 4_000, 'a="\\' * 2_000, "a " * 4_000, ",a " * 2_500])
def test_a_challenge_of_one_long_word_is_read_at_once(rest: str) -> None:
    """Everybody waits meanwhile, and any server can answer so to each request."""
    began = time.process_time()
    assert read_challenge(f"Bearer scope=a {rest}").scopes == ("a",)
    assert time.process_time() - began < 0.1


def test_which_client_we_are() -> None:
    assert is_document("https://a.example/client.json")
    assert not is_document("https://a.example/")
    assert not is_document("http://a.example/client.json")
    assert method_for(()) == "client_secret_basic"
    assert method_for(("client_secret_post", "none")) == "none"
    assert method_for(("private_key_jwt", "client_secret_post")) == "client_secret_post"
