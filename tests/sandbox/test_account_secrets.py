"""Secrets that are not below `$HOME`: of the account's real home, and of the system for a root user."""

import os
import sys
from pathlib import Path

import pytest

from clawft.sandbox import account_secrets
from tests.requirements import requirement
from tests.sandbox.held import LEVELS, House

SHADOW = "/etc/shadow"

pytestmark = [
    pytest.mark.slow,  # an interpreter for each
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_hashes_of_passwords_are_hidden_also_from_servers_of_root(house: House, level: str) -> None:
    assert house.attack("free", "read", SHADOW) is (os.getuid() == account_secrets.ROOT)
    assert not house.attack(level, "read", SHADOW)
    assert house.attack(level, "read", "/etc/passwd")


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_home_that_is_not_named_by_its_variable_has_its_secrets_hidden_too(
    house: House, tmp_path: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (real := tmp_path / "real" / ".ssh").mkdir(parents=True)
    (real / "id_ed25519").write_text("secret")
    (real.parent / "letter").write_text("dear")
    monkeypatch.setattr("clawft.sandbox.bounds.TEMPORARY", ())  # where the tests' own folders lie
    assert house.attack("free", "read", str(real / "id_ed25519"))
    monkeypatch.setattr(account_secrets, "_home_of_account", lambda: str(real.parent))
    assert not house.attack(level, "read", str(real / "id_ed25519"))
    assert house.attack(level, "read", str(real.parent / "letter"))
