"""The book of approvals, as the commands of `weft approvals` read it."""

from __future__ import annotations

from clawft.cli.screen import one_line
from clawft.config.places import home_folder
from clawft.error_words import nearest, quoted
from clawft.errors import ClawftError
from clawft.guard.approval.book import Approvals, read

NOTHING_APPROVED = "nothing is approved yet; tools of untrusted servers ask when they are first called"


class NothingApproved(ClawftError):
    blame = "the caller"


def nothing_approved(server: str, tool: str | None = None) -> NothingApproved:
    """Of the server, or of this tool of it."""
    servers = {each.server for each in book().all()}
    if tool is not None and server in servers:
        what = one_line(f"{tool} of {server}")
        return NothingApproved(f"{what} is not approved", hint=f"weft approvals list {quoted(server)}")
    near = nearest(server, servers)
    hint = f"did you mean {one_line(near)}?" if near and near != server else "weft approvals list"
    return NothingApproved(f"nothing of {server} is approved", hint=hint)


def book() -> Approvals:
    """Raises InvalidConfig where a running weft would go on without approvals."""
    found = Approvals(home_folder())
    read(found.path)
    found.look()
    return found
