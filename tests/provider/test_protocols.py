"""Which protocols somebody keeps, found without asking Python each time."""

import typing
from typing import Any, Protocol

import pytest

from clawft.guard import pipeline, side_duties
from clawft.model import Witness
from clawft.model.protocols import is_of, members
from clawft.provider import base

LOOKED_FOR: list[Any] = [
    each
    for module in (base, side_duties, pipeline)
    for each in vars(module).values()
    if isinstance(each, type) and each.__module__ == module.__name__ and each.__base__ is Protocol
]


@pytest.mark.parametrize("protocol", [*LOOKED_FOR, Witness], ids=lambda protocol: protocol.__name__)
def test_the_members_are_those_that_python_looks_for(protocol: Any) -> None:
    told = getattr(protocol, "__protocol_attrs__", None) or vars(typing)["_get_protocol_attrs"](protocol)
    assert set(members(protocol)) == {name for name in told if not name.startswith("__")}


def test_whoever_lacks_a_member_does_not_keep_the_protocol() -> None:
    class Half:
        def noted(self) -> None: ...

    class Whole(Half):
        def follow(self) -> None: ...

    assert is_of(Whole(), Witness)
    assert not is_of(Half(), Witness)
    assert not is_of(None, Witness)
