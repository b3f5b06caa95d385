"""Verdicts combine to the strictest."""

from hypothesis import given
from hypothesis import strategies as st

from clawft.model import Allow, Ask, Deny, Verdict
from clawft.model.verdict import severity, strictest
from tests.requirements import requirement

rules = st.text(max_size=3)
verdicts = st.one_of(st.builds(Allow, rules), st.builds(Ask, rules, rules), st.builds(Deny, rules, rules))
several = st.lists(verdicts, max_size=6)


@requirement("GUARD-13")
def test_nobody_objecting_means_allow() -> None:
    assert strictest([]) == Allow()


@requirement("GUARD-13")
def test_deny_beats_ask_beats_allow() -> None:
    ask, deny = Ask("a", "why"), Deny("d", "why")
    assert strictest([Allow("x"), ask]) == ask
    assert strictest([deny, ask, Allow()]) == deny
    assert strictest([ask, deny]) == deny


@requirement("GUARD-13")
def test_the_first_among_equals_is_named() -> None:
    assert strictest([Deny("first", "why"), Deny("second", "why")]) == Deny("first", "why")


@requirement("GUARD-13")
@given(several.filter(bool), several.filter(bool), several.filter(bool))
def test_grouping_does_not_matter(a: list[Verdict], b: list[Verdict], c: list[Verdict]) -> None:
    left = strictest([strictest([*a, *b]), strictest(c)])
    right = strictest([strictest(a), strictest([*b, *c])])
    assert left == right == strictest([*a, *b, *c])


@requirement("GUARD-13")
@given(several, verdicts)
def test_one_more_rule_never_loosens(before: list[Verdict], one_more: Verdict) -> None:
    after = severity(strictest([*before, one_more]))
    assert after >= severity(strictest(before))
    assert after >= severity(one_more)
