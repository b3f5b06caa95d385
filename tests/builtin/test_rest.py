"""REST with a login: the token goes where it belongs and nowhere else, and nobody sees it."""

import base64
import json
import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web as http

from clawft.auth.tokens import AuthServer, Login, OAuthClient, TokenSet
from clawft.auth.vault import Vault
from clawft.builtin import rest
from clawft.builtin.rest_answer import links_of
from clawft.errors import ClawftError, ExecutionFailed, InvalidArguments, PermissionDenied
from clawft.link.http_out.fetch import FetchBounds, FetchedAnswer
from clawft.policy.url import UrlPolicy
from clawft.provider.function import FunctionProvider
from clawft.store.memory import MemoryStore
from tests.requirements import requirement

CANARY = "canary-access-token-41f7"

pytestmark = requirement("OAUTH-19")

Respond = Callable[[http.Request], http.Response]


class Api:
    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[str, str, Mapping[str, str], bytes]] = []


@asynccontextmanager
async def api(respond: Respond) -> AsyncGenerator[Api]:
    async def take(request: http.Request) -> http.Response:
        seen.asked.append((request.method, request.path_qs, dict(request.headers), await request.read()))
        return respond(request)

    app = http.Application(client_max_size=2**25)
    app.router.add_route("*", "/{tail:.*}", take)
    runner = http.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    try:
        await http.TCPSite(runner, "127.0.0.1", 0).start()
        seen = Api(f"http://127.0.0.1:{runner.addresses[0][1]}")
        yield seen
    finally:
        await runner.cleanup()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAWFT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(rest, "FIRST_PAUSE_S", 0.01)
    return tmp_path / "home"


LOOPBACK = UrlPolicy(allow_hosts=("127.0.0.1", "localhost"))


def provider(policy: UrlPolicy = LOOPBACK) -> FunctionProvider:
    functions = [function for function, _ in rest.tools_with(policy)]
    return FunctionProvider("rest", functions, workspace=Path.cwd(), store=MemoryStore())


def keep(name: str = "mine", hosts: tuple[str, ...] = ("127.0.0.1",), **more: Any) -> None:
    token = TokenSet(CANARY, expires_at=int(time.time()) + 3600, provider_name=name)
    Vault().write(name, Login(token, AuthServer(), OAuthClient("x"), hosts=hosts, **more))


def test_a_body_may_be_anything_and_its_schema_names_each_type() -> None:
    """Some clients refuse a schema without a type, or with several in one place."""
    (request,) = provider().list_tools()
    body = json.loads(request.input_schema)["properties"]["body"]
    assert {kind for branch in body["anyOf"] for kind in branch.values()} == {
        "object", "array", "string", "number", "boolean", "null"
    }  # fmt: skip
    assert "what to send" in body["description"]


async def call(url: str, method: str = "GET", **more: Any) -> Any:
    return await provider().call_tool("request", {"provider": "mine", "method": method, "url": url, **more})


async def test_the_token_is_sent_and_the_json_comes_back() -> None:
    keep()
    async with api(lambda request: http.json_response({"id": 12345678901234567890, "name": "ä"})) as served:
        result = await call(f"{served.url}/things?q=1", "get")
    assert json.loads(result.content[0]["text"]) == {"id": 12345678901234567890, "name": "ä"}
    assert result.structured_content["name"] == "ä"
    method, path, headers, body = served.asked[0]
    assert (method, path, body) == ("GET", "/things?q=1", b"")
    assert headers["Authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize(
    ("kind", "body", "sent", "content_type"),
    [
        ("json", {"a": [1]}, b'{"a":[1]}', "application/json"),
        ("json", "text", b'"text"', "application/json"),
        ("form", {"a": "1 2", "b": ["x", "y"]}, b"a=1+2&b=x&b=y", "application/x-www-form-urlencoded"),
        ("text", "hällo", "hällo".encode(), "text/plain; charset=utf-8"),
        ("base64", base64.b64encode(b"\x00\xff").decode(), b"\x00\xff", "application/octet-stream"),
    ],
)
async def test_bodies_go_out_in_the_form_asked_for(kind: str, body: Any, sent: bytes, content_type: str) -> None:
    keep()
    async with api(lambda request: http.Response(status=204)) as served:
        result = await call(f"{served.url}/", "POST", body=body, body_type=kind)
    assert result.content == [{"type": "text", "text": "null"}]
    assert (served.asked[0][3], served.asked[0][2]["Content-Type"]) == (sent, content_type)


