"""The approvals of the person, and whether they still hold. An approval is a pin: it holds for the text it is about.

| approval | about | holds for |
|---|---|---|
| of a tool | `server` and `tool` | the definition its `pin` was made of |
| of a launch | `server` alone | the command, or address, its `pin` was made of |
| of a glob | `server` and a glob, no `pin` | tools that match and are new; each is pinned when it is first used |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.policy.globs import MAX_HOSTILE_GLOB, any_matches
from clawft.policy.pin import ShownText, canonical, pin, read_shown
from clawft.policy.pseudo_tools import CALLED

RULE = "approval"
ANYONE = "*"
CLOCK_SKEW_SECONDS = 3_600.0
"""By which clocks of machines that share a home may differ."""


class Approval(Struct, frozen=True, omit_defaults=True):
    """One word of the person. `shown` is the text that was approved, for comparing it with what is there now."""

    server: str
    tool: str = ""
    pin: str = ""
    agent: str = ANYONE
    workspace: str = ANYONE
    principal: str = ANYONE
    granted: float = 0.0
    expires: float | None = None
    stamp: str = ""
    """Of a launch: what the program's file looked like from outside, so that it need not be read again."""
    shown: Raw | UnsetType = UNSET

    @property
    def key(self) -> tuple[str, ...]:
        """The key of the approval: there is one for one thing and one audience, and a later one takes its place."""
        return self.server, self.tool, self.agent, self.workspace, self.principal

    @property
    def is_glob(self) -> bool:
        return bool(self.tool) and not self.pin


class PinnedUse(Struct, frozen=True):
    """A use with its user and its form. An empty `tool` is the launch of the server."""

    server: str
    tool: str
    pin: str
    agent: str = ANYONE
    workspace: str = ANYONE
    principal: str = ANYONE
    local: bool = False
    """A file of the workspace names the server, and chose its name: what was said of others so called is not meant."""


class ApprovalStanding(Enum):
    APPROVED = "approved"
    NEW = "new"
    """A glob covers it, and from its first use on its pin counts."""
    CHANGED = "changed"
    """Something of this name was approved, but it said something else."""
    UNKNOWN = "unknown"


class UseStanding(Struct, frozen=True):
    """How a use stands, and the approval that says so."""

    standing: ApprovalStanding
    by: Approval | None = None


def judge(approvals: Sequence[Approval], use: PinnedUse, now: float) -> UseStanding:
    """The approvals of its server against one use. A pin that does not fit is never helped by a glob."""
    mine = [each for each in approvals if _is_for(each, use) and is_live(each, now)]
    pinned = [each for each in mine if each.pin and each.tool == use.tool]
    fitting = next((each for each in pinned if each.pin == use.pin), None)
    if fitting is not None:
        return UseStanding(ApprovalStanding.APPROVED, fitting)
    if pinned:
        return UseStanding(ApprovalStanding.CHANGED, max(pinned, key=lambda each: each.granted))
    covering = next((each for each in mine if each.is_glob and covers(each.tool, use.tool)), None)
    return (
        UseStanding(ApprovalStanding.NEW, covering) if covering is not None else UseStanding(ApprovalStanding.UNKNOWN)
    )


def covers(glob: str, tool: str) -> bool:
    """`p*` is said of tools: what a server has beside them (`prompts/get`) is meant by its name, or by `*`."""
    if not tool or len(glob) > MAX_HOSTILE_GLOB or (tool in CALLED and "/" not in glob and glob.strip("*")):
        return False  # one that is too long was in a file of somebody else's
    return any_matches((tool,), (glob,))


def is_live(approval: Approval, now: float) -> bool:
    """One that ends does not hold before it was granted either: then somebody has set the clock back."""
    return approval.expires is None or approval.granted - CLOCK_SKEW_SECONDS <= now < approval.expires


def turning_points(approval: Approval) -> tuple[float, ...]:
    """When it begins and ceases to be live; none for one that never ends."""
    return () if approval.expires is None else (approval.granted - CLOCK_SKEW_SECONDS, approval.expires)


def _is_for(approval: Approval, use: PinnedUse) -> bool:
    if use.local and approval.workspace != use.workspace:
        return False
    return approval.server == use.server and all(
        limits in (ANYONE, asked)
        for limits, asked in (
            (approval.agent, use.agent),
            (approval.workspace, use.workspace),
            (approval.principal, use.principal),
        )
    )


def with_added(approvals: Iterable[Approval], added: Iterable[Approval]) -> tuple[Approval, ...]:
    """All of them; of two about the same thing for the same audience the later."""
    by_key = {each.key: each for each in approvals}
    for each in added:
        by_key.pop(each.key, None)
        by_key[each.key] = each
    return tuple(by_key.values())


def approval_of(
    server: str,
    tool: str,
    shown: ShownText,
    now: float,
    *,
    expires: float | None = None,
    agent: str = ANYONE,
    workspace: str = ANYONE,
    principal: str = ANYONE,
) -> Approval:
    """The approval of this very text."""
    return Approval(server, tool, pin(shown), agent, workspace, principal, now, expires, shown=Raw(canonical(shown)))


def approved_text(approval: Approval) -> ShownText:
    """The text that the person was shown then; nothing if it was too long to keep, or is no such text."""
    return {} if approval.shown is UNSET else read_shown(bytes(approval.shown))
