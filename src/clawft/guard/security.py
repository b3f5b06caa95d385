"""The security guard: judges commands and addresses in the arguments of any tool before it runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from clawft.guard.pipeline import QuickGuard, hands_on
from clawft.link.share.large_messages import in_worker
from clawft.model import Allow, Ask, Call, Deny, Next, Origin, Reply, Tool, Verdict
from clawft.model.verdict import combined
from clawft.policy import arguments as found_in
from clawft.policy import command, url
from clawft.policy.command import CommandPolicy
from clawft.policy.url import UrlPolicy
from clawft.wire.visible import visible_text

RESOLVE_SECONDS = 3.0
JUDGE_SECONDS = 10.0
"""Time for all host names of one call: many slow ones would otherwise take a day."""
HOSTS_AT_ONCE = 4
"""Host names of one call that are looked up at a time: as many as a zone may have, so that none waits for another."""
AT_ONCE_BYTES = 2 * 1024
"""Arguments up to this size are judged in the event loop: the worst take a few milliseconds."""
LONG_BYTES = 64 * 1024
"""Above this size even the check whether there is anything to judge takes that long."""

NAMED_ONLY = {"oauth2__authorize": frozenset({"redirect_uri"})}
"""Arguments of our own tools with an address that we do not connect to: the browser does, on loopback."""

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a host name; empty if there are none."""

T = TypeVar("T")

_arguments = msgspec.json.Decoder(dict[str, Any])
_SIMPLER = "send them as plain JSON, each key once"
_FEWER = "name fewer hosts in one call"
_KEY = rb'"\s*:'


class Security(QuickGuard):
    def __init__(self, commands: CommandPolicy, urls: UrlPolicy, resolve: Resolve | None = None) -> None:
        self._commands = commands
        self._urls = urls
        self._resolve = resolve or resolve_host

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return not hands_on(tool, origin)

    def passes(self, call: Call) -> bool:
        return len(call.arguments) <= LONG_BYTES and not found_in.suspicious(call.arguments)

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        return after(call) if self.passes(call) else self._judged(call, after)

    async def _judged(self, call: Call, after: Next) -> Reply:
        verdict = await self.judge(call.arguments, named_only(call.name), call.caller.principal)
        if isinstance(verdict, Allow):
            return await after(call)
        why_not = ""
        if isinstance(verdict, Ask):
            from clawft.guard.security_question import Unanswered, allowed_by_person  # few calls lead to a question

            answer = await allowed_by_person(call, verdict)
            if answer is True:
                return await after(call)
            if isinstance(answer, Unanswered):
                why_not = f"; nobody answered whether it may: {answer.why}"
        reason = f"refused by the rule {verdict.rule}: {visible_text(verdict.reason)}{why_not}"
        return Reply.error(f"{reason} ({verdict.hint})" if verdict.hint else reason, refused=verdict.rule)

    async def judge(self, arguments: bytes, named: frozenset[str] = frozenset(), whose: str = "") -> Verdict:
        """The strictest verdict on these arguments, leaving out those in `named`, which only name a place.

        Judging may take half a second, so it is done in a thread, in turn with other calls.
        """
        found = await _worked_on(arguments, whose, partial(self._look, arguments, named))
        early = combined(found.verdicts)
        if isinstance(early, Deny) or not found.resolve:
            return early
        try:
            async with asyncio.timeout(JUDGE_SECONDS):
                places = await self._find(dict.fromkeys(host for _, host in found.resolve))
        except TimeoutError:
            return Deny("unreadable", f"resolving the hosts it names takes longer than {JUDGE_SECONDS:g} s", _FEWER)
        return await _worked_on(arguments, whose, partial(self._judge_places, found, places))

    async def _find(self, hosts: Collection[str]) -> Mapping[str, Sequence[str]]:
        """The addresses of each host."""
        places: dict[str, Sequence[str]] = {}
        waiting = iter(hosts)

        async def find() -> None:
            for host in waiting:
                places[host] = await self._resolve(host)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(HOSTS_AT_ONCE, len(hosts))):
                group.create_task(find())
        return places

    def _look(self, arguments: bytes, named: frozenset[str]) -> _Found:
        """All verdicts that need no addresses. Pure."""
        if not found_in.suspicious(arguments):
            return _Found(())
        judged = what_is_judged(arguments, named)
        if isinstance(judged, Deny):
            return _Found((judged,))
        texts = found_in.search_arguments(judged)
        lines = dict.fromkeys(line for _, line in found_in.commands_of(texts))
        hosts = {address: url.host_of(address) for _, address in texts.urls}
        plain = (url.decide(address, (), self._urls) for address in hosts)
        named_hosts = ((address, host) for address, host in hosts.items() if _is_name(host))
        return _Found((*map(self._judge_line, lines), *plain), tuple(named_hosts))

    def _judge_places(self, found: _Found, places: Mapping[str, Sequence[str]]) -> Verdict:
        late = (url.decide(address, places[host], self._urls) for address, host in found.resolve)
        return combined([*found.verdicts, *late])

    def _judge_line(self, line: str) -> Verdict:
        """The verdict on one line. A rule names one program of it, and the person's yes counts for the whole line."""
        verdict = command.decide(line, self._commands)
        return msgspec.structs.replace(verdict, whole=line) if isinstance(verdict, Ask) else verdict


