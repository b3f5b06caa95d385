"""Connections and all other open files, where the system allows many, few, or hardly any."""

import pytest

from clawft.link.open_files import FEWEST, OWN_FILES, within
from tests.requirements import requirement


@requirement("QUAL-12")
@pytest.mark.parametrize(
    ("files", "connections"),
    [(100_000, 1_000), (1_000 + OWN_FILES, 1_000), (1_500, 750), (1_024, 512), (256, 128), (8, FEWEST)],
)
def test_there_are_files_left_for_everything_else(files: int, connections: int) -> None:
    assert within(1_000, files) == connections
