"""Authenticates callers over HTTP, by the settings: one token, tokens of an issuer, or everybody on this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from clawft.config.settings import Settings
from clawft.errors import ClawftError, InvalidConfig
from clawft.gateway.http.access import LOOPBACK_HOSTS, Access, open_to_all, with_token
from clawft.model import Caller
from clawft.policy.address import is_loopback, literal_addresses

if TYPE_CHECKING:  # most gateways know one token
    from clawft.auth.proofs import Proofs
    from clawft.gateway.http.people import People


log = logging.getLogger("clawft.http")


class Entrance:
    """Authenticates callers. `people` is None unless tokens of an issuer are accepted."""

    def __init__(
        self, settings: Settings, caller: Caller, host: str, token: str | None, proofs: Proofs | None = None
    ) -> None:
        """`token` None means open to all, which is for loopback only. `proofs` keeps the tokens people came with."""
        if token is None and (not is_loopback(host) or settings.auth_issuer):
            raise InvalidConfig(f"no token on {host}: that would be open to everyone", hint="leave out --no-auth")
        authenticate = open_to_all(caller) if token is None else with_token(token, caller)
        self.people = _people(settings, caller, proofs) if settings.auth_issuer else None
        self.access = Access(
            self.people.behind(authenticate) if self.people else authenticate,
            _names(host) | _host_of(settings.auth_audience) if is_loopback(host) else None,
            self.people.metadata if self.people else None,
        )

    async def follow(self, told: Settings, changed: Callable[[], None]) -> None:
        """Apply changed rules for people, until cancelled. If the files cannot be read, the rules stay as they are."""
        from clawft.config.load import files, load  # only where people log in
        from clawft.config.watch import Stamps, stamps, watch

        def look() -> Stamps:
            return stamps(files(told.home, told.agent))

        async def apply(before: Stamps, now: Stamps) -> None:
            try:
                rules = load(told.home, told.workspace, told.agent).settings.auth_grants
            except (ClawftError, OSError) as wrong:
                log.error("the changed rules of gateway.auth are not applied: %s", wrong)
                return
            if self.people is not None and self.people.set_rules(rules):
                changed()

        if self.people is not None:
            await watch(look, look(), apply)

    def opened(self, url: str) -> None:
        """Note our address, which callers are told."""
        if self.people is not None:
            self.people.serve_at(url)


def _people(told: Settings, caller: Caller, proofs: Proofs | None) -> People:
    """The callers with tokens of the configured issuer."""
    from clawft.auth.bearer import Verifier, check_installed  # most gateways know one token
    from clawft.gateway.http.people import People
    from clawft.provider.server.logins import web_of_issuer

    check_installed()
    web = web_of_issuer(told.url_policy, told.auth_issuer, told.auth_jwks_url)
    verifier = Verifier(
        told.auth_issuer, told.auth_audience, web, jwks_url=told.auth_jwks_url, group_claim=told.auth_groups
    )
    return People(verifier, caller, told.auth_grants, told.auth_scopes, proofs)


def _names(host: str) -> frozenset[str]:
    """The host names by which clients on this machine may call us: the usual ones, and the address we listen on."""
    return LOOPBACK_HOSTS | {f"[{address}]" if ":" in address else address for address in literal_addresses(host)}


def _host_of(url: str) -> frozenset[str]:
    """The host name of the configured public URL, if there is one."""
    host = urlsplit(url).hostname
    return frozenset({host}) if host else frozenset()
