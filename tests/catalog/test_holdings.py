"""Whose a URI is, and how the others are told of theirs."""

from collections.abc import Iterable
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from clawft.catalog.holdings import Holdings, UriSpelling, is_shared, roots_of
from clawft.catalog.uris import PREFIX, unwrap, wrap
from tests.requirements import requirement

pytestmark = requirement("RES-05")


def held(owner: str, uris: Iterable[str] = (), templates: Iterable[str] = ()) -> Holdings:
    return Holdings(owner, frozenset(uris), roots_of(templates))


FIRST = held("first", ["x:///1"], ["notes:///{day}"])


def test_a_uri_stays_as_it_is_while_only_one_has_it() -> None:
    second = held("second", ["x:///2"], ["diary:///{day}"])
    assert not is_shared([FIRST, second])
    spell = UriSpelling(second, (FIRST,))
    assert [spell(uri) for uri in ("x:///2", "diary:///today")] == ["x:///2", "diary:///today"]
    assert spell.template("diary:///{day}") == "diary:///{day}"


def test_the_second_of_two_is_wrapped_with_its_owner() -> None:
    second = held("second", ["x:///1"])
    assert is_shared([FIRST, second])
    assert unwrap(UriSpelling(second, (FIRST,))("x:///1")) == ("second", "x:///1")


def test_who_names_what_it_does_not_have_means_that_of_the_other() -> None:
    second = held("second", ["x:///2"], ["other:///{day}"])
    spell = UriSpelling(second, (FIRST,))
    assert [spell(uri) for uri in ("x:///1", "notes:///today")] == ["x:///1", "notes:///today"]


def test_what_an_earlier_template_may_stand_for_is_read_there_and_so_is_wrapped() -> None:
    second = held("second", ["notes:///today"])
    assert is_shared([FIRST, second])
    assert unwrap(UriSpelling(second, (FIRST,))("notes:///today")) == ("second", "notes:///today")


def test_what_fits_two_templates_is_wrapped_for_the_second() -> None:
    second = held("second", (), ["notes:///{+path}"])
    spell = UriSpelling(second, (FIRST,))
    assert unwrap(spell("notes:///today")) == ("second", "notes:///today")
    assert unwrap(spell.template("notes:///{+path}")) == ("second", "notes:///{+path}")


def test_a_template_is_wrapped_as_soon_as_one_thing_it_can_stand_for_is_another_s() -> None:
    second = held("second", (), ["x:///{number}"])
    assert is_shared([FIRST, second])
    spell = UriSpelling(second, (FIRST,))
    assert unwrap(spell.template("x:///{number}")) == ("second", "x:///{number}")
    assert unwrap(spell("x:///1")) == ("second", "x:///1")
    assert spell("x:///3") == "x:///3"


def test_nobody_can_pass_for_a_wrapping_of_another() -> None:
    forged = wrap("first", "x:///1")
    second = held("second", [forged])
    assert is_shared([second])
    assert unwrap(UriSpelling(second)(forged)) == ("second", forged)


def test_a_template_for_everything_is_no_wrapping() -> None:
    alone = held("alone", (), ["{+uri}"])
    assert not is_shared([alone])
    assert UriSpelling(alone).template("{+uri}") == "{+uri}"


texts = st.text("ab/:", max_size=4)
templates = st.lists(texts.map(lambda root: root + "{x}"), max_size=3)
holdings = st.builds(held, st.just("o"), st.lists(texts, max_size=4), templates)


def naive(one: Holdings, other: Holdings) -> bool:
    pairs = [(root, uri) for root in one.roots for uri in (*other.uris, *other.roots)]
    pairs += [(root, uri) for root in other.roots for uri in (*one.uris, *one.roots)]
    return not one.uris.isdisjoint(other.uris) or any(uri.startswith(root) for root, uri in pairs)


@given(st.lists(holdings, min_size=1, max_size=4))
def test_one_look_at_all_sees_what_a_look_at_each_pair_would(everybody: list[Holdings]) -> None:
    pairs = list(combinations(everybody, 2))
    assert [one.meets(other) for one, other in pairs] == [naive(one, other) for one, other in pairs]
    assert is_shared(everybody) == any(naive(one, other) for one, other in pairs)


@given(holdings, texts)
def test_what_somebody_may_have_is_found_as_if_all_were_looked_at(one: Holdings, uri: str) -> None:
    assert one.may_have(uri) == (uri in one.uris or any(uri.startswith(root) for root in one.roots))
    near = any(root.startswith(uri) or uri.startswith(root) for root in one.roots)
    assert one.may_have_below(uri) == (near or any(each.startswith(uri) for each in one.uris))


@given(st.lists(holdings, min_size=2, max_size=4), texts)
def test_a_bare_uri_leads_back_to_whoever_names_it(everybody: list[Holdings], uri: str) -> None:
    for at, own in enumerate(everybody):
        spelled = UriSpelling(own, tuple(everybody[:at]))(uri)
        reached = next((each for each in everybody if each.may_have(spelled)), None)
        assert spelled.startswith(PREFIX) or not own.may_have(uri) or reached is own
