"""Which runs of the suite there are, which of their scenarios make one line of the report, and how a line is judged.

A further leg (a client under test, an endpoint behind the gateway) is a further row.
"""

from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from msgspec import Struct

from tests.conformance import served, suite
from tests.conformance.suite import Check, Requirement, Results, Side

MESSAGE_CHARS = 600
PATIENCE_MS = 120_000
"""For one scenario of a client, while all others run beside it."""

Target = Callable[[Path], AbstractAsyncContextManager[str]]
"""Starts what is tested and gives the suite's last word for it: a URL, or the command of a client."""


class Run(Struct, frozen=True):
    """One start of the suite."""

    name: str
    side: Side
    revision: str
    target: Target

    def options(self, target: str) -> list[str]:
        """The scenarios of a client run at once, each in a process of its own: a busy machine has time for all."""
        if self.side == "server":
            return ["--url", target, "--requirements", self.revision]
        return ["--command", target, "--requirements", self.revision, "--timeout", str(PATIENCE_MS)]


class Leg(Struct, frozen=True):
    """One line of the report: the scenarios of a run that count for the same reason."""

    title: str
    run: str
    reasons: Collection[str]
    """Of `Requirement.unscored`: the empty reason means scored."""
    count: int
    """How many scenarios there must be, so that a shrunken list cannot pass for a clean one."""
    scored: bool = True

    def takes(self, item: Requirement) -> bool:
        return item.side == RUNS[self.run].side and item.unscored in self.reasons


class Verdict(Struct, frozen=True):
    leg: Leg
    passed: int
    total: int
    failures: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return self.passed == self.total == self.leg.count

    @property
    def line(self) -> str:
        return f"{self.leg.title}: {self.passed}/{self.total}"


RUNS = {
    run.name: run
    for run in (
        Run("server-2025-11-25", "server", "2025-11-25", served.gateway),
        Run("server-2026-07-28", "server", "2026-07-28", served.gateway),
        Run("client-2025-11-25", "client", "2025-11-25", served.client),
        Run("client-2026-07-28", "client", "2026-07-28", served.client),
        *(
            Run(f"through-{era}-{revision}", "server", revision, served.through(era))
            for era in ("handshake", "stateless")
            for revision in ("2025-11-25", "2026-07-28")
        ),
    )
}
SCORED = ("",)
EXTENSION = ("extension",)
LATER = ("pending", "added-after-release")
LEGS = (
    Leg("server 2025-11-25", "server-2025-11-25", SCORED, 30),
    Leg("server 2026-07-28", "server-2026-07-28", SCORED, 37),
    Leg("server 2025-11-25 through us, behind us 2025-11-25", "through-handshake-2025-11-25", SCORED, 30),
    Leg("server 2025-11-25 through us, behind us 2026-07-28", "through-stateless-2025-11-25", SCORED, 30),
    Leg("server 2026-07-28 through us, behind us 2025-11-25", "through-handshake-2026-07-28", SCORED, 37),
    Leg("server 2026-07-28 through us, behind us 2026-07-28", "through-stateless-2026-07-28", SCORED, 37),
    Leg("client 2025-11-25", "client-2025-11-25", SCORED, 18),
    Leg("client 2026-07-28", "client-2026-07-28", SCORED, 32),
    Leg("tasks extension (unscored)", "server-2026-07-28", EXTENSION, 10, scored=False),
    # One scenario wants a refusal where we run the task for an agent that cannot follow it: decision 0017.
    Leg(
        "tasks through us, behind us 2025-11-25 (unscored)", "through-handshake-2026-07-28", EXTENSION, 10, scored=False
    ),
    Leg(
        "tasks through us, behind us 2026-07-28 (unscored)", "through-stateless-2026-07-28", EXTENSION, 10, scored=False
    ),
    Leg("pending 2025-11-25 (unscored)", "server-2025-11-25", LATER, 3, scored=False),
    Leg("pending 2026-07-28 (unscored)", "server-2026-07-28", LATER, 3, scored=False),
)


async def perform(run: Run, folder: Path) -> Results:
    """Start the target, run the suite against it, read what it found."""
    folder.mkdir(parents=True, exist_ok=True)
    async with run.target(folder) as target:
        return await suite.run(run.side, run.options(target), folder)


def judge(leg: Leg, required: Collection[Requirement], results: Results) -> Verdict:
    """A scenario passes if it came to its end and no check failed."""
    names = [item.scenario for item in required if leg.takes(item)]
    failing = [name for name in names if name not in results or suite.failed(results[name])]
    return Verdict(
        leg,
        passed=len(names) - len(failing),
        total=len(names),
        failures=tuple(line for name in failing for line in _failures(name, results)),
        warnings=tuple(_words(name, check) for name in names for check in suite.warned(results.get(name, ()))),
    )


def _failures(name: str, results: Results) -> list[str]:
    if name not in results:
        return [f"{name}: did not run to its end (see suite.log)"]
    return [_words(name, check) for check in suite.failed(results[name])]


def _words(name: str, check: Check) -> str:
    return f"{name} {check.id}: {check.error_message[:MESSAGE_CHARS] or 'no message'}"
