"""Decides whether a URL may be fetched. Named rules are tried in order; the first that objects decides.

Names are not resolved here: whoever connects resolves, passes every address, and connects to nothing else.
"""

from collections.abc import Sequence

from msgspec import Struct

from clawft.model import Allow, Deny, Verdict

MAX_URL = 8_192


class UrlPolicy(Struct, frozen=True):
    """`allow_hosts`, `deny_hosts`: globs over `host` and `host:port`; `allow_networks`: CIDR blocks. Deny wins."""

    schemes: tuple[str, ...] = ("http", "https")
    allow_hosts: tuple[str, ...] = ()
    deny_hosts: tuple[str, ...] = ()
    allow_networks: tuple[str, ...] = ()


DEFAULT = UrlPolicy()


def host_of(url: str) -> str:
    """The host a fetch would go to, or "" if the URL has none that can be read."""
    from clawft.policy.url_rules import split  # patterns to compile: only once there is a URL to judge

    parts = split(url) if len(url) <= MAX_URL else None
    return parts.host if parts else ""


def literal_addresses(host: str) -> tuple[str, ...]:
    """The addresses a host means without asking any name server: all readings of 127.1, 0x7f.1, 017700000001, [::1]."""
    from clawft.policy import address  # only once there is a host to judge

    return address.literal_addresses(host)


def decide(url: str, addresses: Sequence[str] = (), policy: UrlPolicy = DEFAULT) -> Verdict:
    """The first objection, or Allow. `addresses`: everything the host's name resolves to. Never raises."""
    return next((verdict for _, verdict in explain(url, addresses, policy) if isinstance(verdict, Deny)), Allow("url"))


def explain(url: str, addresses: Sequence[str] = (), policy: UrlPolicy = DEFAULT) -> list[tuple[str, Verdict]]:
    """The verdict of each rule by its name, up to the first that objects."""
    from clawft.policy.url_rules import (  # patterns to compile: only once there is a URL to judge
        UrlFacts,
        split,
        verdicts_of,
    )

    if len(url) > MAX_URL:
        return [("url-too-long", Deny("url-too-long", f"the URL is longer than {MAX_URL} characters", "shorten it"))]
    parts = split(url)
    if parts is None:
        return [
            ("url-malformed", Deny("url-malformed", "this is not a URL with a host", "write it as https://host/path"))
        ]
    return verdicts_of(UrlFacts(parts, tuple(addresses), policy))
