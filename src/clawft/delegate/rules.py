"""Chooses the delegate of a task: by the first rule whose pattern is found; for `auto` by how hard it looks. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from clawft.delegate.pattern import Pattern, UnusablePattern, compiled
from clawft.policy.delegation import DelegationConfig, DelegationRule, Target

SIMPLE = 0.3
"""Below this a task is not worth handing over."""
HARD = 0.7
"""Above this it is worth a swarm."""
MAX_LOOKED_AT = 4_096
"""Characters of a task that patterns see."""

_KEY_WORDS = ("orchestrat", "research", "analy[sz]", "compar")
_WORTH_OF_KEY_WORD = 0.3
_WORTH_OF_WORD = 0.2 / 150
_MOST_BY_LENGTH = 0.3
_key_words = [re.compile(rf"\b{stem}\w*", re.IGNORECASE) for stem in _KEY_WORDS]


class Decision(Struct, frozen=True):
    """The chosen target, and the reason: `rule` counts from 1, 0 if none matched."""

    target: Target
    reason: str
    rule: int = 0
    tools: tuple[str, ...] = ()
    complexity: float = 0.0
    skipped: tuple[str, ...] = ()
    """Rules that cannot be used, with their fault."""


def decide(task: str, config: DelegationConfig, claude_ok: bool, flow_ok: bool, openai_ok: bool = False) -> Decision:
    """The first rule whose pattern is found anywhere in the task; without one the task stays where it is."""
    could = {Target.CLAUDE: claude_ok, Target.FLOW: flow_ok, Target.OPENAI: openai_ok}
    available = {target for target, is_there in could.items() if is_there}
    hard = complexity(task)
    skipped = tuple(problems(config.rules))
    found = next(_matching(task[:MAX_LOOKED_AT], config.rules), None)
    if found is None:
        return Decision(Target.LOCAL, "no rule matches", complexity=hard, skipped=skipped)
    number, rule = found
    target, why = _settled(Target(rule.target), hard, available)
    reason = f"rule {number} ({rule.pattern!r} → {rule.target}){why}"
    return Decision(target, reason, number, rule.tools, hard, skipped)


def tools_of(task: str, target: Target, rules: Sequence[DelegationRule]) -> tuple[str, ...]:
    """The tools that the rules leave to a delegate asked for by name; without a rule, all tools.

    The first rule for the task that names them speaks; else the first that hands it to anybody.
    """
    handing = [rule for _, rule in _matching(task[:MAX_LOOKED_AT], rules) if Target(rule.target) is not Target.LOCAL]
    named = [rule for rule in handing if Target(rule.target) is target]
    return next((rule.tools for rule in (*named, *handing)), ())


def problems(rules: Sequence[DelegationRule]) -> Iterator[str]:
    """The mistakes in rules; a rule with one is skipped, the others count."""
    for number, rule in enumerate(rules, 1):
        wrong = _wrong_with(rule)
        if wrong:
            yield f"rule {number} ({rule.pattern!r}): {wrong}"


def complexity(task: str) -> float:
    """From 0 to 1: words that promise much work, and length."""
    seen = sum(1 for word in _key_words if word.search(task[:MAX_LOOKED_AT]))
    length = min(_MOST_BY_LENGTH, len(task.split()) * _WORTH_OF_WORD)
    return round(min(1.0, seen * _WORTH_OF_KEY_WORD + length), 3)


def _wrong_with(rule: DelegationRule) -> str:
    pattern = compiled(rule.pattern)
    if isinstance(pattern, UnusablePattern):
        return pattern.reason
    try:
        Target(rule.target)
    except ValueError:
        return f"there is no target {rule.target!r}; one of {', '.join(one.value for one in Target)}"
    return ""


def _matching(task: str, rules: Sequence[DelegationRule]) -> Iterator[tuple[int, DelegationRule]]:
    for number, rule in enumerate(rules, 1):
        pattern = compiled(rule.pattern)
        if isinstance(pattern, Pattern) and not _wrong_with(rule) and pattern.found_in(task):
            yield number, rule


def _settled(target: Target, hard: float, available: Collection[Target]) -> tuple[Target, str]:
    """The one who really gets it, and what there is to say about the difference."""
    if target is Target.AUTO:
        chosen = _by_complexity(hard, available)
        return chosen, f"; complexity {hard:g} → {chosen.value}"
    if target is not Target.LOCAL and target not in available:
        return Target.LOCAL, f"; {target.value} is not available, so it stays local"
    return target, ""


def _by_complexity(hard: float, available: Collection[Target]) -> Target:
    if hard < SIMPLE:
        return Target.LOCAL
    if hard > HARD and Target.FLOW in available:
        return Target.FLOW
    return next((one for one in (Target.CLAUDE, Target.OPENAI) if one in available), Target.LOCAL)
