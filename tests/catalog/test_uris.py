"""Resource URIs that two servers share."""

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
