"""Turns settled rules into the arguments of bubblewrap. Pure, except that it looks whether a path is a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache

from clawft.sandbox.bounds import Bounds, PathRule

TEMPORARY_BYTES = 2 * 1024**3
"""The size of each private temporary folder of a child."""
TEMPORARY_SHARE = 8
"""Each private temporary folder may take one part in so many of the memory, as it is kept there."""

ALONE = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL")
"""`--unshare-pid`: all processes a child starts end with it, wherever they hide."""
KERNEL = ("--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
"""bubblewrap leaves /proc/sys writable for root, who could have the kernel run a program outside."""
FIRST = tuple(word for name in ("mem", "task/1/mem") for word in ("--ro-bind", os.devnull, f"/proc/1/{name}"))
"""The first process in the namespace is bubblewrap's, and has no limits: writing to its memory would escape them."""


def arguments(bounds: Bounds, cwd: str, *, sized: bool, seccomp: str = "") -> list[str]:
    """The options. `sized`: this bubblewrap can bound temporary folders; `seccomp`: descriptor of a filter to read."""
    network = () if bounds.any_host else ("--unshare-net",)
    filtered = ("--seccomp", seccomp) if seccomp else ()
    return [*ALONE, *network, *filtered, *mounts(bounds.rules, sized=sized), "--chdir", cwd]


def mounts(rules: Sequence[PathRule], *, sized: bool) -> list[str]:
    """The mounts in the order of the rules, shallow before deep, so that each covers what the one before it left."""
    root, *rest = rules
    bind = "--bind" if root.access == "write" else "--ro-bind"
    found = [bind, "/", "/", *KERNEL, *FIRST, *_private("/dev/shm", sized)]  # noqa: S108 - a new one in its place
    closed = ["/dev"]
    for rule in rest:
        found += _mount(rule, sized)
        closed += [rule.path] if rule.access == "hide" and os.path.isdir(rule.path) else []
    return [*found, *(word for path in closed for word in ("--remount-ro", path))]


def given(place: str, mode: int, descriptor: int) -> tuple[str, ...]:
    """Mounts at this place, for reading, what can be read from the descriptor."""
    return ("--perms", f"{mode:04o}", "--ro-bind-data", str(descriptor), place)


def waiting(told: int, waits: int) -> tuple[str, ...]:
    """Options that let bubblewrap report its child, and let the child wait behind the walls before it becomes the
    command.
    """
    return ("--info-fd", str(told), "--block-fd", str(waits))


def _mount(rule: PathRule, sized: bool) -> Iterable[str]:
    path = rule.path
    match rule.access:
        case "write":
            return ("--bind", path, path)
        case "empty":
            return _private(path, sized)
        case "hide" if os.path.isdir(path):
            return ("--perms", "0555", "--tmpfs", path)
        case "hide":
            return ("--ro-bind", os.devnull, path)
        case "near":
            return ("--ro-bind-try", path, path)
        case "link":
            return _link(path)
        case "bare":
            return ("--dir", path)
        case _:
            return ("--ro-bind", path, path)


def _link(path: str) -> Iterable[str]:
    try:
        return ("--symlink", os.readlink(path), path)
    except OSError:
        return ()  # gone in the meantime


def _private(path: str, sized: bool) -> Iterable[str]:
    """A temporary folder of its own, kept in memory."""
    size = ("--size", str(temporary_bytes())) if sized else ()
    return (*size, "--perms", "1777", "--tmpfs", path)


@cache
def temporary_bytes() -> int:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(TEMPORARY_BYTES, memory // TEMPORARY_SHARE)