async def test_a_login_that_is_not_there_is_named_with_its_account() -> None:
    keep()
    with pytest.raises(ExecutionFailed, match=r"there is no login for .* as 'nobody'"):
        await call("https://127.0.0.1/", account="nobody")


async def test_what_is_no_json_is_not_lost() -> None:
    keep()
    async with api(lambda request: http.Response(text="plain", content_type="text/csv")) as served:
        assert (await call(served.url)).content[0]["text"] == "plain"
    async with api(lambda request: http.Response(body=b"\x89PNG", content_type="image/png")) as served:
        told = json.loads((await call(served.url)).content[0]["text"])
    assert told == {"content_type": "image/png", "base64": base64.b64encode(b"\x89PNG").decode()}


async def test_a_list_says_where_it_goes_on() -> None:
    keep()
    link = '</page/2>; rel="next", <https://api.example/page/9>; rel="last"'
    async with api(lambda request: http.json_response([1], headers={"Link": link})) as served:
        result = await call(f"{served.url}/page/1")
    assert json.loads(result.content[0]["text"]) == [1]
    assert result.content[1]["text"] == f"the next page: {served.url}/page/2"
    assert result.meta["dev.clawft/links"]["last"] == "https://api.example/page/9"


def test_links_that_are_none_neither_break_nor_hold_up_anything() -> None:
    """A search from each of many brackets to the end took half a minute."""
    odd = (("Link", '<http://[>; rel="next"'), ("Link", '<a>; rel="last"'), *[("Link", "<" * 8000)] * 100)
    began = time.monotonic()
    links = links_of(FetchedAnswer("https://h/", 200, odd, "", "", b""))
    assert links == {"next": "http://[", "last": "https://h/a"}
    assert time.monotonic() - began < 5


@requirement("QUAL-02")
@pytest.mark.parametrize("status", [200, 400])
async def test_a_service_that_tells_what_it_was_sent_does_not_show_the_token(status: int) -> None:
    keep()

    def echo(request: http.Request) -> http.Response:
        if request.path == "/":
            raise http.HTTPFound(f"/echo?token={CANARY}")
        sent = request.headers["Authorization"]
        return http.json_response({"sent": sent}, status=status, headers={"Link": f'</{sent[7:]}>; rel="next"'})

    async with api(echo) as served:
        if status == 200:
            told = repr(await call(served.url))
        else:
            with pytest.raises(ExecutionFailed, match="status 400") as failed:
                await call(served.url)
            told = str(failed.value)
    assert "Bearer …" in told
    assert CANARY not in told


@pytest.mark.parametrize("status", [300, 400, 403, 404, 500])
async def test_a_bad_status_is_an_error_with_status_and_body(status: int) -> None:
    keep()
    async with api(lambda request: http.json_response({"message": "no such thing"}, status=status)) as served:
        with pytest.raises(ExecutionFailed, match=rf"status {status}.*no such thing") as failed:
            await call(served.url)
    assert CANARY not in str(failed.value)


