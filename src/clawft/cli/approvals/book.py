"""The book of approvals, as the commands of `weft approvals` read it."""

from __future__ import annotations

from clawft.cli.screen import one_line
from clawft.config.places import home_folder
from clawft.errors import ClawftError, quoted
from clawft.guard.approval.book import Approvals, read

NOTHING_APPROVED = "nothing is approved yet; tools of untrusted servers ask when they are first called"


class NothingApproved(ClawftError):
    blame = "the caller"


def nothing_approved(server: str, tool: str | None = None) -> NothingApproved:
    """Of the server, or of this tool of it."""
    if tool is not None and any(each.server == server for each in book().all()):
        what = one_line(f"{tool} of {server}")
        return NothingApproved(f"{what} is not approved", hint=f"weft approvals list {quoted(server)}")
    return NothingApproved(f"nothing of {server} is approved", hint="weft approvals list")


def book() -> Approvals:
    """Raises InvalidConfig where a running weft would go on without approvals."""
    found = Approvals(home_folder())
    read(found.path)
    found.look()
    return found
