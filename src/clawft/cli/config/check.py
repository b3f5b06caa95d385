"""`weft config check`: what is wrong in the files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from clawft.cli.config.warnings import missing_program, warnings_of
from clawft.cli.parser import Options
from clawft.cli.screen import paint, safe
from clawft.cli.screen.document import print_json
from clawft.config.layers import Sources
from clawft.config.load import load, problems
from clawft.config.places import home_folder, stray_files
from clawft.config.servers import Servers, discover
from clawft.config.settings import Settings
from clawft.wire.strings import clipped

MAX_SAID = 2_000
"""Characters of a problem, and of what to do about it: a workspace may have written them."""


def run(options: Options) -> int:
    found = problems(home_folder(), options.agent)
    warned: list[tuple[str, str]] = []
    if not found:  # with broken settings the same files would be complained of twice
        findings = _settings(options)
        servers = _servers_in_files(findings)
        found += [each.error for each in servers.refused.values() if not each.own]
        named = (*servers.found.values(), *servers.waiting.values())
        warned = [*_unread(findings.home), *(warning for each in named for warning in warnings_of(each))]
        own = [each for each in servers.refused.values() if each.own]
        warned += [(each.error.message, f"it counts for nothing: your own server {each.own} is used") for each in own]
        warned += [missing for each in named if (missing := missing_program(each))]
        warned += [(problem, "it is skipped: correct delegation.rules") for problem in _wrong_rules(findings)]
    told_of = [("fail", each.message, each.hint) for each in found] + [("warn", *each) for each in warned]
    rows = [(level, clipped(message, MAX_SAID), clipped(hint, MAX_SAID)) for level, message, hint in told_of]
    if options.json:
        shown = [{"level": level, "message": message, "hint": hint} for level, message, hint in rows]
        print_json({"ok": not found, "problems": shown})
    elif not rows:
        print("the configuration is fine")
    for level, message, hint in [] if options.json else rows:
        word = paint(level, "red" if level == "fail" else "yellow")
        print(f"{word}  {safe(message)}\n      {paint(safe(hint), 'dim')}")
    return 1 if found else 0


def _settings(options: Options) -> Settings:
    return load(home_folder(), Path(options.workspace), options.agent).settings


def _wrong_rules(told: Settings) -> Iterable[str]:
    if not told.delegation.rules:
        return ()
    from clawft.delegate.rules import problems  # only for those who delegate

    return problems(told.delegation.rules)


def _servers_in_files(told: Settings) -> Servers:
    return discover(Sources(told.home, told.workspace, told.agent, (), told.command_folders))


def _unread(home: Path) -> list[tuple[str, str]]:
    """Files that somebody has put where servers are looked for, and that are passed by."""
    other = "files there are TOML; JSON of other programs: weft servers import, or --mcp-config FILE"
    return [(f"{path} is not read", other) for path in stray_files(home)]
