"""`weft doctor`: what is in order, what is not, and what to do about it. Exit code 1 if something is broken."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from clawft.app import App
from clawft.cli.doctor import app_checks, checks
from clawft.cli.doctor.checks import DoctorFinding, fail
from clawft.cli.doctor.running_checks import running
from clawft.cli.parser import Options
from clawft.cli.screen import one_line, paint, print_step, width
from clawft.cli.screen.document import print_json
from clawft.cli.screen.table import lay_out
from clawft.cli.setup import with_app
from clawft.config.places import home_folder
from clawft.errors import ClawftError

COMMANDS = ("weft ", "chmod ", "sudo ", "pip ", "export ")
INDENT = 18
COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def run(options: Options) -> int:
    if options.scan:
        from clawft.cli.doctor.scan import scan_servers  # only for those who ask

        return scan_servers(options)
    found = list(examine(options))
    broken = any(finding.level == "fail" for finding in found)
    if options.json:
        print_json({"ok": not broken, "findings": found})
    else:
        for finding in found:
            _print(finding)
    return 1 if broken else 0


def examine(options: Options) -> Iterator[DoctorFinding]:
    """Every check, from the ground up. Tools are looked at only if the configuration can be loaded."""
    home = home_folder()
    yield from checks.runtime()
    yield from checks.sandbox(home)
    yield from checks.home(home)
    yield from checks.audit(home)
    yield from checks.approvals(home)
    yield from checks.workspace(Path(options.workspace))
    configured = list(checks.configuration(home, options.agent))
    yield from configured
    if all(finding.level != "fail" for finding in configured):
        yield from _tools(options)
        yield from running(options)


def _tools(options: Options) -> list[DoctorFinding]:
    async def work(app: App) -> list[DoctorFinding]:
        looks = (
            app_checks.tools,
            app_checks.web_search,
            app_checks.people,
            app_checks.providers,
            app_checks.servers,
            app_checks.delegation,
        )
        return [finding for look in looks for finding in look(app)]

    logging.getLogger("clawft").setLevel(logging.ERROR)  # what it would warn of is among the findings
    try:
        return with_app(options, work, servers=False)
    except ClawftError as failure:
        return [fail("tools", failure.message, failure.hint)]
    except OSError as failure:  # of a home that cannot be written, most of the time
        return [
            fail(
                "tools", f"{failure.filename}: {failure.strerror}", "correct the problems above and run the check again"
            )
        ]


def _print(finding: DoctorFinding) -> None:
    """`level  what  said`, and the next step below it."""
    first, *rest = lay_out(
        (), [(f"{finding.level:<4}", f"{finding.what:<10}", one_line(finding.said))], width(), wrap=True
    )
    print(paint(first[:4], COLOURS[finding.level]) + first[4:])
    for line in rest:
        print(line)
    if finding.hint.startswith(COMMANDS):
        print_step(finding.hint, indent=INDENT)
    elif finding.hint:
        print(*lay_out((), [(" " * (INDENT - 2), f"→ {one_line(finding.hint)}")], width(), wrap=True), sep="\n")
