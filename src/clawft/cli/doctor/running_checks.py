"""The checks of `weft doctor` on a running weft: whether its servers are up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clawft.cli.doctor.checks import DoctorFinding, fail, ok, warn
from clawft.cli.parser import Options
from clawft.cli.setup import settings
from clawft.cli.setup.served import wefts_here

if TYPE_CHECKING:  # often none runs
    from clawft.app.server_rows import ServerRow
    from clawft.app.status_socket import RunningWeft

GOOD = ("connected", "disabled", "waiting")
"""States that are no problem here: a server waiting for its approval is reported by another check."""


def running(options: Options) -> Iterator[DoctorFinding]:
    found = wefts_here(settings(options))
    if found is None:
        return
    for weft in found.answering:
        yield from _servers_of(weft)
    for pid in found.silent:
        yield warn(
            "running", f"the weft that serves here, process {pid}, does not answer", "it may be suspended or busy"
        )


def _servers_of(weft: RunningWeft) -> Iterator[DoctorFinding]:
    who = f"weft {weft.front}, process {weft.pid}"
    wanted = [row.state for row in weft.servers if row.state != "disabled"]
    had = f"{wanted.count('connected')} of {len(wanted)} servers connected" if wanted else "no servers"
    yield ok("running", f"{who}: {had}")
    for row in weft.servers:
        if row.state not in GOOD and row.error:
            yield _down(who, row)


def _down(who: str, row: ServerRow) -> DoctorFinding:
    found = fail if row.state in ("failed", "refused") else warn
    problem = f"{who}: {row.name} is {row.state}: {row.error}"
    return found("running", problem, row.next or f"weft servers status {row.name}")
