"""The verdicts of a policy: allow, ask or deny. Of several verdicts the strictest one wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace


class Allow(Struct, frozen=True, tag="allow"):
    rule: str = ""
    reason: str = ""


class Ask(Struct, frozen=True, tag="ask"):
    """The person decides. `hint` says how to allow it for good, `whole` all that a yes would allow."""

    rule: str
    reason: str
    hint: str = ""
    whole: str = ""


class Deny(Struct, frozen=True, tag="deny"):
    """`hint` says how to allow it."""

    rule: str
    reason: str
    hint: str = ""


Verdict = Allow | Ask | Deny
_SEVERITY: dict[type[Verdict], int] = {Allow: 0, Ask: 1, Deny: 2}


def severity(verdict: Verdict) -> int:
    """Allow < Ask < Deny."""
    return _SEVERITY[type(verdict)]


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The most severe verdict, the first one among equals; nobody objecting means Allow."""
    return max(verdicts, key=severity, default=Allow())


def combined(verdicts: Sequence[Verdict]) -> Verdict:
    """The first refusal. Else one question about all of it: a yes covers every reason, so every reason is in it."""
    first = strictest(verdicts)
    if not isinstance(first, Ask):
        return first if isinstance(first, Deny) else Allow()
    asks = [verdict for verdict in verdicts if isinstance(verdict, Ask)]
    reasons = dict.fromkeys(asked.reason for asked in asks)
    commands = dict.fromkeys(asked.whole for asked in asks if asked.whole)
    return replace(first, reason="; ".join(reasons), whole="\n".join(commands))
