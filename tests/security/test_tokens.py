"""Callers with tokens that an issuer never gave, gave to others, or gave for something else."""

import asyncio
import hmac
import json
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from tests.requirements import requirement
from tests.servers.issuer import SECRET, Issuer, described, encoded, issuer
from tests.servers.raw_http import Answer, ask, modern
from tests.servers.weft import RSS_LIMIT, Served, gateway, peak_memory

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

DEEP = b"[" * 5_000 + b"]" * 5_000
SOON_S = 20.0
FAR_S = 6_000


class EgressProxy:
    def __init__(self, issuer: Issuer, served: Served) -> None:
        self.issuer, self.served = issuer, served

    async def knock(self, token: str) -> Answer:
        return await ask(self.served.port, modern(self.served.port, 1, "tools/list", headers=bearer(token)))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def rules(of: Issuer) -> str:
    return f'[gateway.auth]\nissuer = "{of.address}"\ngrants = [{{ allow = ["*"] }}]\n'


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[EgressProxy]:
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "home").mkdir()
    async with issuer() as trusted:
        (folder / "home" / "config.toml").write_text(rules(trusted))
        with gateway(folder) as served:
            trusted.audience = served.url
            yield EgressProxy(trusted, served)
            assert peak_memory(served.pid) < RSS_LIMIT
            assert not [line for line in served.lines if "Traceback" in line]


def shared(of: Issuer, secret: bytes, **head: object) -> str:
    """Signed with a secret, which may be what everybody knows."""
    told = json.dumps(of.head(**{"alg": "HS256", **head})).encode()
    signed = f"{encoded(told)}.{encoded(json.dumps(of.claims()).encode())}"
    return f"{signed}.{encoded(hmac.digest(secret, signed.encode(), 'sha256'))}"


def unsigned(of: Issuer, alg: str) -> str:
    return f"{encoded(json.dumps(of.head(alg=alg)).encode())}.{encoded(json.dumps(of.claims()).encode())}."


def of_stranger(of: Issuer, key: RSAPrivateKey | None = None, **head: object) -> str:
    told = json.dumps(of.head(**{"kid": "stranger", **head})).encode()
    return of.sign(told, json.dumps(of.claims()).encode(), key or of.stranger)


def altered(of: Issuer, old: str, new: str) -> str:
    """Of claims that our own writer of JSON does not write."""
    return of.sign(json.dumps(of.head()).encode(), json.dumps(of.claims(x=1)).replace(old, new).encode())


BAD: dict[str, Callable[[Issuer], str]] = {
    "unsigned": lambda of: unsigned(of, "none"),
    "unsigned, spelled otherwise": lambda of: unsigned(of, "nOnE"),
    "signed with the public key as a secret": lambda of: shared(of, of.public_pem),
    "signed with no secret": lambda of: shared(of, b""),
    "signed by a stranger": of_stranger,
    "a stranger's key by address": lambda of: of_stranger(of, jku=f"{of.address}/stranger"),
    "a stranger's certificate by address": lambda of: of_stranger(of, x5u=f"{of.address}/stranger"),
    "a stranger's key inside": lambda of: of_stranger(of, jwk=described(of.stranger, "stranger")),
    "a key that is a path": lambda of: of.token({"kid": "../../../../dev/null"}),
    "a key of another kind": lambda of: of.token({"kid": ["k1"]}),
    "an algorithm of another kind": lambda of: of.token({"alg": ["RS256"]}),
    "signed with a key that is too short": lambda of: of_stranger(of, of.short, kid="short"),
    "signed with a key for something else": lambda of: of_stranger(of, kid="encrypting"),
    "signed with a secret among the keys": lambda of: shared(of, SECRET, alg="RS256", kid="secret"),
    "something critical": lambda of: of.token({"crit": ["x"], "x": 1}),
    "a proof": lambda of: of.token({"typ": "dpop+jwt"}),
    "a logout": lambda of: of.token({"typ": "logout+jwt"}),
    "a kind of another kind": lambda of: of.token({"typ": 5}),
    "for somebody else": lambda of: of.token(aud="https://other.example/mcp"),
    "for a place below": lambda of: of.token(aud=f"{of.audience}/below"),
    "for nobody": lambda of: of.token(aud=...),
    "from somebody else": lambda of: of.token(iss="https://other.example"),
    "from nearly the same": lambda of: of.token(iss=f"{of.address}/"),
    "expired": lambda of: of.token(exp=int(time.time()) - FAR_S),
    "without end": lambda of: of.token(exp=...),
    "ends at infinity": lambda of: altered(of, '"x": 1', '"exp": Infinity'),
    "ends at no number": lambda of: altered(of, '"x": 1', '"exp": NaN'),
    "not valid yet": lambda of: of.token(nbf=int(time.time()) + FAR_S),
    "of nobody": lambda of: of.token(sub=...),
    "of an empty name": lambda of: of.token(sub=""),
    "of a number": lambda of: of.token(sub=5),
    "of half a character": lambda of: of.token(sub="\ud800"),
    "of a name with controls": lambda of: of.token(sub="a\x1b[2J\nada"),
    "of a name without end": lambda of: of.token(sub="a" * 9_000),
    "a deep head": lambda of: ".".join(map(encoded, (b'{"alg":%b}' % DEEP, b"{}", b"x"))),
    "no claims": lambda of: of.sign(json.dumps(of.head()).encode(), b"[]"),
    "no token": lambda of: "a.b.c.d.e",
    "nothing but dots": lambda of: "." * 8_000,
}


@requirement("GUARD-06", "QUAL-12")
async def test_claims_that_are_nested_without_end_are_no_fault_of_ours(door: EgressProxy) -> None:
    """Their issuer has signed them. How deep is too deep depends on the Python that reads them."""
    answer = await door.knock(altered(door.issuer, '"x": 1', '"x": ' + DEEP.decode()))
    assert answer.status in (200, 401)


@requirement("GUARD-06", "QUAL-12")
@pytest.mark.parametrize("case", BAD)
async def test_a_token_that_proves_nobody_is_refused(door: EgressProxy, case: str) -> None:
    answer = await door.knock(BAD[case](door.issuer))
    assert (answer.status, answer.headers["www-authenticate"][:7]) == (401, "Bearer ")
    assert (await door.knock(door.issuer.token())).status == 200
    assert set(door.issuer.asked) == {"/.well-known/oauth-authorization-server", "/keys"}


@requirement("GUARD-06", "QUAL-12")
async def test_an_issuer_is_not_asked_for_each_token_that_comes(tmp_path: Path) -> None:
    """Neither while it fails nor for keys that it does not have."""
    (tmp_path / "home").mkdir()
    async with issuer() as failing:
        (tmp_path / "home" / "config.toml").write_text(rules(failing))
        with gateway(tmp_path) as served:
            failing.audience, failing.failing = served.url, True
            door = EgressProxy(failing, served)
            seen = [(await door.knock(failing.token({"kid": f"new-{number}"}))).status for number in range(30)]
            assert set(seen) == {503}
            assert len(failing.asked) < len(seen)
            failing.failing = False
            async with asyncio.timeout(SOON_S):
                while (await door.knock(failing.token())).status != 200:
                    pass
            before = len(failing.asked)
            for number in range(30):
                assert (await door.knock(failing.token({"kid": f"new-{number}"}))).status == 401
            assert len(failing.asked) == before
