"""Bounds as the arguments of bubblewrap. Pure but for a look at what exists: only that can be covered or shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from clawft.sandbox.bounds import Bounds, Rule

TEMPORARY_BYTES = 2 * 1024**3
"""How much a child may put into its private temporary folders, each."""

ALONE = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL")
"""`--unshare-pid`: whatever a child starts, and wherever it hides, ends with it."""
KERNEL = ("--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
"""bubblewrap leaves /proc/sys to a root user, who could have the kernel run a program of his for him."""

Exists = Callable[[str], bool]


def arguments(bounds: Bounds, cwd: str, *, sized: bool, seccomp: str = "") -> list[str]:
    """Its options. `sized`: this bubblewrap can bound temporary folders; `seccomp`: where to read a filter from."""
    network = () if bounds.any_host else ("--unshare-net",)
    filtered = ("--seccomp", seccomp) if seccomp else ()
    return [*ALONE, *network, *filtered, *mounts(bounds.rules, sized=sized), "--chdir", cwd]


def mounts(rules: Sequence[Rule], *, sized: bool, exists: Exists = os.path.lexists) -> list[str]:
    """The rules in their order, shallow before deep, so that each covers what the one before it left."""
    root, *rest = rules
    bind = "--bind" if root.access == "write" else "--ro-bind"
    found = [bind, "/", "/", *KERNEL]
    for rule in rest:
        if exists(rule.path):
            found += _mount(rule, sized)
    return found


def _mount(rule: Rule, sized: bool) -> Iterator[str]:
    path = rule.path
    match rule.access:
        case "read":
            yield from ("--ro-bind", path, path)
        case "write":
            yield from ("--bind", path, path)
        case "hide" if not os.path.isdir(path):
            yield from ("--ro-bind", os.devnull, path)
        case "hide":
            yield from ("--perms", "0555", "--tmpfs", path)
        case "empty":
            yield from ("--size", str(TEMPORARY_BYTES)) if sized else ()
            yield from ("--perms", "1777", "--tmpfs", path)
