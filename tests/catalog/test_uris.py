"""Resource URIs that two servers share."""

from hypothesis import given
from hypothesis import strategies as st

from clawft.catalog.uris import exported, unwrap, wrap
from tests.requirements import requirement


@requirement("RES-05")
def test_a_uri_stays_as_it_is_while_only_one_has_it() -> None:
    assert exported([("a", "x:///1"), ("b", "x:///2")]) == ["x:///1", "x:///2"]


@requirement("RES-05")
def test_the_second_of_two_is_wrapped_with_its_owner() -> None:
    first, second, third = exported([("a", "x:///1"), ("b", "x:///1"), ("c", "x:///1")])
    assert first == "x:///1"
    assert unwrap(second) == ("b", "x:///1")
    assert unwrap(third) == ("c", "x:///1")
    assert len({first, second, third}) == 3


@requirement("RES-05")
def test_nobody_can_pass_for_a_wrapping_of_another() -> None:
    forged = wrap("a", "x:///1")
    assert unwrap(exported([("b", forged)])[0]) == ("b", forged)


@requirement("RES-05")
@given(st.text(min_size=1), st.text())
def test_wrapping_is_reversible(owner: str, uri: str) -> None:
    try:
        wrapped = wrap(owner, uri)
    except UnicodeEncodeError:  # a lone surrogate is no text that JSON could have brought
        return
    assert unwrap(wrapped) == (owner, uri)


@requirement("RES-05")
def test_the_variables_of_a_template_stay_readable() -> None:
    assert wrap("a", "x:///{id}").endswith("{id}")
