"""Starts: from nothing to the first whole tools/list, alone and with a hundred servers; what a start imports."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec.structs import replace

from bench.contenders import CONTENDERS, CROWD, IMPORTS, LEGS, OURS, STARTS
from bench.measure import Plan, rounds
from bench.messages import WrongAnswer
from bench.process import COMPILED, DidNotServe, Process
from bench.running import READY_S, Failures, Running, all_tools, started, started_in
from bench.samples import Absent, ImportCost, Start, WarmStart

MARK = "import time:"
QUIET_S = 0.25
"""A gateway that used no more than `QUIET_SHARE` of a core for so long has nothing left to do."""
QUIET_SHARE = 0.05
A_DAY = 86_400


def run_starts(stage: str, plan: Plan) -> tuple[list[Start], list[Absent]]:
    starts: list[Start] = []
    absent: list[Absent] = []
    for name in STARTS[stage].contenders:  # once unmeasured: bytecode written, files in the page cache
        try:
            _try(stage, name)
        except Failures as failure:
            absent.append(Absent(name, stage, str(failure), installed=not _missing(name)))
    present = [name for name in STARTS[stage].contenders if name not in {each.contender for each in absent}]
    for number in rounds(plan.starts, plan.starts_s):
        starts.extend(_start(stage, name, number) for name in present)
    return starts, absent


def _missing(name: str) -> str:
    return CONTENDERS[name].missing("stdio")


def _try(stage: str, name: str) -> None:
    if reason := _missing(name):
        raise DidNotServe(reason)
    _start(stage, name, -1)


def _start(stage: str, name: str, number: int) -> Start:
    leg = LEGS[STARTS[stage].leg]
    with started(CONTENDERS[name], leg) as running:
        tools = all_tools(running.client, leg.expected_tools)
        process = running.process
        return Start(
            contender=name,
            stage=stage,
            round=number,
            cpu_ms=process.cpu_ns() / 1e6,
            wall_ms=_since(process),
            rss_mib=process.rss_mib(),
            tools=tools,
        )


def _since(process: Process) -> float:
    return (time.perf_counter() - process.began) * 1000


# ── a hundred servers, known from before ─────────────────────────────────────────────────────────────────────────────


def run_crowd(plan: Plan) -> tuple[list[WarmStart], list[Absent]]:
    """In each round a start with nothing known, then two that find what the one before them had remembered."""
    found: list[WarmStart] = []
    (name,) = CROWD.contenders
    try:
        for number in rounds(plan.starts, plan.starts_s):
            with TemporaryDirectory(prefix="bench-") as folder:
                found.append(_crowded(name, number, Path(folder)))
    except Failures as failure:
        return found, [Absent(name, CROWD.name, str(failure))]
    return found, []


def _crowded(name: str, number: int, place: Path) -> WarmStart:
    connected_ms, cpu_all_ms = _cold_start(name, place)
    wall_ms, cpu_ms, up, rss_mib = _warm_start(name, place)
    _make_stale(place)
    *_, stale_up, _ = _warm_start(name, place)
    return WarmStart(
        contender=name,
        stage=CROWD.name,
        round=number,
        wall_ms=wall_ms,
        cpu_ms=cpu_ms,
        up=up,
        stale_up=stale_up,
        connected_ms=connected_ms,
        cpu_ms_per_server=cpu_all_ms / CROWD.fleet.servers,
        rss_mib=rss_mib,
        tools=CROWD.expected_tools,
    )


def _cold_start(name: str, place: Path) -> tuple[float, float]:
    with started_in(place, CONTENDERS[name], CROWD) as running:
        all_tools(running.client, CROWD.expected_tools)
        return _settle(running)


def _warm_start(name: str, place: Path) -> tuple[float, float, int, float]:
    """Wall time and own CPU up to the list, how many servers were up by then, and memory."""
    with started_in(place, CONTENDERS[name], CROWD) as running:
        process = running.process
        tools = len(running.client.ask("tools/list", {})["tools"])
        wall_ms, cpu_ms, up = _since(process), process.cpu_ns() / 1e6, len(list(running.marks.iterdir()))
        if tools != CROWD.expected_tools:
            raise WrongAnswer(f"{tools} of {CROWD.expected_tools} tools from the cache")
        return wall_ms, cpu_ms, up, process.rss_mib()


def _make_stale(place: Path) -> None:
    """As if the lists had been remembered yesterday."""
    for file in (place / "home" / "cache" / "servers").iterdir():
        told = msgspec.json.decode(file.read_bytes())
        file.write_bytes(msgspec.json.encode({**told, "stored": told["stored"] - A_DAY}))


def _settle(running: Running) -> tuple[float, float]:
    """Wait until every server was spoken to and the gateway has nothing left to do; when that began, and its CPU."""
    process = running.process
    end = time.perf_counter() + READY_S
    while time.perf_counter() < end:
        at, before = _since(process), process.cpu_ns()
        time.sleep(QUIET_S)
        busy = (process.cpu_ns() - before) / 1e9
        if len(list(running.marks.iterdir())) >= CROWD.fleet.servers and busy < QUIET_S * QUIET_SHARE:
            return at, before / 1e6
    raise process.lost(f"{len(list(running.marks.iterdir()))} servers up after {READY_S:g} s")


# ── imports ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def modules_of_start() -> list[str]:
    """Every module our server imports up to its first tools/list."""
    ours = CONTENDERS[OURS]
    argv = ours.command("stdio")
    watched = replace(ours, argv={"stdio": (argv[0], "-X", "importtime", *argv[1:])})
    with started(watched, LEGS["stdio"]) as running:
        running.client.ask("tools/list", {})
        return imported(running.process.stderr())


def imported(stderr: str) -> list[str]:
    """Module names out of what `-X importtime` wrote; its first line is a heading."""
    lines = [line for line in stderr.splitlines() if line.startswith(MARK)]
    return [line.rsplit("|", 1)[1].strip() for line in lines[1:] if line.count("|") == 2]


def run_imports(plan: Plan) -> list[ImportCost]:
    costs: list[ImportCost] = []
    for number in rounds(plan.starts + 1, plan.starts_s):
        for what, words in IMPORTS.items():
            cost = _cpu_ms([sys.executable, *words])
            if number and cost is not None:  # the first is to warm up
                costs.append(ImportCost(what, number, cost))
    return costs


def _cpu_ms(argv: Sequence[str]) -> float | None:
    """CPU of a whole short run; None if it failed."""
    environment = {**os.environ, **COMPILED}
    child = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return (usage.ru_utime + usage.ru_stime) * 1000 if child.returncode == 0 else None
