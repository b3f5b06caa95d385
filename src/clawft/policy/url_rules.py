"""The rules for URLs, tried in order; the first that objects decides."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.model import Allow, Deny, Verdict
from clawft.policy.address import judge, literal_addresses, looks_numeric
from clawft.policy.globs import any_matches

if TYPE_CHECKING:
    from clawft.policy.url import UrlPolicy

MAX_PORT = 65_535

_SHAPE = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?//([^/?#]*)", re.DOTALL)
_ODD = re.compile(r"[\x00-\x20\x7f\\]")
_ODD_IN_HOST = re.compile(r"[\x00-\x20\x7f\\/?#@<>^|%\[\]]")
_STRIPPED_BY_BROWSERS = re.compile(r"[\t\r\n]")
_HOST_PORT = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::(\d{0,5}))?")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_METADATA_NAMES = ("metadata", "metadata.*", "instance-data", "instance-data.*")


class UrlParts(Struct, frozen=True):
    """The judged parts of a URL. `scheme` is "" in `//host`; `host` is lower case, unescaped, without brackets."""

    url: str
    scheme: str
    authority: str
    host: str
    port: str

    def names(self) -> tuple[str, str]:
        return self.host, f"{self.host}:{self.port}"

    @property
    def narrowest(self) -> str:
        """The name to allow for this URL alone: another port of the host may be another service."""
        return self.names()[1] if self.port else self.host


def split(url: str) -> UrlParts | None:
    """None if this is not a URL with a host."""
    found = _SHAPE.match(url)
    if found is None:
        return None
    scheme, authority = (found[1] or "").lower(), found[2]
    host_port = _HOST_PORT.fullmatch(authority.rpartition("@")[2])
    if host_port is None or int(host_port[2] or 0) > MAX_PORT:
        return UrlParts(url, scheme, authority, "", "")
    return UrlParts(url, scheme, authority, _plain_host(host_port[1]), host_port[2] or "")


def _plain_host(host: str) -> str:
    if host.startswith("["):
        return host[1:-1].lower()
    unescaped = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), host)
    if not unescaped.isascii():
        import unicodedata  # only hosts with foreign letters pay for its tables

        unescaped = unicodedata.normalize("NFKC", unescaped).replace("。", ".")
    return unescaped.lower().removesuffix(".")


# ── the rules ────────────────────────────────────────────────────────────────────────────────────────────────────────


class UrlFacts(Struct, frozen=True):
    """One URL, the addresses its name has, and the policy: all that a rule may look at."""

    parts: UrlParts
    addresses: tuple[str, ...]
    policy: "UrlPolicy"


class UrlRule(Struct, frozen=True):
    name: str
    objection: Callable[[UrlFacts], str]
    """Why not, or ""."""
    hint: str


def _malformed(facts: UrlFacts) -> str:
    parts = facts.parts
    before_path = parts.url.partition("//")[0] + parts.authority
    if _ODD.search(before_path) or _STRIPPED_BY_BROWSERS.search(parts.url):
        return "it contains blanks, control characters or backslashes that programs read differently"
    readable = parts.host and (":" in parts.host or not _ODD_IN_HOST.search(parts.host))
    return "" if readable else "its host cannot be parsed"


def _scheme(facts: UrlFacts) -> str:
    scheme = facts.parts.scheme
    return "" if not scheme or scheme in facts.policy.schemes else f"the scheme {scheme}:// is not allowed"


def _credentials(facts: UrlFacts) -> str:
    return "it carries a user name or password" if "@" in facts.parts.authority else ""


def _denied_host(facts: UrlFacts) -> str:
    return "the host is refused by the policy" if any_matches(facts.parts.names(), facts.policy.deny_hosts) else ""


def _metadata(facts: UrlFacts) -> str:
    named = any_matches([facts.parts.host], _METADATA_NAMES) and not _host_allowed(facts)
    return "the host is a cloud metadata service" if named else ""


def _numeric(facts: UrlFacts) -> str:
    host = facts.parts.host
    must_be_address = ":" in host or looks_numeric(host)
    return "the host is a number but not a valid address" if must_be_address and not literal_addresses(host) else ""


def _address(facts: UrlFacts) -> str:
    if _host_allowed(facts):
        return ""
    meant = (*literal_addresses(facts.parts.host), *facts.addresses)
    objections = (judge(address, facts.policy.allow_networks) for address in meant)
    return next((f"{facts.parts.host} is {objection}" for objection in objections if objection), "")


def _host_allowed(facts: UrlFacts) -> bool:
    return any_matches(facts.parts.names(), facts.policy.allow_hosts)


_HOST_HINT = 'to allow it, in config.toml: security.url_policy.allow_hosts = ["{host}"]'

RULES: tuple[UrlRule, ...] = (
    UrlRule("url-malformed", _malformed, "write it as https://host/path"),
    UrlRule("url-scheme", _scheme, "use https, or add the scheme to security.url_policy.schemes"),
    UrlRule("url-credentials", _credentials, "leave them out of the URL; pass them as a header or a configured secret"),
    UrlRule("url-denied-host", _denied_host, "see security.url_policy.deny_hosts"),
    UrlRule("url-metadata", _metadata, _HOST_HINT),
    UrlRule("url-numeric-host", _numeric, "write the address as a.b.c.d"),
    UrlRule("url-address", _address, _HOST_HINT + " or its network in security.url_policy.allow_networks"),
)
"""In the order they are tried."""


def verdicts_of(facts: UrlFacts) -> list[tuple[str, Verdict]]:
    """The verdict of each rule by its name, up to the first that objects."""
    verdicts: list[tuple[str, Verdict]] = []
    for rule in RULES:
        objection = rule.objection(facts)
        if objection:
            hint = rule.hint.replace("{host}", facts.parts.narrowest)
            return [*verdicts, (rule.name, Deny(rule.name, objection, hint))]
        verdicts.append((rule.name, Allow(rule.name)))
    return verdicts
