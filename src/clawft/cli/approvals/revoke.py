"""`weft approvals revoke`: approvals are taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clawft.cli.approvals.book import book
from clawft.cli.approvals.confirmation import tell_all
from clawft.cli.approvals.named_tools import is_named, named_by
from clawft.cli.parser import Options
from clawft.cli.screen import one_line
from clawft.error_words import nearest
from clawft.errors import ServerNotFound
from clawft.policy.approval import Approval, covers


def run(options: Options) -> int:
    server, globs = named_by(options)
    gone: list[Approval] = []

    def without(known: tuple[Approval, ...]) -> Iterable[Approval]:
        gone.extend(_meant_by(known, server, globs))
        return [each for each in known if each not in gone]

    book().change(without)
    if not gone:
        raise ServerNotFound(
            f"nothing of {server} is approved{' under that name' if globs else ''}",
            hint=_approved_instead(server, globs),
        )
    return tell_all("revoked", gone, options)


def _approved_instead(server: str, globs: Sequence[str]) -> str:
    """The hint of the nearest name that is approved: a tool of this server, or a server."""
    tools = [each.tool for each in book().all() if each.server == server and each.tool]
    near = nearest(globs[0], tools) if globs and tools else nearest(server, {each.server for each in book().all()})
    return f"did you mean {one_line(near)}?" if near and near != server else "weft approvals list"


def _meant_by(known: Iterable[Approval], server: str, words: Sequence[str]) -> list[Approval]:
    """The approvals to revoke, with every glob that would approve one of the tools again on its next use."""
    mine = [each for each in known if each.server == server]
    named = [each for each in mine if not words or is_named(server, each.tool, words)]
    tools = {*(each.tool for each in named), *(word.removeprefix(f"{server}__") for word in words)}
    return [each for each in mine if each in named or (each.is_glob and any(covers(each.tool, one) for one in tools))]