@pytest.mark.parametrize("status", [200, 500])
async def test_a_token_that_a_service_repeats_is_not_shown(status: int) -> None:
    """In the body, and in the address of a next page."""
    keep()

    def repeat(request: http.Request) -> http.Response:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        link = f'</next?token={token}>; rel="next"'
        return http.json_response({"token": token, "said": 1}, status=status, headers={"Link": link})

    async with api(repeat) as served:
        try:
            shown = repr(await call(served.url))
        except ExecutionFailed as failed:
            shown = str(failed)
    assert "said" in shown
    assert CANARY not in shown


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 100_000, "[" * 3_000 + "]" * 3_000])
async def test_json_without_a_bottom_comes_as_text(body: str) -> None:
    keep()
    async with api(lambda request: http.Response(text=body, content_type="application/json")) as served:
        assert (await call(served.url)).content[0]["text"] == body


@requirement("OAUTH-21")
@pytest.mark.parametrize(
    "url", ["https://evil.example/", "http://127.0.0.1.evil.example/", "https://127.0.0.1@evil.example/"]
)
async def test_a_token_goes_to_its_own_hosts_only(url: str) -> None:
    keep()
    with pytest.raises((PermissionDenied, ExecutionFailed), match=r"not for|https only"):
        await call(url)


@requirement("OAUTH-21")
async def test_a_token_is_not_sent_in_clear() -> None:
    keep(hosts=("*",))
    with pytest.raises(PermissionDenied, match="https only"):
        await call("http://api.example/")


@requirement("OAUTH-21")
async def test_the_url_policy_has_its_say() -> None:
    keep()
    with pytest.raises(PermissionDenied, match="loopback"):
        await provider(UrlPolicy()).call_tool(
            "request", {"provider": "mine", "method": "GET", "url": "http://127.0.0.1:9/"}
        )


@requirement("OAUTH-21")
async def test_a_redirect_elsewhere_takes_no_token_and_no_body_along() -> None:
    keep(hosts=("127.0.0.1", "localhost"))
    async with api(lambda request: http.json_response("here")) as other:
        target = other.url.replace("127.0.0.1", "localhost")
        async with api(lambda request: http.Response(status=303, headers={"Location": target})) as served:
            await call(served.url, "POST", body={"secret": 1}, headers={"X-Key": "k"})
    method, _, headers, body = other.asked[0]
    assert (method, body) == ("GET", b"")
    assert "Authorization" not in headers
    assert "X-Key" not in headers


@requirement("OAUTH-21")
@pytest.mark.parametrize(("method", "status"), [("POST", 307), ("POST", 308), ("DELETE", 302), ("PUT", 301)])
async def test_a_change_that_is_redirected_elsewhere_is_told_as_not_done(method: str, status: int) -> None:
    keep(hosts=("127.0.0.1", "localhost"))
    async with api(lambda request: http.json_response("here")) as other:
        target = other.url.replace("127.0.0.1", "localhost")
        async with api(lambda request: http.Response(status=status, headers={"Location": target})) as served:
            with pytest.raises(ExecutionFailed, match=rf"{target}: a {method} is redirected .*nothing was changed"):
                await call(served.url, method, body={"secret": 1})
    assert other.asked == []


@pytest.mark.parametrize("name", ["Authorization", "authorization", "Cookie", "Host", "Proxy-Authorization"])
async def test_a_caller_cannot_set_what_is_ours(name: str) -> None:
    keep()
    with pytest.raises(InvalidArguments, match="cannot be set"):
        await call("http://127.0.0.1:9/", headers={name: "x"})


@pytest.mark.parametrize("headers", [{"X": "a\r\nEvil: 1"}, {"X\r\nEvil": "1"}, {"": "x"}, {"a b": "x"}])
async def test_a_header_cannot_smuggle_another(headers: dict[str, str]) -> None:
    keep()
    with pytest.raises(InvalidArguments):
        await call("http://127.0.0.1:9/", headers=headers)


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "GET /x HTTP/1.1\r\nA:", ""])
async def test_an_odd_method_is_refused(method: str) -> None:
    keep()
    with pytest.raises(InvalidArguments):
        await call("http://127.0.0.1:9/", method)


