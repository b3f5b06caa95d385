"""The limit on open files (RLIMIT_NOFILE): raised where the system allows it, and respected where it does not.

Each connection is an open file, and so is each pipe to a server. With the usual limit of 1,024 our connections would
use up all of them, and no server could be started any more.
"""

from __future__ import annotations

import logging

OWN_FILES = 1_000
"""Kept for everything that is no connection of a client: servers, files, connections not yet accepted."""
FEWEST = 16

log = logging.getLogger("clawft.http")


def room_for(connections: int) -> int:
    """Raise the limit as far as it is needed and allowed; returns how many connections there is room for then."""
    try:
        import resource  # not on every system
    except ImportError:  # Windows has no such bound
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OWN_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (OSError, ValueError):  # less than it says, on some systems
        most = soft
    found = within(connections, most)
    if found < connections:
        log.warning("%d connections at most: the system lets us open %d files (ulimit -n)", found, most)
    return found


def within(connections: int, files: int) -> int:
    """How many connections fit when `OWN_FILES` are kept for everything else, or half of all where there are few."""
    return max(FEWEST, min(connections, files - min(OWN_FILES, files // 2)))
