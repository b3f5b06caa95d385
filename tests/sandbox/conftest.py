"""A home with secrets, for every test of what may be seen of it."""

from pathlib import Path

import pytest

from tests.sandbox.held import House, furnish


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    made = furnish(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made
