"""Rules as this disk has them: one about nothing is left out, and of a link what it leads to is meant.

A link in the workspace opens nothing: a server may have put it there for its next start.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from clawft.sandbox.bounds import Access, Rule, access_to, by_depth, is_within


def settled(rules: Sequence[Rule], workspace: str) -> list[Rule]:
    """Shallow before deep, as they came. Where a link and something else are the same, hiding counts."""
    found: dict[str, Access] = {}
    for rule in rules:
        for path in _meant(rule, workspace, rules):
            if found.get(path) != "hide":
                found[path] = rule.access if rule.access != "stay" else _staying(path, rules)
    return [Rule(path, found[path]) for path in sorted(found, key=by_depth)]


def _meant(rule: Rule, workspace: str, rules: Sequence[Rule]) -> tuple[str, ...]:
    """The path without links in it; nothing if it is not there, or not to be followed."""
    if not os.path.lexists(rule.path):
        return ()
    real = os.path.realpath(rule.path)
    if real == rule.path:
        return (real,)
    if rule.access in ("hide", "empty"):
        return (real,) if real != "/" else ()
    if is_within(rule.path, workspace) or not os.path.exists(real):
        return ()
    lost = access_to(os.path.dirname(rule.path), rules) == "hide"  # with its folder, so it is put there again
    return (real, rule.path) if lost else (real,)


def _staying(path: str, rules: Sequence[Rule]) -> Access:
    """What is bound to its own place cannot be moved; a file there is bound for reading."""
    return "write" if os.path.isdir(path) and access_to(path, rules) == "write" else "read"
