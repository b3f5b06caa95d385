"""What surrounds the code keeps its word: locks that install anywhere, one version, extras that exist."""

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from clawft._version import __version__
from tests.requirements import requirement

ROOT = Path(__file__).parent.parent
PYTHON_LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NPM_LOCKS = [ROOT / folder / "package-lock.json" for folder in ("tests/peers", "tools/npm")]
PIN = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+)(?P<rest>(?: .*)?\n(?:    --hash=sha256:[0-9a-f]{64}.*\n)*)", re.MULTILINE
)


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins(lock: Path) -> dict[str, str]:
    return {pin["name"]: pin["version"] for pin in PIN.finditer(lock.read_text())}


@requirement("QUAL-07")
@pytest.mark.parametrize("lock", [*PYTHON_LOCKS, *NPM_LOCKS], ids=lambda lock: "-".join(lock.parts[-2:]))
def test_a_lock_names_no_place_to_download_from(lock: Path) -> None:
    lines = lock.read_text().splitlines()
    assert [line for line in lines if "://" in line or line.startswith("-")] == []


@requirement("QUAL-07")
@pytest.mark.parametrize("lock", PYTHON_LOCKS, ids=lambda lock: lock.stem)
def test_every_python_pin_has_its_hashes(lock: Path) -> None:
    found = list(PIN.finditer(lock.read_text()))
    assert found
    assert [pin["name"] for pin in found if "--hash=" not in pin["rest"]] == []
    assert "".join(pin[0] for pin in found) == lock.read_text(), "a line belongs to no pin"


@requirement("QUAL-07")
@pytest.mark.parametrize("lock", NPM_LOCKS, ids=lambda lock: lock.parent.name)
def test_every_npm_package_has_its_hash(lock: Path) -> None:
    packages: dict[str, dict[str, Any]] = json.loads(lock.read_text())["packages"]
    installed = {path: package for path, package in packages.items() if path}
    assert installed
    assert [path for path, package in installed.items() if "integrity" not in package] == []


@requirement("QUAL-07")
def test_locks_that_are_installed_together_agree() -> None:
    apart = ("bench", "bench-proxy", "sdk1")  # in environments of their own
    locks = [pins(lock) for lock in PYTHON_LOCKS if lock.stem not in apart]
    versions = {name: {lock[name] for lock in locks if name in lock} for lock in locks for name in lock}
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@requirement("QUAL-04")
def test_every_run_time_dependency_is_locked() -> None:
    wanted = {re.split(r"[^a-z0-9-]", line)[0] for line in project()["dependencies"]}
    assert wanted <= pins(ROOT / "requirements" / "run.txt").keys()


@requirement("PLUG-09")
def test_every_family_has_its_extra_and_all_means_all() -> None:
    extras: dict[str, list[str]] = project()["optional-dependencies"]
    families = extras.keys() - {"all"}
    assert families == {"git", "oauth", "keyring", "ide", "claude", "openai"}
    assert extras["all"] == [f"clawft[{','.join(name for name in extras if name != 'all')}]"]


@requirement("QUAL-07")
def test_the_installed_package_carries_our_version() -> None:
    assert metadata.version("clawft") == __version__
