"""The book of approvals, as the commands of `weft approvals` read it."""

from __future__ import annotations

from clawft.config.places import home_folder
from clawft.errors import ClawftError
from clawft.guard.approval.book import Approvals, read

NOTHING_APPROVED = "nothing is approved yet; tools of untrusted servers ask when they are first called"


class NothingApproved(ClawftError):
    blame = "the caller"


def nothing_approved(server: str) -> NothingApproved:
    return NothingApproved(f"nothing of {server} is approved", hint="weft approvals list")


def book() -> Approvals:
    """Raises InvalidConfig where a running weft would go on without approvals."""
    found = Approvals(home_folder())
    read(found.path)
    found.look()
    return found
