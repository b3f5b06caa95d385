"""A weft that is a server of itself would start itself for ever: each tells the next how deep it is."""

from __future__ import annotations

import os

from clawft.errors import SpawnFailed
from clawft.upstream.spec import UpstreamSpec

DEPTH = "CLAWFT_DEPTH"
MAX_DEPTH = 4
"""How many may have started one another."""

_OURSELVES = frozenset({"weft", "clawft"})


def nesting_depth(spec: UpstreamSpec) -> dict[str, str]:
    """The variable that tells a weft among the servers its depth; nothing for others. Raises SpawnFailed where it is
    one too many.
    """
    if not _is_weft(spec):
        return {}
    depth = _depth() + 1
    if depth > MAX_DEPTH:
        raise SpawnFailed(
            f"{MAX_DEPTH} weft processes have already started one another: {spec.name} seems to start itself",
            hint=f"weft servers remove {spec.name}, or give it a CLAWFT_HOME of its own",
        )
    return {DEPTH: str(depth)}


def _is_weft(spec: UpstreamSpec) -> bool:
    words = " ".join((spec.command, *spec.args)).split()
    return not _OURSELVES.isdisjoint(map(os.path.basename, words))


def _depth() -> int:
    depth = os.environ.get(DEPTH, "")
    return int(depth) if depth.isdecimal() and len(depth) < 3 else 0
