"""A server that is called in people's names, and a call behind which no person stands."""

from __future__ import annotations

from clawft.errors import NeedsAuth


class NoCredentials:
    """As `link.base.Credentials`: there is nothing to exchange, and so nothing is sent."""

    def __init__(self, name: str, issuer: str) -> None:
        self._name = name
        self._issuer = issuer

    def ready(self) -> str | None:
        return None

    async def authorization(self) -> str:
        raise nobody_here(self._name, self._issuer)

    async def challenged(self, status: int, header: str, sent: str) -> bool:
        return False


def nobody_here(name: str, issuer: str) -> NeedsAuth:
    if not issuer:
        return NeedsAuth(
            f"{name} is called on behalf of people, and the caller has no token of its own",
            hint="set gateway.auth.issuer, and serve with `weft gateway`",
        )
    return NeedsAuth(
        f"{name} is called on behalf of people with a token of {issuer}",
        hint="connect to `weft gateway` with such a token",
    )
