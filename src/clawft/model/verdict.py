"""What a policy says: allow, ask or deny. Of several verdicts the strictest one wins."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


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
