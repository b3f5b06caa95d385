"""Load: every contender of a leg alive at once, asked one after the other, round by round."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

from msgspec import Struct

from bench.contenders import CONTENDERS, Leg
from bench.load import Bound
from bench.process import TAIL_CHARS
from bench.running import Failures, Running, all_tools, started
from bench.samples import Absent, Sample


class Plan(Struct, frozen=True):
    """How long to measure. A stage stops early, after a whole round, rather than take longer than it may."""

    rounds: int
    bound: Bound
    leg_s: float
    starts: int
    starts_s: float


FULL = Plan(rounds=7, bound=Bound(20_000, 0.5), leg_s=24.0, starts=7, starts_s=18.0)
QUICK = Plan(rounds=2, bound=Bound(5_000, 0.2), leg_s=4.0, starts=2, starts_s=4.0)


def rounds(count: int, seconds: float) -> Iterator[int]:
    """Numbers of rounds: at least one, and no further one that would not fit into the time."""
    began = time.perf_counter()
    for number in range(count):
        yield number
        spent = time.perf_counter() - began
        if spent + spent / (number + 1) > seconds:
            return


class _Field:
    """Who is still in the race, and who is not."""

    def __init__(self, leg: Leg, stack: ExitStack) -> None:
        self.leg = leg
        self.running: dict[str, Running] = {}
        self.absent: list[Absent] = []
        for name in leg.contenders:
            self._enter(name, stack)

    def _enter(self, name: str, stack: ExitStack) -> None:
        if reason := CONTENDERS[name].missing(self.leg.front):
            self.absent.append(Absent(name, self.leg.name, reason, installed=False))
            return
        try:
            running = stack.enter_context(started(CONTENDERS[name], self.leg))
            all_tools(running.client, self.leg.expected_tools)
        except Failures as failure:
            self.absent.append(Absent(name, self.leg.name, str(failure)))
        else:
            self.running[name] = running

    def leave(self, name: str, window: int, failure: Exception) -> None:
        said = self.running.pop(name).process.stderr()[-TAIL_CHARS:].strip()
        self.absent.append(Absent(name, self.leg.name, f"{window} in flight: {failure}; stderr: …{said}"))


def run_leg(leg: Leg, plan: Plan) -> tuple[list[Sample], list[Absent]]:
    samples: list[Sample] = []
    with ExitStack() as stack:
        field = _Field(leg, stack)
        for number in rounds(plan.rounds, plan.leg_s):
            for window in leg.windows:
                samples += _turn(field, window, number, plan.bound)
    return samples, field.absent


def _turn(field: _Field, window: int, number: int, bound: Bound) -> Iterator[Sample]:
    for name in list(field.running):
        try:
            yield _sample(name, field.leg, window, number, field.running[name], bound)
        except Failures as failure:
            field.leave(name, window, failure)


def _sample(name: str, leg: Leg, window: int, number: int, running: Running, bound: Bound) -> Sample:
    process, client = running.process, running.client
    in_flight = min(window, leg.most.get(name, window))
    if in_flight == window:  # one that cannot even take the window is not worth its time for warming up
        client.warm(window)
    bytes_before, before = process.upstream_bytes(), process.cpu_ns()
    burst = client.burst(in_flight, bound)
    cpu_us = (process.cpu_ns() - before) / burst.calls / 1000
    return Sample(
        contender=name,
        stage=leg.name,
        window=window,
        round=number,
        calls=burst.calls,
        rate=burst.calls / burst.seconds,
        p50_us=burst.p50_us,
        cpu_us=cpu_us,
        rss_mib=process.rss_mib(),
        upstream_bytes=(process.upstream_bytes() - bytes_before) / burst.calls,
    )
