"""`weft approvals list`: what is approved, and what waits for it."""

from __future__ import annotations

import time

from clawft.cli.approvals.book import NOTHING_APPROVED, book
from clawft.cli.approvals.rows import described, table
from clawft.cli.approvals.waiting import unknown, waiting_servers, waits
from clawft.cli.parser import Options
from clawft.cli.screen import paint, print_table, safe, tell
from clawft.cli.screen.document import print_json
from clawft.cli.setup.sources import sources


def run(options: Options) -> int:
    chosen = [each for each in book().all() if options.server in (None, each.server)]
    waiting = {name: found for name, found in waiting_servers(options).items() if options.server in (None, name)}
    if options.server and not chosen and not waiting and (wrong := unknown(options.server, options)):
        raise wrong  # of a name that somebody has misspelled: then there may be others
    told = [waits(name, found, options) for name, found in waiting.items()]
    changed = {(each["server"], str(sources(options).workspace)) for each in told if each["changed"]}
    rows = [described(each, time.time(), changed) for each in sorted(chosen, key=lambda each: each.key)]
    if options.json:
        print_json({"approvals": rows, "waiting": told})
        return 0
    if rows:
        head = ("SERVER", "TOOL", "STATE", "GRANTED", "EXPIRES", "HOLDS FOR")
        print_table(*table(rows, head))
    elif not waiting:
        tell(_nothing(options))
    for each in told:
        diff = f"weft approvals diff {each['server']}"
        why = f"is not what you approved ({diff})" if each["changed"] else "waits for approval"
        tell(f"{paint(each['server'], 'bold')} {why}: {safe(each['starts'])}\n  {safe(each['command'])}")
    return 0


def _nothing(options: Options) -> str:
    if options.server is None:
        return NOTHING_APPROVED
    return f"nothing of {options.server} is approved yet; its tools ask when they are first called"
