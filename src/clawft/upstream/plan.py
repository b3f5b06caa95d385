"""Wanted, running, and the difference. Start-up, a changed file, a toggle and `set_servers` are this one operation."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from clawft.upstream.spec import UpstreamSpec


class Plan(Struct, frozen=True):
    start: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


def plan(running: Mapping[str, UpstreamSpec], wanted: Mapping[str, UpstreamSpec], again: Collection[str] = ()) -> Plan:
    """The steps after which exactly the wanted, enabled servers run, as they are wanted; `again` anew. Pure."""
    live = {name for name, spec in wanted.items() if spec.enabled}
    return Plan(
        start=tuple(name for name in wanted if name in live and name not in running),
        stop=tuple(name for name in running if name not in live),
        restart=tuple(
            name for name in running if name in live and (name in again or not running[name].is_same(wanted[name]))
        ),
    )
