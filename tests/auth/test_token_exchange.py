"""One exchange and the login it makes, against authorization servers that answer as a test tells them."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from clawft.auth import token_exchange
from clawft.auth.bearer import Person
from clawft.auth.endpoint import ACCESS_TOKEN, TokenRefused
from clawft.auth.proofs import MAX_PROOFS, Proofs
from clawft.auth.token_exchange import ExchangedLogin, Exchanger, ExchangeTerms
from clawft.auth.web import Web
from clawft.errors import LoginFailed, NeedsAuth
from tests.requirements import requirement
from tests.servers.idp import free_port

pytestmark = requirement("LINK-26", "GUARD-06")

TOKEN = "canary-subject-token-of-ada-e1f0"
LATER = int(time.time()) + 3_600


def person(subject: str = "ada", client: str = "app", scopes: tuple[str, ...] = ("a",), until: int = LATER) -> Person:
    return Person(subject, client, frozenset(scopes), frozenset(), until)


class Issuer:
    """Gives tokens numbered from 1, or `answer`; `metadata` overrides what it says of itself."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: dict[str, Any] = {}
        self.status = 200
        self.metadata: dict[str, Any] = {}
        self.hold: asyncio.Event | None = None
        self.proofs = Proofs()

    async def respond(self, request: web.Request) -> web.Response:
        if request.method == "GET":
            told = {"issuer": self.url, "token_endpoint": f"{self.url}/token", **self.metadata}
            return web.json_response(told)
        self.asked.append({name: str(value) for name, value in (await request.post()).items()})
        self.headers.append(dict(request.headers))
        if self.hold is not None:
            await self.hold.wait()
        given = {"access_token": f"given-{len(self.asked)}", "issued_token_type": ACCESS_TOKEN, "token_type": "Bearer"}
        return web.json_response({**given, "expires_in": 3_600, **self.answer}, status=self.status)

    @property
    def exchanger(self) -> Exchanger:
        return Exchanger(self.url, Web(lambda url, addresses: None, self.url), self.proofs)

    def login(self, wanted: ExchangeTerms | None = None) -> ExchangedLogin:
        proof = self.proofs.keep(person(), TOKEN)
        return ExchangedLogin(
            "crm", self.exchanger, wanted or ExchangeTerms("weft", resource="https://crm.example"), proof
        )


@asynccontextmanager
async def issuer() -> AsyncGenerator[Issuer]:
    made = Issuer()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", made.respond)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", int(made.url.rpartition(":")[2])).start()
        yield made
    finally:
        await runner.cleanup()


async def test_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_SECRET", "s3cret-of-weft")
    async with issuer() as server:
        login = server.login(ExchangeTerms("weft", "secret://env/CRM_SECRET", "crm", "https://crm.example", ("a", "b")))
        assert login.ready() is None
        assert await login.authorization() == "Bearer given-1"
        assert login.ready() == "Bearer given-1"
        assert server.asked == [
            {
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "subject_token": TOKEN,
                "subject_token_type": ACCESS_TOKEN,
                "requested_token_type": ACCESS_TOKEN,
                "audience": "crm",
                "resource": "https://crm.example",
                "scope": "a b",
            }
        ]
        assert server.headers[0]["Authorization"].startswith("Basic ")
        server.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
        await server.login(ExchangeTerms("weft", "secret://env/CRM_SECRET", "crm")).authorization()
        assert (server.asked[1]["client_id"], server.asked[1]["client_secret"]) == ("weft", "s3cret-of-weft")
        assert "resource" not in server.asked[1]
        assert "canary" not in repr(server.proofs) + repr(vars(login)) + repr(vars(server.proofs))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"issued_token_type": "urn:ietf:params:oauth:token-type:saml2"}, "something other than an access token"),
        ({"token_type": "N_A"}, "not an access token for a Bearer header"),
        ({"access_token": TOKEN}, "gave the same token back"),
        ({"access_token": ""}, "gave no token"),
        ({"access_token": 7}, "gave no token"),
    ],
)
async def test_what_cannot_be_sent_to_the_server_is_not(answer: dict[str, Any], said: str) -> None:
    async with issuer() as server:
        server.answer = answer
        with pytest.raises(NeedsAuth, match=said) as refused:
            await server.login().authorization()
        assert TOKEN not in str(refused.value)


