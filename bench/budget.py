"""The budget file and its verdicts."""

import os
import tomllib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.contenders import OURS
from bench.figures import by_round, share, spread
from bench.samples import Results

FILE = Path(__file__).with_name("budget.toml")


class Budget(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    stage: str
    measure: str
    at_most: str = ""
    at_least: str = ""
    """One of the two."""
    window: int = 0
    of: str = OURS
    against: str = ""
    floor: str = ""
    """Who does none of our work: what it does not reach in the same run, this machine cannot show."""

    @property
    def allowed(self) -> str:
        bound = f"at most {self.at_most}" if self.at_most else f"at least {self.at_least}"
        return f"{bound} of {self.against}" if self.against else bound

    def holds(self, found: float) -> bool:
        if self.at_most:
            return found <= float(Fraction(self.at_most))
        return found >= float(Fraction(self.at_least))


class Imports(Struct, frozen=True, forbid_unknown_fields=True):
    forbidden: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()


class Budgets(Struct, frozen=True, forbid_unknown_fields=True):
    budget: tuple[Budget, ...]
    imports: Imports = Imports()


class Verdict(Struct, frozen=True):
    title: str
    ok: bool
    found: str
    allowed: str
    remark: str = ""
    skipped: bool = False
    """Its yardstick is not installed: said loudly, and a failure only where CI=true."""
    out_of_reach: bool = False
    """Not even the floor holds it here."""

    @property
    def fails(self) -> bool:
        return os.environ.get("CI") == "true" if self.skipped else not self.ok and not self.out_of_reach


def read(file: Path = FILE) -> Budgets:
    return msgspec.convert(tomllib.loads(file.read_text()), Budgets)


def judge(budgets: Budgets, results: Results, stages: Iterable[str]) -> list[Verdict]:
    """Verdicts for the stages that were asked for. What was asked for and not measured has failed."""
    asked = set(stages)
    verdicts = [_judge(each, results) for each in budgets.budget if each.stage in asked]
    return [*verdicts, judge_imports(budgets.imports, results.modules)] if "start" in asked else verdicts


def _judge(budget: Budget, results: Results) -> Verdict:
    ours = by_round(results, budget.stage, budget.window, budget.of, budget.measure)
    theirs = by_round(results, budget.stage, budget.window, budget.against, budget.measure)
    found = share(ours, theirs) if budget.against else spread(ours.values())
    if found is None:
        skipped = bool(ours) and _not_installed(budget, results)
        told = "skipped, not installed" if skipped else "not measured"
        return Verdict(budget.title, ok=False, found=told, allowed=budget.allowed, skipped=skipped)
    told = as_share(found.median) if budget.against else f"{found.median:.1f}"
    if budget.holds(found.median):
        return Verdict(budget.title, ok=True, found=told, allowed=budget.allowed)
    floor = share(by_round(results, budget.stage, budget.window, budget.floor, budget.measure), theirs)
    beyond = floor is not None and not budget.holds(floor.median)
    remark = f"out of reach here: {budget.floor} alone has {as_share(floor.median)}" if floor and beyond else ""
    return Verdict(budget.title, ok=False, found=told, allowed=budget.allowed, remark=remark, out_of_reach=beyond)


def _not_installed(budget: Budget, results: Results) -> bool:
    missing = {(each.stage, each.contender) for each in results.absent if not each.installed}
    return (budget.stage, budget.against) in missing


def judge_imports(imports: Imports, modules: Sequence[str] | None) -> Verdict:
    title = "modules up to the first tools/list"
    allowed = "none of " + ", ".join(imports.forbidden)
    if not modules:
        return Verdict(title, ok=False, found="not measured", allowed=allowed)
    bad = _among(imports.forbidden, modules)
    unwanted = _among(imports.unwanted, modules)
    remark = f"unwanted: {', '.join(unwanted)}" if unwanted else ""
    return Verdict(title, ok=not bad, found=", ".join(bad) or f"{len(modules)} modules", allowed=allowed, remark=remark)


def _among(names: Sequence[str], modules: Sequence[str]) -> list[str]:
    """Those of `names` that were imported, as a whole or in part."""
    return [name for name in names if any(module == name or module.startswith(name + ".") for module in modules)]


def as_share(value: float) -> str:
    """1/43.2 for what is smaller, 1.7x for what is larger."""
    return f"1/{1 / value:.1f}" if 0 < value < 1 else f"{value:.1f}x"
