"""One gateway for a whole file of hostile clients: it must outlive every one of them."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.servers.weft import RSS_LIMIT, Served, gateway, peak_memory


@pytest.fixture(scope="module")
def workspace_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gateway")


@pytest.fixture(scope="module")
def served(workspace_of_all: Path) -> Generator[Served]:
    """Open to all, so that what is refused is refused for what it is."""
    with gateway(workspace_of_all, "--no-auth") as running:
        yield running
        assert peak_memory(running.pid) < RSS_LIMIT
        assert running.stop() == 0
        assert not [line for line in running.lines if "Traceback" in line]