@pytest.mark.parametrize("word", ["invalid_grant", "invalid_target", "unsupported_grant_type"])
async def test_a_refusal_keeps_its_reason_and_never_repeats_the_token(word: str) -> None:
    async with issuer() as server:
        server.status = 400
        server.answer = {"error": word, "error_description": f"not for {TOKEN}", "access_token": ""}
        with pytest.raises(NeedsAuth, match=f"{word}: not for …"):
            await server.login().authorization()
        server.answer = {"error": f"{word} {TOKEN}", "access_token": ""}
        with pytest.raises(NeedsAuth) as refused:
            await server.login().authorization()
        assert TOKEN not in str(refused.value)


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"issuer": "https://elsewhere.example"}, "that of another issuer"),
        ({"token_endpoint": "http://login.example/token"}, "plain http"),
        ({"token_endpoint": "ftp://login.example/token"}, "not an https address"),
        ({"token_endpoint": ""}, "names no token endpoint"),
        ({"token_endpoint": "https://user@login.example/token"}, "no user name"),
    ],
)
async def test_metadata_that_would_lead_the_token_away_is_refused(metadata: dict[str, Any], said: str) -> None:
    async with issuer() as server:
        server.metadata = metadata
        with pytest.raises(NeedsAuth, match=said):
            await server.login().authorization()
        assert server.asked == []


async def test_an_issuer_elsewhere_cannot_lead_the_token_to_this_machine() -> None:
    async with issuer() as server:
        outside = Exchanger(server.url, Web(lambda url, addresses: None, "https://login.example"), server.proofs)
        with pytest.raises(LoginFailed, match="on this machine"):
            await outside.exchange("crm", ExchangeTerms("weft"), server.proofs.keep(person(), TOKEN))
        assert server.asked == []


async def test_twenty_at_once_share_one_exchange_and_one_who_leaves_takes_nothing_along() -> None:
    async with issuer() as server:
        server.hold = asyncio.Event()
        login = server.login()
        waiting = [asyncio.create_task(login.authorization()) for _ in range(20)]
        while not server.asked:  # noqa: ASYNC110 - the server of this test has no event for it
            await asyncio.sleep(0.01)
        waiting[0].cancel()
        server.hold.set()
        assert set(await asyncio.gather(*waiting[1:])) == {"Bearer given-1"}
        assert len(server.asked) == 1


async def test_a_token_that_is_due_is_used_while_the_issuer_is_away() -> None:
    async with issuer() as server:
        server.answer = {"expires_in": 30}
        login = server.login()
        await login.authorization()
        made = login._login  # pyright: ignore[reportPrivateUsage]  # time is not ours to turn
        assert made is not None
        assert not made.is_due(time.time())
        server.status, server.answer = 503, {"access_token": ""}
        login._login = replace(made, obtained_at=made.obtained_at - 3_600)  # pyright: ignore[reportPrivateUsage]  # time is not ours to turn
        assert login.ready() is None, "due by now"
        async with asyncio.timeout(30):
            while login.ready() is None:
                assert await login.authorization() == "Bearer given-1"
                await asyncio.sleep(0)
        assert login.ready() == "Bearer given-1", "and not asked for again with every request"
        assert len(server.asked) == 2


async def test_a_token_that_is_due_is_used_while_the_next_is_on_its_way() -> None:
    async with issuer() as server:
        login = server.login()
        await login.authorization()
        made = login._login  # pyright: ignore[reportPrivateUsage]  # time is not ours to turn
        assert made is not None
        soon = replace(made.tokens, expires_at=int(time.time()) + 30)
        login._login = replace(made, tokens=soon, obtained_at=made.obtained_at - 3_600)  # pyright: ignore[reportPrivateUsage]  # time is not ours to turn
        server.hold = asyncio.Event()
        async with asyncio.timeout(5):
            assert set(await asyncio.gather(*(login.authorization() for _ in range(20)))) == {"Bearer given-1"}
        server.hold.set()
        async with asyncio.timeout(30):
            while login.ready() != "Bearer given-2":
                assert await login.authorization() in ("Bearer given-1", "Bearer given-2")
                await asyncio.sleep(0)
        assert len(server.asked) == 2


