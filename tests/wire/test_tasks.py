"""What is told of a task can be read by a strict client, whatever its server says."""

import json

import pytest

from clawft.errors import ProtocolFailure
from clawft.wire import tasks
from tests.requirements import requirement

pytestmark = requirement("RES-12")


def shape(**more: object) -> bytes:
    return json.dumps({"taskId": "t", "status": "working", **more}).encode()


def named(**more: object) -> dict[str, object]:
    return {key: json.loads(bytes(value)) for key, value in tasks.named(shape(**more), "ours").items()}


@pytest.mark.parametrize("odd", [-5, 0.5, 1e308, 10**18, "soon", True, []])
def test_times_that_are_no_count_are_not_passed_on(odd: object) -> None:
    assert named(ttlMs=odd, pollIntervalMs=odd) == {"taskId": "ours", "status": "working", "ttlMs": None}


def test_times_that_are_one_are() -> None:
    times = {"ttlMs": 60_000, "pollIntervalMs": 0}
    assert named(**times) == {"taskId": "ours", "status": "working", **times}
    assert named(ttlMs=None)["ttlMs"] is None


@pytest.mark.parametrize("member", ["createdAt", "lastUpdatedAt"])
def test_a_date_that_is_no_text_makes_it_unreadable(member: str) -> None:
    with pytest.raises(ProtocolFailure, match=member):
        tasks.read(shape(**{member: 5}))
