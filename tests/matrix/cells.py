"""A cell of the matrix: which message, from which agent, to which server, over what. Marks for tests are made here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

Era = Literal["handshake", "stateless"]
Transport = Literal["stdio", "http"]
Outcome = Literal["carried", "refused"]

ERAS: tuple[Era, ...] = ("handshake", "stateless")
TRANSPORTS: tuple[Transport, ...] = ("stdio", "http")
PAIRS = tuple((agent, server) for agent in ERAS for server in ERAS)


@dataclass(frozen=True)
class Cell:
    kind: str
    agent: Era
    server: Era
    transport: Transport
    outcome: Outcome = "carried"
    """`refused`: it cannot cross, and the test proves the clear answer that is given instead."""

    def __str__(self) -> str:
        return f"{self.agent}-{self.server}-{self.transport}"


def cells(
    kind: str,
    *,
    agents: Sequence[Era] = ERAS,
    servers: Sequence[Era] = ERAS,
    transports: Sequence[Transport] = TRANSPORTS,
    outcome: Outcome = "carried",
) -> pytest.MarkDecorator:
    """Run a test, with `cell` as a parameter, once for each of these cells, and have them counted."""
    wanted = [Cell(kind, agent, server, over, outcome) for agent in agents for server in servers for over in transports]
    return pytest.mark.parametrize("cell", [pytest.param(cell, id=str(cell), marks=mark(cell)) for cell in wanted])


def mark(cell: Cell) -> pytest.MarkDecorator:
    return pytest.mark.matrix(
        kind=cell.kind, agent=cell.agent, server=cell.server, transport=cell.transport, outcome=cell.outcome
    )