async def test_a_token_without_an_end_is_not_kept_for_ever() -> None:
    async with issuer() as server:
        server.answer = {"expires_in": None}
        made = await server.exchanger.exchange("crm", ExchangeTerms("weft"), server.proofs.keep(person(), TOKEN))
        assert 0 < (made.tokens.expires_at or 0) - time.time() <= token_exchange.UNTOLD_LIFETIME_S


async def test_two_refused_tokens_are_enough() -> None:
    async with issuer() as server:
        login = server.login()
        first = await login.authorization()
        assert not await login.challenged(403, "", first), "rights are for the issuer to give"
        assert await login.challenged(401, "", first)
        assert await login.challenged(401, "", first), "a second request that was sent with the first token"
        second = await login.authorization()
        assert second != first
        with pytest.raises(NeedsAuth, match="crm refuses the tokens") as refused:
            await login.challenged(401, "", second)
        assert "given" not in str(refused.value)
        assert login.ready() is None


async def test_the_same_token_again_is_the_second_that_is_refused() -> None:
    """An issuer may keep what it gives; the request was sent six times, and nobody was told what to check."""
    async with issuer() as server:
        server.answer = {"access_token": "always-the-same"}
        login = server.login()
        only = await login.authorization()
        assert await login.challenged(401, "", only)
        assert await login.authorization() == only
        with pytest.raises(NeedsAuth, match="crm refuses the tokens") as refused:
            await login.challenged(401, "", only)
        assert "check audience" in refused.value.hint


# ── what people came with ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_renewed_token_takes_the_place_of_the_one_before_and_a_weaker_one_does_not() -> None:
    proofs = Proofs()
    first = proofs.keep(person(until=LATER), "first")
    assert proofs.keep(person(until=LATER + 60), "renewed") == first
    assert proofs.token(first) == "renewed"
    proofs.keep(person(until=LATER), "older, and come late")
    assert proofs.token(first) == "renewed"
    others = [person("bob"), person(client="other"), person(scopes=()), person(scopes=("a", "b"))]
    names = {proofs.keep(each, "another") for each in others}
    assert len(names) == len(others)
    assert first not in names
    assert proofs.token(first) == "renewed"


def test_no_token_is_kept_where_none_would_be_exchanged() -> None:
    wanted = False
    proofs = Proofs(lambda: wanted)
    name = proofs.keep(person(), TOKEN)
    assert (len(proofs), proofs.token(name)) == (0, "")
    wanted = True
    assert proofs.keep(person(), TOKEN) == name
    assert proofs.token(name) == TOKEN


def test_tokens_are_forgotten_when_they_expire_and_when_there_are_too_many() -> None:
    proofs = Proofs()
    gone = proofs.keep(person(until=int(time.time()) - 1), "late")
    assert (proofs.token(gone), len(proofs)) == ("", 0)
    first = proofs.keep(person("p"), "x")
    for number in range(MAX_PROOFS):
        proofs.keep(person(f"p{number}"), "x")
    assert (proofs.token(first), len(proofs)) == ("", MAX_PROOFS)
    assert proofs.token("never there") == ""


async def test_an_expired_token_is_not_exchanged() -> None:
    async with issuer() as server:
        proof = server.proofs.keep(person(until=int(time.time()) - 1), TOKEN)
        with pytest.raises(LoginFailed, match="no longer available") as refused:
            await server.exchanger.exchange("crm", ExchangeTerms("weft"), proof)
        assert not isinstance(refused.value, TokenRefused)
        assert server.asked == []


def test_half_a_character_in_a_token_is_no_reason_to_fail() -> None:
    proofs = Proofs()
    names = {proofs.keep(person(client=half), TOKEN) for half in ("\ud800", "\udc00")}
    assert len(names) == 2
