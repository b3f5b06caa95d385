"""Every test here has a home of its own."""

from pathlib import Path

import pytest

from clawft.auth.vault import Vault


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("CLAWFT_HOME", str(folder))
    return folder


@pytest.fixture
def vault(home: Path) -> Vault:
    return Vault()
