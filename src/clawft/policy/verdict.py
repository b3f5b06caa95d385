"""How verdicts combine: the strictest one wins."""

from collections.abc import Iterable

from clawft.model import Allow, Ask, Deny, Verdict

_SEVERITY: dict[type[Verdict], int] = {Allow: 0, Ask: 1, Deny: 2}


def severity(verdict: Verdict) -> int:
    """Allow < Ask < Deny."""
    return _SEVERITY[type(verdict)]


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The most severe verdict, the first one among equals; nobody objecting means Allow."""
    return max(verdicts, key=severity, default=Allow())