async def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    keep()
    answers = iter([429, 503, 200])
    headers = {"Retry-After": "0"}
    async with api(lambda request: http.json_response(1, status=next(answers), headers=headers)) as served:
        await call(served.url, "POST", body=1)
    assert len(served.asked) == 3


async def test_what_may_have_been_done_is_not_done_twice() -> None:
    keep()
    async with api(lambda request: http.Response(status=503)) as served:
        with pytest.raises(ExecutionFailed, match="status 503"):
            await call(served.url, "POST", body=1)
    assert len(served.asked) == 1


@pytest.mark.parametrize(("method", "is_warned"), [("GET", False), ("POST", True), ("PATCH", True)])
@pytest.mark.parametrize("whose", ["ours", "of one request"])
async def test_what_was_not_answered_may_have_been_done(
    monkeypatch: pytest.MonkeyPatch, method: str, is_warned: bool, whose: str
) -> None:
    """By whichever of both limits it ends."""
    keep()
    if whose == "ours":
        monkeypatch.setattr(rest, "REQUEST_SECONDS", 0.2)
    else:
        monkeypatch.setattr(rest, "FetchBounds", partial(FetchBounds, timeout_s=0.2))
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system takes the call, and nobody answers it
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(ExecutionFailed, match=f"{method} .*no answer within") as told:
            await call(url, method)
    assert ("check before you send it again" in told.value.hint) is is_warned


def test_how_long_to_wait() -> None:
    def answer(after: str) -> FetchedAnswer:
        return FetchedAnswer("https://a", 429, (("Retry-After", after),), "", "", b"")

    assert rest.pause_before_again(answer("7"), "POST", 0, 0.0) == 7
    assert rest.pause_before_again(answer("Thu, 01 Jan 1970 00:00:09 GMT"), "POST", 0, 4.0) == 5
    assert rest.pause_before_again(answer("3600"), "GET", 0, 0.0) is None
    for nonsense in ("soon", "²", "9" * 8000, "Mon, 01 Jan 2001 00:00:00 +9999999999999"):
        assert rest.pause_before_again(answer(nonsense), "POST", 0, 0.0) is None


async def test_a_body_without_end_is_cut_and_says_so() -> None:
    keep()
    async with api(lambda request: http.Response(text="x" * 5000, content_type="text/plain")) as served:
        told = (await call(served.url, max_bytes=100)).structured_content
    assert (told["truncated"], len(told["text"])) == (True, 100)


@requirement("OAUTH-20")
async def test_without_a_login_the_error_says_how_to_get_one() -> None:
    with pytest.raises(ExecutionFailed, match="weft auth login mine"):
        await call("https://api.example/")


@requirement("OAUTH-20")
async def test_an_expired_login_that_cannot_be_renewed_says_so() -> None:
    Vault().write("mine", Login(TokenSet(CANARY, expires_at=1), AuthServer(), OAuthClient("x"), hosts=("127.0.0.1",)))
    with pytest.raises(ClawftError, match=r"expired.*weft auth login mine"):
        await call("http://127.0.0.1:9/")


@requirement("OAUTH-21")
async def test_of_several_logins_the_one_for_that_host_is_used() -> None:
    keep(account="ada")
    token = TokenSet("another", provider_name="mine")
    Vault().write("mine", Login(token, AuthServer(), OAuthClient("y"), hosts=("other.example",), account="bob"))
    async with api(lambda request: http.json_response(1)) as served:
        await call(served.url)
        with pytest.raises(PermissionDenied, match=r"other\.example"):
            await call(served.url, account="bob")
    assert served.asked[0][2]["Authorization"] == f"Bearer {CANARY}"


@pytest.mark.parametrize("kept", ["*", "*.com", "????.com", "[a-z]*"])
async def test_a_star_that_was_kept_opens_the_token_to_nobody(kept: str) -> None:
    keep(hosts=(kept,))
    with pytest.raises(PermissionDenied, match=r"is for .*, not for evil\.com"):
        await call("https://evil.com/")