class _Found(Struct, frozen=True):
    """`resolve`: URLs with their host names, which are judged again once the addresses are known."""

    verdicts: tuple[Verdict, ...]
    resolve: tuple[tuple[str, str], ...] = ()


async def _worked_on(arguments: bytes, whose: str, work: Callable[[], T]) -> T:
    return await in_worker(whose, work) if len(arguments) > AT_ONCE_BYTES else work()


def named_only(tool: str) -> frozenset[str]:
    """The arguments of this tool that are not judged."""
    return NAMED_ONLY.get(tool, frozenset())


def what_is_judged(arguments: bytes, named: frozenset[str]) -> Mapping[str, Any] | Deny:
    """The arguments without those that only name a place; a Deny if they cannot be decoded unambiguously."""
    try:
        decoded = _arguments.decode(arguments)
    except (msgspec.DecodeError, RecursionError) as wrong:  # a number too large, say, which another reader may accept
        return Deny("unreadable", f"the arguments cannot be checked: {wrong}", _SIMPLER)
    if is_ambiguous(arguments, decoded):
        twice = "a key occurs twice in the arguments, so the tool may read another value"
        return Deny("unreadable", twice, _SIMPLER)
    return {key: value for key, value in decoded.items() if key not in named} if named else decoded


def _is_name(host: str) -> bool:
    return bool(host) and not url.literal_addresses(host)


def is_ambiguous(raw: bytes, decoded: dict[str, Any]) -> bool:
    """Whether a key occurs twice in one object: readers differ in which of the two they take."""
    if len(re.findall(_KEY, raw)) == _count_keys(decoded):
        return False
    import json  # few arguments come here: those with a quote and a colon inside a string

    twice = False

    def look(pairs: list[tuple[str, object]]) -> None:
        nonlocal twice
        twice = twice or len(dict(pairs)) != len(pairs)

    json.loads(raw, object_pairs_hook=look, parse_int=str, parse_float=str)
    return twice


def _count_keys(decoded: object) -> int:
    count = 0
    waiting = [decoded]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            count += len(members)
            waiting.extend(members.values())
        elif isinstance(value, list):
            waiting.extend(cast("list[object]", value))
    return count


async def resolve_host(host: str) -> Sequence[str]:
    """The addresses of a host by the system; none for a name that does not resolve, to which nobody will connect."""
    from clawft.link.http_out.dns import LOOKUPS  # few calls name a host

    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await LOOKUPS.find(host, None)
    except (OSError, TimeoutError, UnicodeError):
        return ()
    return [address for _, address in found]
