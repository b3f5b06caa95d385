"""The budget file and its verdicts."""

import tomllib
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.contenders import OURS
from bench.figures import Results, by_round, share, spread

FILE = Path(__file__).with_name("budget.toml")


class Budget(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    stage: str
    measure: str
    at_most: str
    window: int = 0
    against: str = ""


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


def read(file: Path = FILE) -> Budgets:
    return msgspec.convert(tomllib.loads(file.read_text()), Budgets)


def judge(budgets: Budgets, results: Results, stages: Iterable[str]) -> list[Verdict]:
    """Verdicts for the stages that were asked for. What was asked for and not measured has failed."""
    asked = set(stages)
    verdicts = [_judge(each, results) for each in budgets.budget if each.stage in asked]
    return [*verdicts, judge_imports(budgets.imports, results.modules)] if "start" in asked else verdicts


def _judge(budget: Budget, results: Results) -> Verdict:
    ours = by_round(results, budget.stage, budget.window, OURS, budget.measure)
    theirs = by_round(results, budget.stage, budget.window, budget.against, budget.measure)
    found = share(ours, theirs) if budget.against else spread(ours.values())
    allowed = f"{budget.at_most} of {budget.against}" if budget.against else budget.at_most
    if found is None:
        return Verdict(budget.title, ok=False, found="not measured", allowed=allowed)
    told = as_share(found.median) if budget.against else f"{found.median:.1f}"
    return Verdict(budget.title, ok=found.median <= float(Fraction(budget.at_most)), found=told, allowed=allowed)


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
