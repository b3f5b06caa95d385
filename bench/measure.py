"""The measures: load on every contender in turn, cold start, the modules of a start, the price of imports."""

import os
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from bench.contenders import CONTENDERS, IMPORTS, LEGS, OURS, STARTERS, Contender, Leg
from bench.load import Bound, Client
from bench.messages import WrongAnswer
from bench.pipe import Pipe
from bench.process import COMPILED, TAIL_CHARS, DidNotServe, Process
from bench.web import Web, free_port

WINDOWS = (1, 64)
MARK = "import time:"


class Plan(Struct, frozen=True):
    """How long to measure. A stage stops early, after a whole round, rather than take longer than it may."""

    rounds: int
    bound: Bound
    leg_s: float
    starts: int
    starts_s: float


FULL = Plan(rounds=7, bound=Bound(20_000, 0.5), leg_s=42.0, starts=7, starts_s=18.0)
QUICK = Plan(rounds=2, bound=Bound(5_000, 0.2), leg_s=8.0, starts=2, starts_s=4.0)


class Sample(Struct, frozen=True):
    """One contender, one burst."""

    contender: str
    leg: str
    window: int
    round: int
    calls: int
    rate: float
    p50_us: float
    cpu_us: float
    """Own CPU per call."""
    rss_mib: float


class Start(Struct, frozen=True):
    """From nothing to an answered tools/list over stdio."""

    contender: str
    round: int
    wall_ms: float
    cpu_ms: float
    rss_mib: float
    tools: int


class ImportCost(Struct, frozen=True):
    what: str
    round: int
    cpu_ms: float


class Absent(Struct, frozen=True):
    """A contender that could not be measured, and why."""

    contender: str
    stage: str
    reason: str


Failures = (DidNotServe, WrongAnswer, OSError)


def rounds(count: int, seconds: float) -> Iterator[int]:
    """Numbers of rounds: at least one, and no further one that would not fit into the time."""
    began = time.perf_counter()
    for number in range(count):
        yield number
        spent = time.perf_counter() - began
        if spent + spent / (number + 1) > seconds:
            return


@contextmanager
def started(contender: Contender, leg: Leg) -> Generator[tuple[Process, Client]]:
    """The contender, serving, in a folder and with a home of its own."""
    port = free_port() if leg.front == "http" else 0
    with TemporaryDirectory(prefix="bench-") as folder:
        place = Path(folder)
        environment = {**contender.environment, "CLAWFT_HOME": str(place / "home")}
        (place / "work").mkdir()
        pipes = leg.front == "stdio"
        with Process(contender.command(leg.front, port), environment, place / "work", pipes=pipes) as process:
            tool = contender.tool
            client = Pipe(process, leg.dialect, tool) if pipes else Web(process, leg.dialect, tool, port)
            try:
                yield process, client
            finally:
                client.close()


def run_leg(leg: Leg, plan: Plan) -> tuple[list[Sample], list[Absent]]:
    """All contenders alive at once, loaded one after the other, round by round."""
    samples: list[Sample] = []
    absent: list[Absent] = []
    with ExitStack() as stack:
        running: dict[str, tuple[Process, Client]] = {}
        for name in leg.contenders:
            try:
                running[name] = stack.enter_context(started(CONTENDERS[name], leg))
                running[name][1].ask("tools/list", {})
            except Failures as failure:
                absent.append(Absent(name, leg.name, str(failure)))
                running.pop(name, None)
        for number in rounds(plan.rounds, plan.leg_s):
            for window in WINDOWS:
                for name in list(running):
                    try:
                        samples.append(_sample(name, leg, window, number, running[name], plan.bound))
                    except Failures as failure:
                        said = running[name][0].stderr()[-TAIL_CHARS:].strip()
                        absent.append(Absent(name, leg.name, f"{window} in flight: {failure}; stderr: …{said}"))
                        del running[name]
    return samples, absent


def _sample(name: str, leg: Leg, window: int, number: int, running: tuple[Process, Client], bound: Bound) -> Sample:
    process, client = running
    client.warm(window)
    before = process.cpu_ns()
    burst = client.burst(window, bound)
    cpu_us = (process.cpu_ns() - before) / burst.calls / 1000
    return Sample(
        contender=name,
        leg=leg.name,
        window=window,
        round=number,
        calls=burst.calls,
        rate=burst.calls / burst.seconds,
        p50_us=burst.p50_us,
        cpu_us=cpu_us,
        rss_mib=process.rss_mib(),
    )


def run_starts(plan: Plan) -> tuple[list[Start], list[Absent]]:
    starts: list[Start] = []
    absent: list[Absent] = []
    for name in STARTERS:  # once unmeasured: bytecode written, files in the page cache
        try:
            _start(name, -1)
        except Failures as failure:
            absent.append(Absent(name, "start", str(failure)))
    present = [name for name in STARTERS if name not in {each.contender for each in absent}]
    for number in rounds(plan.starts, plan.starts_s):
        starts.extend(_start(name, number) for name in present)
    return starts, absent


def _start(name: str, number: int) -> Start:
    with started(CONTENDERS[name], LEGS["stdio"]) as (process, client):
        listed = client.ask("tools/list", {})
        return Start(
            contender=name,
            round=number,
            cpu_ms=process.cpu_ns() / 1e6,
            wall_ms=(time.perf_counter() - process.began) * 1000,
            rss_mib=process.rss_mib(),
            tools=len(listed["tools"]),
        )


def modules_of_start() -> list[str]:
    """Every module our server imports up to its first tools/list."""
    ours = CONTENDERS[OURS]
    argv = ours.command("stdio")
    watched = replace(ours, argv={"stdio": (argv[0], "-X", "importtime", *argv[1:])})
    with started(watched, LEGS["stdio"]) as (process, client):
        client.ask("tools/list", {})
        return imported(process.stderr())


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
