"""The reference says what the code says."""

from pathlib import Path

import pytest

from tests.docs.generate import PARTS, renewed, used
from tests.docs.pages import ROOT, pages
from tests.requirements import requirement


@requirement("QUAL-14")
@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_generated_parts_are_up_to_date(page: Path) -> None:
    text = page.read_text()
    assert text == renewed(text), "run `python -m tests.docs.generate`"


@requirement("QUAL-14")
def test_every_part_stands_in_a_page() -> None:
    assert used() == set(PARTS)
