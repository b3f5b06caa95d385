"""Logins to the servers we relay to, from one vault, at addresses that are configured or allowed by the policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clawft.auth.no_credentials import NoCredentials
from clawft.auth.renewal import Renewal
from clawft.auth.server_login import Browser, Identity, ServerLogin
from clawft.auth.vault import Vault
from clawft.auth.web import MakeWeb, Web, trusting
from clawft.errors import LoginFailed
from clawft.link.base import Credentials
from clawft.link.http_out.fetch import Judge
from clawft.model import Allow
from clawft.policy.url import UrlPolicy, decide
from clawft.store.base import KeyValueStore
from clawft.upstream.spec import UpstreamSpec

if TYPE_CHECKING:  # most gateways know one person
    from clawft.auth.token_exchange import Exchanger


class ServerLogins:
    def __init__(self, home: Path, policy: UrlPolicy, exchanger: Exchanger | None = None) -> None:
        """`exchanger` exchanges people's tokens, if we serve people."""
        self.vault = Vault(home / "tokens").servers
        self._renewal = Renewal(self.vault)
        self._policy = policy
        self._exchanger = exchanger

    def credentials(self, spec: UpstreamSpec) -> Credentials:
        """The user's credentials; none for a server that is called in the name of people."""
        if spec.exchange is None:
            return self.of(spec)
        return NoCredentials(spec.name, self._exchanger.issuer if self._exchanger else "")

    def of_person(self, spec: UpstreamSpec, proof: str) -> Credentials:
        """Credentials in the name of the person who came with this proof."""
        asked = spec.exchange
        if asked is None or self._exchanger is None:
            return self.credentials(spec)
        from clawft.auth.token_exchange import ExchangedLogin, ExchangeTerms  # most gateways know one person

        to = asked.resource or ("" if asked.audience else spec.url)
        wanted = ExchangeTerms(asked.client_id, asked.client_secret, asked.audience, to, asked.scopes)
        return ExchangedLogin(spec.name, self._exchanger, wanted, proof)

    def of(self, spec: UpstreamSpec, store: KeyValueStore | None = None) -> ServerLogin:
        """The login for a link, which cannot log in itself, and says what is needed."""
        return ServerLogin(spec.name, spec.url, self._renewal, web_for(self._policy, [spec.url]), store=store)

    def with_browser(self, spec: UpstreamSpec, identity: Identity, browser: Browser) -> ServerLogin:
        make_web = web_for(self._policy, [spec.url])
        return ServerLogin(spec.name, spec.url, self._renewal, make_web, identity=identity, browser=browser)

    async def close(self) -> None:
        await self._renewal.close()


def web_for(policy: UrlPolicy, configured: Sequence[str]) -> MakeWeb:
    """Makes the HTTP access of logins: `configured` addresses are trusted, others are judged by the policy."""
    return lambda near: Web(trusting(configured, judge_by(policy)), near)


def web_of_issuer(policy: UrlPolicy, issuer: str, jwks_url: str = "") -> Web:
    """The HTTP access to the issuer of our callers' tokens: configured addresses are trusted, others are judged."""
    return web_for(policy, [issuer, jwks_url])(issuer)


def judge_by(policy: UrlPolicy) -> Judge:
    def judge(url: str, addresses: Sequence[str]) -> None:
        verdict = decide(url, addresses, policy)
        if not isinstance(verdict, Allow):
            raise LoginFailed(f"{url}: {verdict.reason}", hint=verdict.hint)

    return judge
