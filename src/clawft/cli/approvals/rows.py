"""An approval as a row of a table, or as an object of JSON."""

from __future__ import annotations

import time
from collections.abc import Container, Mapping, Sequence
from typing import Any

from clawft.cli.screen import one_line, width
from clawft.policy.approval import ANYONE, Approval, is_live

MOMENTS, MINUTE, DAY = ("GRANTED", "EXPIRES"), len("2026-07-28T12:00"), len("2026-07-28")
LAUNCH = "(launch)"
"""The name in place of a tool where the approval is about starting the server."""


def described(each: Approval, now: float, changed: Container[tuple[str, str]] = ()) -> dict[str, Any]:
    """`changed`: servers, each with its workspace, that would start something else than was approved."""
    scopes = (("agent", each.agent), ("workspace", each.workspace), ("caller", each.principal))
    narrowed = [f"{what} {who}" for what, who in scopes if who != ANYONE]
    return {
        "server": each.server,
        "tool": each.tool or LAUNCH,
        "state": _state(each, now, changed),
        "granted": _moment(each.granted),
        "expires": _moment(each.expires) if each.expires is not None else "",
        "holds_for": ", ".join(narrowed) or "everyone",
        "agent": each.agent,
        "workspace": each.workspace,
        "caller": each.principal,
        "pin": each.pin,
    }


def _state(each: Approval, now: float, changed: Container[tuple[str, str]]) -> str:
    if not is_live(each, now):
        return "expired"
    if each.is_glob:
        return "glob: new tools too"
    return "changed" if not each.tool and (each.server, each.workspace) in changed else "approved"


def _moment(when: float) -> str:
    """A date, as far as the calendar of this machine goes."""
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(when))
    except (OverflowError, OSError, ValueError):
        return f"second {when:.3g}"


def table(rows: Sequence[Mapping[str, Any]], head: Sequence[str]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Head and cells. At a terminal server and tool are one name, as `approvals revoke` takes it: that is never cut."""
    shown: list[Sequence[str]] = [cells_of(row, head) for row in rows]
    if not width():
        return head, shown
    return (" ".join(head[:2]), *head[2:]), [(" ".join(each[:2]), *each[2:]) for each in shown]


def cells_of(row: Mapping[str, Any], head: Sequence[str]) -> list[str]:
    """The cells below this head. At a terminal a moment is a day, so that names of tools have room."""
    texts = {key: str(row[key.lower().replace(" ", "_")]) for key in head}
    shown = DAY if width() else MINUTE
    return [one_line(text[:shown].replace("T", " ") if key in MOMENTS else text) for key, text in texts.items()]
