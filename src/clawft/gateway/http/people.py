"""Callers who bring a token of an issuer: each a principal of its own, with what the rules grant to it.

A token that was verified is remembered, by its digest, until it expires: the usual request costs a hash.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Sequence

import msgspec

from clawft.auth.bearer import BadToken, Person, Verifier, metadata_place
from clawft.auth.proofs import Proofs
from clawft.errors import LoginFailed
from clawft.gateway.http.access import AccessRefusal, Authenticate, bearer_of
from clawft.model import Caller
from clawft.policy.grant import GrantRule, grant_for
from clawft.wire.headers import Headers

MAX_REMEMBERED = 4_096
REMEMBER_SECONDS = 300.0
"""However long a token lives, it is verified again after this: the issuer may have taken its key back."""

_encode = msgspec.json.encode


class People:
    """Of one issuer. `rules` say what each may see, within what `base` may."""

    def __init__(
        self,
        verifier: Verifier,
        base: Caller,
        rules: Sequence[GrantRule],
        scopes: Sequence[str] = (),
        proofs: Proofs | None = None,
    ) -> None:
        """`proofs` keeps their tokens for servers that are called in their name."""
        self._verifier = verifier
        self._base = base
        self._rules = tuple(rules)
        self._scopes = tuple(scopes)
        self._proofs = proofs
        self._known: OrderedDict[bytes, tuple[Caller, float]] = OrderedDict()
        """By digest, with the time until which nobody looks again: by a clock that nobody sets."""

    def serve_at(self, url: str) -> None:
        """Where we listen, which is what tokens are for unless something else was configured."""
        self._verifier.audience = self._verifier.audience or url

    def set_rules(self, rules: Sequence[GrantRule]) -> bool:
        """From now on these hold; False if they did already."""
        if tuple(rules) == self._rules:
            return False
        self._rules = tuple(rules)
        self._known.clear()
        return True

    def behind(self, first: Authenticate) -> Authenticate:
        """Ask `first` (the token of the person at this machine), and then us."""

        def authenticate(headers: Headers) -> Caller | AccessRefusal | Awaitable[Caller | AccessRefusal]:
            found = first(headers)
            return self.caller(headers) if found is None else found

        return authenticate

    def caller(self, headers: Headers) -> Caller | AccessRefusal | Awaitable[Caller | AccessRefusal]:
        token = bearer_of(headers)
        if not token:
            return AccessRefusal(401, "a bearer token is required", self._challenge())
        digest = hashlib.sha256(token).digest()
        known = self._known.get(digest)
        if known is not None and time.monotonic() < known[1] and time.time() < known[0].until:
            return known[0]
        return self._verify(token, digest)

    async def _verify(self, token: bytes, digest: bytes) -> Caller | AccessRefusal:
        try:
            person = await self._verifier.verify(token.decode("ascii"))
        except UnicodeDecodeError:
            return AccessRefusal(401, "the token is not valid", self._challenge("invalid_token"))
        except BadToken as bad:
            return AccessRefusal(401, bad.message, self._challenge("invalid_token"))
        except LoginFailed:
            return AccessRefusal(503, "the keys of the issuer cannot be fetched; try again")
        if not person.scopes.issuperset(self._scopes):
            return AccessRefusal(
                403, f"the token lacks the scope {' '.join(self._scopes)}", self._challenge("insufficient_scope")
            )
        caller = self._caller_of(person, token.decode("ascii"))
        self._remember(digest, caller, time.monotonic() + REMEMBER_SECONDS)
        return caller

    def _caller_of(self, person: Person, token: str) -> Caller:
        """The caller for this person. The agent's name is made of their identity, so that no person sees what another
        remembers.
        """
        principal = f"{self._verifier.issuer}#{_spelled(person.subject)}"
        grant = grant_for(self._rules, person.subject, person.groups, person.scopes, within=self._base.grant)
        agent = f"person-{hashlib.sha256(principal.encode()).hexdigest()[:24]}"
        proof = self._proofs.keep(person, token) if self._proofs is not None else ""
        return Caller(principal=principal, agent=agent, grant=grant, proof=proof, until=person.expires_at)

    def _remember(self, digest: bytes, caller: Caller, until: float) -> None:
        self._known[digest] = (caller, until)
        while len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)

    def _challenge(self, error: str = "") -> str:
        origin, path = split_origin(self._verifier.audience)
        place = f"{origin}{metadata_place(path)}"
        parameters = {"error": error, "resource_metadata": place, "scope": " ".join(self._scopes)}
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items() if value)

    def metadata(self) -> bytes:
        """The metadata about our own protection."""
        told = {
            "resource": self._verifier.audience,
            "authorization_servers": [self._verifier.issuer],
            "bearer_methods_supported": ["header"],
            **({"scopes_supported": list(self._scopes)} if self._scopes else {}),
        }
        return _encode(told)


def _spelled(subject: str) -> str:
    """Without the mark that stands between a person and their delegate: nobody is called like another's."""
    return subject.replace("%", "%25").replace("/", "%2F")


def split_origin(url: str) -> tuple[str, str]:
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash + path
