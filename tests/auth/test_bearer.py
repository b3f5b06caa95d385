"""The keys of an issuer over hours: rotated, withdrawn, and out of reach."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncGenerator
from types import SimpleNamespace

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from clawft.auth import bearer
from clawft.auth.bearer import FAILED_SECONDS, KEYS_SECONDS, LAST_KEYS_SECONDS, BadToken, Verifier, read_key
from clawft.auth.web import Web
from clawft.errors import LoginFailed
from tests.requirements import requirement
from tests.servers.issuer import BITS, Issuer, issuer
from tests.servers.web import Asked


class Hours:
    """A clock of which only we say how it goes."""

    def __init__(self) -> None:
        self.passed = 0.0

    def monotonic(self) -> float:
        return self.passed


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Hours:
    clock = Hours()
    monkeypatch.setattr(bearer, "time", SimpleNamespace(monotonic=clock.monotonic, time=time.time))
    return clock


@pytest.fixture
async def given() -> AsyncGenerator[Issuer]:
    async with issuer() as made:
        made.audience = "us"
        yield made


@pytest.fixture
def verifier(given: Issuer) -> Verifier:
    return Verifier(given.address, "us", Web(lambda url, addresses: None, given.address))


@requirement("GUARD-06")
@pytest.mark.parametrize(("had", "said"), [(False, "none of its tokens is taken"), (True, "the last ones count on")])
async def test_what_an_issuer_out_of_reach_means_is_told(
    given: Issuer, verifier: Verifier, hours: Hours, caplog: pytest.LogCaptureFixture, *, had: bool, said: str
) -> None:
    if had:
        await verifier.verify(given.token())
    given.failing = True
    hours.passed += KEYS_SECONDS + 1
    with contextlib.suppress(LoginFailed):
        await verifier.verify(given.token({"kid": "new"}))
    assert said in caplog.text


@requirement("GUARD-06")
async def test_an_issuer_out_of_reach_locks_nobody_out_for_some_hours(
    given: Issuer, verifier: Verifier, hours: Hours, caplog: pytest.LogCaptureFixture
) -> None:
    token = given.token()
    await verifier.verify(token)
    given.failing = True
    for _ in range(3):
        hours.passed += KEYS_SECONDS - 1
        assert (await verifier.verify(token)).subject == "ada"
    with pytest.raises(LoginFailed):
        await verifier.verify(given.token({"kid": "new"}))
    hours.passed = LAST_KEYS_SECONDS + 1
    with pytest.raises(LoginFailed):
        await verifier.verify(token)
    assert [each.levelno for each in caplog.records if "did not give its keys" in each.message] == [logging.WARNING]
    given.failing = False
    hours.passed += FAILED_SECONDS
    assert (await verifier.verify(token)).subject == "ada"


@requirement("GUARD-06")
async def test_a_key_that_was_withdrawn_counts_no_longer_than_an_hour(
    given: Issuer, verifier: Verifier, hours: Hours
) -> None:
    stolen = given.token()
    await verifier.verify(stolen)
    given.failing = True
    hours.passed += KEYS_SECONDS / 2
    with pytest.raises(LoginFailed):  # that it failed before they were old excuses nothing
        await verifier.verify(given.token({"kid": "new"}))
    given.failing = False
    given.key = rsa.generate_private_key(65537, BITS)
    hours.passed += KEYS_SECONDS / 2 + 1
    with pytest.raises(BadToken):
        await verifier.verify(stolen)
    assert (await verifier.verify(given.token())).subject == "ada"


@requirement("GUARD-06")
async def test_whoever_comes_while_an_issuer_does_not_answer_waits_only_once(
    given: Issuer, verifier: Verifier, hours: Hours, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = given.token()
    await verifier.verify(token)
    given.failing = True
    hours.passed += KEYS_SECONDS + 1
    await verifier.verify(token)
    silent = asyncio.Event()

    async def never(asked: Asked) -> web.StreamResponse:
        await silent.wait()
        return web.Response(status=500)

    monkeypatch.setattr(given, "respond", never)
    hours.passed += FAILED_SECONDS
    assert (await verifier.verify(token)).subject == "ada"
    with pytest.raises(TimeoutError):  # a key that nobody knows cannot be judged without an answer
        await asyncio.wait_for(verifier.verify(given.token({"kid": "new"})), 0.2)
    silent.set()


@requirement("GUARD-06")
async def test_a_token_that_is_bound_to_a_key_is_taken_from_nobody_without_it(
    given: Issuer, verifier: Verifier
) -> None:
    """It is sent with a proof of that key (DPoP, RFC 9449), not as a bearer token: then it may be stolen."""
    with pytest.raises(BadToken, match="bound to a key"):
        await verifier.verify(given.token(cnf={"jkt": "0ZcOCORZNYy"}))
    for other in ({"x5t#S256": "bwcK0es"}, "jkt", ["jkt"], None):  # the first is checked where TLS ends
        assert (await verifier.verify(given.token(cnf=other))).subject == "ada"


@requirement("GUARD-06")
def test_a_key_whose_secret_part_is_published_proves_nothing() -> None:
    """Whoever reads it can sign with it; and one of RSA made every token a mistake of ours."""
    secret = json.loads(RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, BITS)))
    elliptic = json.loads(ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256R1())))
    for described in (secret, elliptic):
        described.pop("key_ops", None)
        assert read_key(described) is None
