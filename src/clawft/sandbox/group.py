"""Signals a child and all processes of its group, whose number is that of the child."""

import os
import signal

_CHILDREN_ARE_TOLD = "/proc/thread-self/children"
"""Missing in some kernels."""


def ask_to_end(group: int, *, walled: bool) -> None:
    """Send SIGTERM to the group; not to a leader that is the wall (`walled`) as long as there are others behind it."""
    others = others_in(group) if walled else []
    if not others:
        signal_group(group, signal.SIGTERM)
    for pid in others:
        _signal(pid)


def end(group: int, *, tended: bool) -> None:
    """Kill the group at once. `tended`: have its leader do it, who reaches processes that left the group, too."""
    if tended:
        _signal(group)
    else:
        signal_group(group)


def _signal(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return


def signal_group(group: int, number: signal.Signals = signal.SIGKILL) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return  # nobody left; or (macOS) only zombies


def others_in(group: int) -> list[int]:
    """Members of the group besides the leader, as far as the system shows them. A wall also keeps orphans below it."""
    processes = _below(group) if os.path.exists(_CHILDREN_ARE_TOLD) else _everybody()
    return [pid for pid in processes if pid != group and _group_of(pid) == group]


def _everybody() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _below(leader: int) -> list[int]:
    """All descendants of the leader; looking at all processes would be slow when many children end."""
    found: list[int] = []
    parents = [leader]
    while parents:
        children = _children_of(parents.pop())
        found += children
        parents += children
    return found


def _children_of(pid: int) -> list[int]:
    try:
        return [child for thread in os.listdir(f"/proc/{pid}/task") for child in _started_by(pid, thread)]
    except OSError:
        return []  # gone in the meantime, or there is no /proc


def _started_by(pid: int, thread: str) -> list[int]:
    with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
        return [int(word) for word in file.read().split()]


def _group_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[2])
    except OSError:
        return 0  # gone in the meantime
