"""Which tools a caller may see and call."""

from collections.abc import Iterable

from clawft.model import Grant
from clawft.policy.globs import any_matches

EVERYTHING = ("*",)


def visible(names: Iterable[str], grant: Grant) -> bool:
    """May the caller see the tool that goes by these names? Any name may be the one a glob means; deny wins."""
    if grant.allow == EVERYTHING and not grant.deny:
        return True
    known = tuple(names)
    return any_matches(known, grant.allow) and not any_matches(known, grant.deny)
