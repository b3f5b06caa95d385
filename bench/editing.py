"""The IDE tools without an editor: how long an agent waits for a warm language server, through the whole of weft."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench.contenders import CONTENDERS, LEGS, OURS
from bench.family import Family, command_line
from bench.load import Client
from bench.measure import Plan, rounds
from bench.messages import WrongAnswer
from bench.running import Failures, started_in
from bench.samples import Absent, Editing

STAGE = "ide"
FILES = 20
HOVERS = 50
EDITS = 10
WAIT_MS = 60_000
VERSION_S = 30.0
LANGUAGE_SERVER = "-langserver"
CLASS = "class C{at}_{n}:\n    def meth_{n}(self, a: int) -> str:\n        return str(a)\n"
MAIN = 'from m0 import C0_1\n\ndef greet(name: str) -> str:\n    return "😀 hi " + name\n\nC0_1().meth_1(3)\n'


def run_editing(plan: Plan) -> tuple[list[Editing], list[Absent]]:
    with TemporaryDirectory(prefix="bench-") as folder:
        place = Path(folder)
        write_project(place / "work")
        try:
            with started_in(place, CONTENDERS[OURS], LEGS["stdio"]) as running:
                _ask(running.client, "diagnostics", path="main.py", wait_ms=WAIT_MS)  # now it is warm
                server = language_server(running.process.family)
                return [_measure(running.client, server, number) for number in rounds(plan.starts, plan.starts_s)], []
        except Failures as failure:
            return [], [Absent(OURS, STAGE, str(failure))]


def write_project(folder: Path) -> None:
    folder.mkdir()
    (folder / "main.py").write_text(MAIN)
    for at in range(FILES):
        (folder / f"m{at}.py").write_text("\n".join(CLASS.format(at=at, n=n) for n in range(10)))


def language_server(below: Family) -> str:
    """The one that runs, by name and version: which it is depends on what this machine has."""
    words = (Path(word) for pid in below.own for word in command_line(pid))
    program = next((word for word in words if word.name.endswith(LANGUAGE_SERVER)), None)
    if program is None:
        raise WrongAnswer("no language server runs")
    checker = program.with_name(program.name.removesuffix(LANGUAGE_SERVER))
    told = subprocess.run([checker, "--version"], capture_output=True, text=True, timeout=VERSION_S, check=False).stdout
    return (told.splitlines() or [checker.name])[0]


def _measure(client: Client, server: str, number: int) -> Editing:
    top = {"start_line": 0, "start_character": 0, "end_line": 0, "end_character": 0, "new_text": "# one more\n"}
    return Editing(
        contender=OURS,
        stage=STAGE,
        round=number,
        hover_ms=_p50(HOVERS, lambda: _ask(client, "hover", path="main.py", anchor="meth_1")),
        references_ms=_p50(HOVERS, lambda: _ask(client, "references", path="m0.py", symbol="meth_1")),
        edit_ms=_p50(EDITS, lambda: _ask(client, "edit", path="main.py", wait_ms=WAIT_MS, **top)),
        server=server,
    )


def _p50(times: int, work: Callable[[], object]) -> float:
    spent: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        spent.append((time.perf_counter() - began) * 1000)
    return median(spent)


def _ask(client: Client, tool: str, **arguments: Any) -> Any:
    """What the tool said; it must be fresh, and no error."""
    result = client.ask("tools/call", {"name": f"ide__{tool}", "arguments": arguments})
    if result.get("isError") or not result["structuredContent"]["fresh"]:
        raise WrongAnswer(f"{tool}: {str(result)[:300]}")
    return result
