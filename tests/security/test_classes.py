"""The table of attacks is true: each has tests that exist, and one that shows it without the defence."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.security.classes import ATTACKS, Attack

TESTS = Path(__file__).parents[1]


@cache
def names_in(file: str) -> set[str]:
    return set(re.findall(r"^(?:async )?def (test_\w+)", (TESTS / file).read_text(), re.MULTILINE))


@requirement("QUAL-03")
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_each_class_is_tried_and_can_be_seen(attack: Attack) -> None:
    assert attack.tried
    for place in (*attack.tried, attack.without):
        file, _, name = place.partition("::")
        assert name in names_in(file), place
    assert attack.without not in attack.tried


@requirement("QUAL-03")
def test_none_is_left_out() -> None:
    assert [attack.number for attack in ATTACKS] == list(range(1, len(ATTACKS) + 1))
    assert len(ATTACKS) >= 20
