"""Globs: what they match, and that none of them takes long."""

from __future__ import annotations

import re
import time
from fnmatch import translate

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawft.policy.globs import any_matches
from tests.requirements import requirement


@given(st.text("[]!^-ab*?", max_size=12), st.text("[]!^-ab", max_size=8))
@example("[][", "[][")
def test_they_match_what_a_shell_would(glob: str, name: str) -> None:
    assert any_matches((name,), (glob,)) == (re.match(translate(glob), name) is not None)


@requirement("QUAL-03")
@pytest.mark.parametrize("glob", ["[" * 30_000, "a]" + "[" * 30_000, "[]" * 15_000, "[!" * 15_000])
def test_a_row_of_brackets_keeps_nobody_waiting(glob: str) -> None:
    began = time.process_time()
    any_matches(("echo",), (glob,))
    assert time.process_time() - began < 5
