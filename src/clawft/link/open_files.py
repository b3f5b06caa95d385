"""How many files this process may have open: each connection is one, and so is each pipe to a server and each file.

Systems begin with 1,024, which as many connections as we take would use up: then no file could be opened any more, no
server started, and nobody let in.
"""

from __future__ import annotations

import logging

OWN_FILES = 1_000
"""For everything that is no connection of a client: servers, files, those who wait outside."""
FEWEST = 16

log = logging.getLogger("clawft.http")


def room_for(connections: int) -> int:
    """How many of these there can be, once we may open as many files as the system lets us, and need."""
    try:
        import resource
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
    """What is not for connections is for everything else: `OWN_FILES`, or half, where there are few."""
    return max(FEWEST, min(connections, files - min(OWN_FILES, files // 2)))
