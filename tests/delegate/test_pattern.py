"""Patterns of rules: they match like `re`, and none can hang."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.delegate.pattern import MAX_STATES, Pattern, UnusablePattern, compiled
from tests.requirements import requirement

PATTERNS = [
    "", "deploy", "a(b|c)+d", "(?i)foo", "[^a-c\\d]x*?", "^\\bx{2,5}$", "(?:ab)*c", "\\w+\\s\\W", "a|ab|^$", "x{0}y?",
    "a{2}", "(?i:A)b", "\\Aab\\Z", "(?m)^b$", "(?s)a.b", "a.b", "[a-z]+@[a-z]+", "\\B-\\B", "((a?)b)*c", "(?i)[A-C]x",
]  # fmt: skip


def found(pattern: str, text: str) -> bool:
    usable = compiled(pattern)
    assert isinstance(usable, Pattern), usable
    return usable.found_in(text)


@requirement("DELEG-11", "DELEG-08")
@given(st.sampled_from(PATTERNS), st.text("abcdxyABFO @-1\n", max_size=24))
def test_it_finds_what_re_finds(pattern: str, text: str) -> None:
    assert found(pattern, text) is (re.search(pattern, text) is not None)


@requirement("DELEG-11", "T-10.8")
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)*b", "(.*)*x", "a.*a.*a.*a.*a.*a.*a.*a.*b"])
def test_no_pattern_hangs(pattern: str) -> None:
    assert found(pattern, "a" * 4_096) is (pattern == "(a+)+$")


@requirement("DELEG-11")
@pytest.mark.parametrize(
    "pattern", ["[", "(?P<x", "(a)\\1", "(?=x)", "(?!x)", "*", f"a{{{MAX_STATES}}}", "x" * 2_000, "[[:alpha:]]"]
)
def test_what_has_no_bounded_form_is_refused_with_a_reason(pattern: str) -> None:
    refused = compiled(pattern)
    assert isinstance(refused, UnusablePattern)
    assert refused.reason
