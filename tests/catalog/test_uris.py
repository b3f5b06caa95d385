"""Resource URIs that two servers share."""

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from clawft.catalog.uris import unwrap, wrap
from tests.requirements import requirement


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


@requirement("RES-05")
@given(st.text(min_size=1))
def test_what_is_put_into_a_wrapped_template_arrives_as_in_the_template_itself(value: str) -> None:
    try:
        put_in = quote(value, safe="")
    except UnicodeEncodeError:  # a lone surrogate is no text that JSON could have brought
        return
    template = "x:///{id}/more"
    expanded = wrap("a", template).replace("{id}", put_in)
    assert unwrap(expanded) == ("a", template.replace("{id}", put_in))


@requirement("RES-05")
def test_one_that_was_escaped_as_a_whole_is_read_too() -> None:
    assert unwrap("weft-of://a/x%3A%2F%2F%2F1") == ("a", "x:///1")
