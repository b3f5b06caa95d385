"""Logins to servers: the user's own, and those of people who come with a token.

Loaded with the first server over HTTP, or where tokens of an issuer count.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from clawft.config.places import ask_to_reconnect, offers_folder
from clawft.config.settings import Settings
from clawft.provider.server.logins import ServerLogins, web_of_issuer

if TYPE_CHECKING:  # most gateways know one person
    from clawft.auth.proofs import Proofs
    from clawft.auth.token_exchange import Exchanger
    from clawft.provider.server.login_offers import LoginOffers


class Logins:
    def __init__(self, settings: Settings, exchanges: Callable[[], bool]) -> None:
        """`exchanges`: tells whether any server is called in people's names now."""
        self._settings = settings
        self._exchanges = exchanges
        self._offers: LoginOffers | None = None

    @cached_property
    def to_servers(self) -> ServerLogins:
        """Logins from the user's vault."""
        return ServerLogins(self._settings.home, self._settings.url_policy, self._exchanger())

    def _exchanger(self) -> Exchanger | None:
        settings = self._settings
        if not settings.auth_issuer:
            return None
        from clawft.auth.token_exchange import Exchanger  # most gateways know one person

        return Exchanger(settings.auth_issuer, web_of_issuer(settings.url_policy, settings.auth_issuer), self.proofs)

    @cached_property
    def proofs(self) -> Proofs:
        """The tokens people came with, for servers that are called in their name."""
        from clawft.auth.proofs import Proofs  # most gateways know one person

        return Proofs(self._exchanges)

    @property
    def offers(self) -> LoginOffers:
        """The addresses at which a person can log in to servers that want it."""
        if self._offers is None:
            from clawft.provider.server.login_offers import LoginOffers  # only while we serve

            home = self._settings.home
            self._offers = LoginOffers(offers_folder(home), self.to_servers, lambda name: ask_to_reconnect(home, name))
        return self._offers

    async def close(self) -> None:
        if self._offers is not None:
            await self._offers.close()
        if "to_servers" in vars(self):  # cached: nobody may have asked
            await self.to_servers.close()
