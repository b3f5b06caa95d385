"""What a policy says: allow, ask or deny."""

from __future__ import annotations

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
