"""Decides which tools a caller may see and call."""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from clawft.model import Grant
from clawft.policy.globs import COMPILED_GLOBS_KEPT, any_matches, may_begin

EVERYTHING = ("*",)


class GrantRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Tools for whoever a token names so; a rule that names nobody is for everyone."""

    subject: str = ""
    group: str = ""
    scope: str = ""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def is_for(self, subject: str, groups: Collection[str], scopes: Collection[str]) -> bool:
        """All that the rule names must be true of the caller."""
        return (
            self.subject in ("", subject)
            and (not self.group or self.group in groups)
            and (not self.scope or self.scope in scopes)
        )


def grant_for(
    rules: Sequence[GrantRule], subject: str, groups: Collection[str], scopes: Collection[str], *, within: Grant
) -> Grant:
    """The tools that the rules for this caller allow together, less those that any of them denies. No rule, no tool."""
    own = [rule for rule in rules if rule.is_for(subject, groups, scopes)]
    allow = tuple(dict.fromkeys(glob for rule in own for glob in rule.allow))
    deny = tuple(dict.fromkeys((*within.deny, *(glob for rule in own for glob in rule.deny))))
    return Grant(allow, deny, within.allow)


def visible(names: Iterable[str], grant: Grant) -> bool:
    """Whether the caller may see the tool that goes by these names. Any name may be the one a glob means; deny wins."""
    if grant.allow == EVERYTHING and not grant.deny and grant.within == EVERYTHING:
        return True
    known = tuple(names)
    return all(any_matches(known, globs) for globs in (grant.allow, grant.within)) and not hides(grant.deny, known)


def hides(deny: tuple[str, ...], names: Iterable[str]) -> bool:
    """Whether a glob means the tool that goes by these names, be it by the bare one.

    To allow it takes one of its names: what is bare may be a tool of a stranger's server tomorrow.
    """
    return any_matches(names, _with_any_prefix(deny))


@lru_cache(maxsize=COMPILED_GLOBS_KEPT)
def _with_any_prefix(globs: tuple[str, ...]) -> tuple[str, ...]:
    return (*globs, *(f"*__{glob}" for glob in globs if glob and "__" not in glob and ":" not in glob))


def may_see_some(heads: Sequence[str], grant: Grant) -> bool:
    """Whether the caller could see any tool whose names begin like this. Yes, in doubt."""
    if any_matches(heads, tuple(glob for glob in grant.deny if glob.endswith("*"))):  # whatever follows
        return False
    return all(any(may_begin(glob, head) for glob in globs for head in heads) for globs in (grant.allow, grant.within))
