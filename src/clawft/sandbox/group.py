"""A child and all it started: asked to end, or ended. The group bears the number of the child that leads it."""

import os
import signal


def ask_to_end(group: int, *, walled: bool) -> None:
    """SIGTERM for everybody. `walled`: the leader is the wall around the rest, and would take them all down at once."""
    others = others_in(group) if walled else []
    if not others:
        signal_group(group, signal.SIGTERM)
    for pid in others:
        _signal(pid)


def end(group: int, *, tended: bool) -> None:
    """At once. `tended`: the leader does it, and reaches those that left the group, too."""
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
    """Members beside the leader, as far as the system tells."""
    try:
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    return [pid for pid in processes if pid != group and _group_of(pid) == group]


def _group_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[2])
    except OSError:
        return 0  # gone in the meantime
