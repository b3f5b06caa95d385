"""Explains the verdict of every rule of `security` on a call, for people; the guard itself needs only the strictest
verdict.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from clawft.guard.security import Resolve, named_only, resolve_host, what_is_judged
from clawft.model import Allow, Deny, Verdict
from clawft.policy import arguments as found_in
from clawft.policy import command, url
from clawft.policy.command import CommandPolicy
from clawft.policy.url import UrlPolicy

ADDRESS_RULE = "url-address"


class RuleVerdict(Struct, frozen=True):
    """A rule's verdict, and what it looked at."""

    at: str
    rule: str
    verdict: Verdict


async def explained(
    tool: str, arguments: bytes, commands: CommandPolicy, urls: UrlPolicy, resolve: Resolve = resolve_host
) -> list[RuleVerdict]:
    """The verdicts on all that the guard would look at; the strictest is the guard's."""
    if not found_in.suspicious(arguments):
        return []
    judged = what_is_judged(arguments, named_only(tool))
    if isinstance(judged, Deny):
        return [RuleVerdict("arguments", judged.rule, judged)]
    lines = [
        RuleVerdict(f"{path}: {line}", rule, verdict)
        for path, line in found_in.commands(judged)
        for rule, verdict in command.explain(line, commands)
    ]
    return lines + [each async for each in _addresses(judged, urls, resolve)]


async def _addresses(judged: Mapping[str, Any], urls: UrlPolicy, resolve: Resolve) -> AsyncIterator[RuleVerdict]:
    for path, address in found_in.urls(judged):
        host = url.host_of(address)
        is_name = bool(host) and not url.literal_addresses(host)
        addresses = await resolve(host) if is_name else ()
        for rule, verdict in url.explain(address, addresses, urls):
            told = looked_up(host, addresses, verdict) if is_name and rule == ADDRESS_RULE else verdict
            yield RuleVerdict(f"{path}: {address}", rule, told)


def looked_up(host: str, addresses: Sequence[str], verdict: Verdict) -> Verdict:
    """The verdict with the addresses that were found: an Allow is worth no more than those."""
    if not isinstance(verdict, Allow):
        return verdict
    if not addresses:
        return Allow(verdict.rule, f"no address was found for {host}, so there is none to check")
    return Allow(verdict.rule, f"{host} resolves to: {', '.join(addresses)}")
