"""The peers are there and start; a missing one is never silent."""

import subprocess
from pathlib import Path

import pytest

from tests import peers
from tests.requirements import requirement

START_SECONDS = 60

pytestmark = requirement("QUAL-15")


@pytest.mark.slow
def test_node_is_new_enough_for_every_peer() -> None:
    assert peers.version_of(str(peers.node())) >= peers.OLDEST_NODE


@pytest.mark.slow
@pytest.mark.parametrize("argv", [["conformance", "--help"], ["mcp-inspector", "--help"]], ids=lambda argv: argv[0])
def test_a_peer_starts(argv: list[str], tmp_path: Path) -> None:
    command = [*peers.bin(argv[0]), *argv[1:]]
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=START_SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "Usage" in ran.stdout + ran.stderr


def test_a_missing_peer_is_skipped_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no npm command 'nobody'.*make peers"):
        peers.bin("nobody")


def test_a_missing_peer_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="make peers"):
        peers.bin("nobody")


def test_outside_pytest_a_missing_peer_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_VERSION")
    with pytest.raises(SystemExit, match="make peers"):
        peers.bin("nobody")
