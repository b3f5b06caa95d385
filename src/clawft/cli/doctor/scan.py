"""`weft doctor --scan`: looks for text that is meant to manipulate the model in whatever servers tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from clawft.app import App
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, paint, width
from clawft.cli.screen.document import print_json
from clawft.cli.screen.table import lay_out
from clawft.cli.setup import with_app
from clawft.policy.scan import Severity, scan
from clawft.upstream.upstream import Upstream
from clawft.wire.visible import make_visible, visible_text

COLOURS: Mapping[Severity, str] = {"high": "red", "medium": "yellow", "low": "dim"}
ORDER: tuple[Severity, ...] = ("high", "medium", "low")


class ServerSuspicion(Struct, frozen=True):
    """One suspicion, and where it was found: in a tool, a prompt, a resource, or the instructions of the server."""

    severity: Severity
    server: str
    name: str
    rule: str
    where: str
    excerpt: str
    why: str


class ScanReport(Struct, frozen=True):
    servers: int
    looked_at: int
    findings: list[ServerSuspicion]

    @property
    def is_fine(self) -> bool:
        return all(finding.severity != "high" for finding in self.findings)


def scan_servers(options: Options) -> int:
    """Scan, print, and give the exit code: 1 if something of high severity was found."""

    async def work(app: App) -> ScanReport:
        return report_on(app) if app.files.name_any else ScanReport(0, 0, [])

    report = with_app(options, work)
    if options.json:
        print_json({"ok": report.is_fine, **msgspec.to_builtins(report)})
    else:
        _print(report)
    return 0 if report.is_fine else 1


def report_on(app: App) -> ScanReport:
    offered = {upstream.spec.name: list(_told_by(upstream)) for upstream in app.pool}
    names = {upstream.spec.name: {tool.name for tool in upstream.tools} for upstream in app.pool}
    found = [one for server, items in offered.items() for one in _of_server(server, items, _foreign(server, names))]
    found.sort(key=lambda one: ORDER.index(one.severity))
    return ScanReport(len(offered), sum(map(len, offered.values())), found)


def _told_by(upstream: Upstream) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Everything a model may get to see of a server before it calls anything."""
    for tool in upstream.tools:
        yield tool.name, _members(tool.wire)
    offer = upstream.offer
    if offer is None:
        return
    if upstream.session is not None:
        yield "(server)", _shown(upstream.session.peer.server_info)
    if offer.instructions:
        yield "(instructions)", {"instructions": visible_text(offer.instructions)}
    for item in (*offer.prompts, *offer.resources, *offer.templates):
        own = _members(item.raw)
        yield str(own.get("name", "?")), own


def _shown(info: Mapping[str, Any]) -> dict[str, str]:
    return {key: visible_text(str(value)) for key, value in info.items()}


def _of_server(server: str, told: list[tuple[str, Mapping[str, Any]]], foreign: set[str]) -> Iterator[ServerSuspicion]:
    for name, definition in told:
        for one in scan(definition, foreign):
            yield ServerSuspicion(one.severity, server, name, one.rule, one.where, one.excerpt, one.why)


def _foreign(server: str, names: Mapping[str, set[str]]) -> set[str]:
    """The names of the tools of all other servers."""
    return {f"{other}__{name}" for other, theirs in names.items() if other != server for name in theirs}


def _members(wire: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(make_visible(wire), type=dict[str, Any])
    except msgspec.ValidationError:
        return {}  # an entry that is no object reaches no model


def _print(report: ScanReport) -> None:
    for one in report.findings:
        head = one_line(f"{one.server}__{one.name}: {one.why} ({one.rule})")
        print(paint(f"{one.severity:<6}  {head}", COLOURS[one.severity]))
        for line in lay_out((), [("      ", f"{one.where}: {one_line(one.excerpt)}")], width(), wrap=True):
            print(line)
    counted = Counter(one.severity for one in report.findings)
    summary = ", ".join(f"{counted[severity]} {severity}" for severity in ORDER if counted[severity]) or "nothing"
    print(f"{report.looked_at} definitions of {report.servers} servers: {summary} to look at")
    if report.findings:
        print("These are guesses based on the text. `weft tools show NAME` prints the whole definition;")
        print("`weft servers disable NAME` disables a server, `--deny NAME` hides a tool.")
