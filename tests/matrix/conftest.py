"""One pair of gateways over HTTP for all tests of a run."""

from collections.abc import Generator

import pytest

from tests.matrix.houses import Houses


@pytest.fixture(scope="session")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Generator[Houses]:
    made = Houses(tmp_path_factory.mktemp("houses"))
    try:
        yield made
    finally:
        made.close()
