"""An issuer of tokens on loopback whose key we have: every token it could ever sign, and every one it never would."""

import base64
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from jwt.algorithms import RSAAlgorithm

from tests.servers.pipe import Json
from tests.servers.web import Asked, Web, serve

KEY_ID = "k1"
LIFE_S = 600
BITS = 2048
SECRET = b"a secret that stands among the keys"


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def described(key: rsa.RSAPrivateKey, id: str) -> Json:
    return json.loads(RSAAlgorithm.to_jwk(key.public_key())) | {"kid": id, "use": "sig"}


class Issuer:
    def __init__(self, seen: Web) -> None:
        self._seen = seen
        self.address = seen.url.rstrip("/")
        self.key = rsa.generate_private_key(65537, BITS)
        self.stranger = rsa.generate_private_key(65537, BITS)
        """A key of somebody else."""
        self.short = rsa.generate_private_key(65537, BITS // 2)
        self.audience = ""
        self.failing = False

    @property
    def asked(self) -> list[str]:
        return [each.http.path for each in self._seen.asked]

    @property
    def public_pem(self) -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self.key.public_key().public_bytes(serialization.Encoding.PEM, form)

    def unfit(self) -> list[Any]:
        """Keys that sign nothing: too short, for something else, known to all, or none at all."""
        short = described(self.short, "short")
        encrypting = {**described(self.stranger, "encrypting"), "key_ops": ["encrypt"]}
        secret = {"kty": "oct", "k": encoded(SECRET), "kid": "secret", "alg": "RS256"}
        unsigned = {**described(self.stranger, "unsigned"), "alg": "none"}
        odd: list[Any] = [{"kty": "RSA", "n": 5, "e": []}, {"kty": {}}, {"kty": "EC", "crv": 5}, None]
        return [short, encrypting, secret, unsigned, *odd]

    async def respond(self, asked: Asked) -> web.StreamResponse:
        if self.failing:
            return web.Response(status=500)
        if asked.http.path == "/keys":
            return web.json_response({"keys": [*self.unfit(), described(self.key, KEY_ID)]})
        if asked.http.path.startswith("/.well-known/"):
            return web.json_response({"issuer": self.address, "jwks_uri": f"{self.address}/keys"})
        return web.json_response({"keys": [described(self.stranger, "stranger")]})

    def claims(self, **more: Any) -> Json:
        now = int(time.time())
        whole = {"iss": self.address, "aud": self.audience, "sub": "ada", "iat": now, "exp": now + LIFE_S, **more}
        return {name: value for name, value in whole.items() if value is not ...}

    def head(self, **more: Any) -> Json:
        return {"alg": "RS256", "kid": KEY_ID, "typ": "at+jwt", **more}

    def token(self, head: Json | None = None, **claims: Any) -> str:
        """A claim that is `...` is left out."""
        return self.sign(json.dumps(self.head(**(head or {}))).encode(), json.dumps(self.claims(**claims)).encode())

    def sign(self, head: bytes, claims: bytes, key: rsa.RSAPrivateKey | None = None) -> str:
        signed = f"{encoded(head)}.{encoded(claims)}"
        signature = (key or self.key).sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{encoded(signature)}"


@asynccontextmanager
async def issuer() -> AsyncGenerator[Issuer]:
    made: list[Issuer] = []

    async def respond(asked: Asked) -> web.StreamResponse:
        return await made[0].respond(asked)

    async with serve(respond, path="") as seen:
        made.append(Issuer(seen))
        yield made[0]
