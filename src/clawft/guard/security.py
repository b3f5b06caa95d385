"""Security: commands and addresses in the arguments of any tool, ours or a server's, are judged before it runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, cast

import msgspec

from clawft.link.http_out.names import LOOKUPS
from clawft.model import Allow, Ask, Call, Deny, Next, Origin, Question, Reply, Tool, Verdict
from clawft.policy import arguments as found_in
from clawft.policy import command, url
from clawft.policy.command import CommandPolicy
from clawft.policy.url import UrlPolicy

RESOLVE_SECONDS = 3.0

NAMED_ONLY = {"oauth2__authorize": frozenset({"redirect_uri"})}
"""Arguments of our own tools that name an address nobody here connects to: the browser goes there, on loopback."""

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a host name; empty if there are none."""

_arguments = msgspec.json.Decoder(dict[str, Any])
_SIMPLER = "send them as plain JSON, each key once"
_KEY = re.compile(rb'"\s*:')


class Security:
    def __init__(self, commands: CommandPolicy, urls: UrlPolicy, resolve: Resolve | None = None) -> None:
        self._commands = commands
        self._urls = urls
        self._resolve = resolve or resolve_host

    def applies(self, tool: Tool, origin: Origin) -> bool:
        return True

    def passes(self, call: Call) -> bool:
        return not found_in.suspicious(call.arguments)

    def __call__(self, call: Call, after: Next) -> Awaitable[Reply]:
        return after(call) if self.passes(call) else self._judged(call, after)

    async def _judged(self, call: Call, after: Next) -> Reply:
        verdict = await self.judge(call.arguments, NAMED_ONLY.get(call.name, frozenset()))
        if isinstance(verdict, Ask) and await _person_allows(call, verdict):
            return await after(call)
        if isinstance(verdict, Allow):
            return await after(call)
        told = f"refused by the rule {verdict.rule}: {verdict.reason}"
        return Reply.error(f"{told} ({verdict.hint})" if verdict.hint else told, refused=verdict.rule)

    async def judge(self, arguments: bytes, named: frozenset[str] = frozenset()) -> Verdict:
        """The strictest word on these arguments, but for addresses in those of them that only name a place."""
        try:
            decoded = _arguments.decode(arguments)
        except (msgspec.DecodeError, RecursionError) as wrong:  # a number too large, say: another reader may manage
            return Deny("unreadable", f"the arguments cannot be judged: {wrong}", _SIMPLER)
        if _is_ambiguous(arguments, decoded):
            return Deny(
                "unreadable", "a key occurs twice in the arguments, so the tool may read another value", _SIMPLER
            )
        asks: list[Ask] = []
        judged = {key: value for key, value in decoded.items() if key not in named} if named else decoded
        async for _, verdict in self.verdicts(judged):
            if isinstance(verdict, Deny):
                return verdict
            if isinstance(verdict, Ask):
                asks.append(verdict)
        return _together(asks) if asks else Allow()

    async def verdicts(self, decoded: dict[str, Any]) -> AsyncIterator[tuple[str, Verdict]]:
        """Each command and address found, and what the rules say of it; also what `weft policy explain` shows."""
        for path, line in found_in.commands(decoded):
            yield f"{path}: {line}", command.decide(line, self._commands)
        for path, address in found_in.urls(decoded):
            yield f"{path}: {address}", await self._judge_url(address)

    async def _judge_url(self, address: str) -> Verdict:
        early = url.decide(address, (), self._urls)
        host = url.host_of(address)
        if isinstance(early, Deny) or not host or url.literal_addresses(host):
            return early
        return url.decide(address, await self._resolve(host), self._urls)


def _is_ambiguous(raw: bytes, decoded: dict[str, Any]) -> bool:
    """Does a key occur twice in one object? Readers differ in which of the two they take."""
    if len(_KEY.findall(raw)) == _count_keys(decoded):
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
    """Asks the system. A name that does not resolve has no address to judge; whoever connects will find out."""
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await LOOKUPS.find(host, None)
    except (OSError, TimeoutError, UnicodeError):
        return ()
    return [address for _, address in found]


async def _person_allows(call: Call, asked: Ask) -> bool:
    """Ask where the agent can pass the question on; elsewhere the answer is no."""
    if not call.caller.capabilities.elicit_form:
        return False
    question = Question(
        "elicitation/create",
        {
            "mode": "form",
            "message": f"{call.name} wants to do this: {asked.reason}. Allow it once?",
            "requestedSchema": {
                "type": "object",
                "properties": {"allow": {"type": "boolean", "title": "Allow once", "default": False}},
                "required": ["allow"],
            },
        },
    )
    answer = (await call.talk.ask({"weft_allow": question}))["weft_allow"]
    return answer.get("action") == "accept" and (answer.get("content") or {}) == {"allow": True}


def _together(asks: Sequence[Ask]) -> Ask:
    """One question about all of it: a yes covers every reason, so every reason is in it."""
    reasons = dict.fromkeys(asked.reason for asked in asks)
    return msgspec.structs.replace(asks[0], reason="; ".join(reasons))
