"""What `weft doctor` says about a machine."""

import subprocess
from pathlib import Path

import pytest

from clawft.builtin.trust import how_to_trust
from clawft.cli.doctor import checks
from clawft.cli.doctor.checks import audit, sandbox_with
from clawft.errors import Busy
from clawft.sandbox.probe import Means
from tests.requirements import requirement

NOT_KEPT = "lists of hosts are not enforced"
SOCKETS = "sockets of other programs can be reached"
NOT_BOUNDED = "is not bounded"


@requirement("POOL-22")
@pytest.mark.parametrize(
    ("means", "level", "said", "unsaid"),
    [
        (Means("bwrap", offline=True), "ok", ("servers see no secrets", NOT_BOUNDED), (NOT_KEPT, SOCKETS)),
        (Means("bwrap"), "warn", ("files are held", NOT_KEPT, NOT_BOUNDED), ()),
        (
            Means("landlock", abi=7, reason="no bubblewrap"),
            "warn",
            ("landlock(7)", NOT_KEPT, SOCKETS, NOT_BOUNDED, "no bubblewrap"),
            (),
        ),
        (Means(reason="nothing here"), "warn", ("run with your rights", "nothing here"), ()),
    ],
)
def test_what_is_lost_is_said(means: Means, level: str, said: tuple[str, ...], unsaid: tuple[str, ...]) -> None:
    found = sandbox_with(means)
    assert found.level == level
    assert all(words in found.said for words in said)
    assert not any(words in found.said for words in unsaid)
    assert bool(found.hint) == (level == "warn")


@requirement("AGENT-14", "GUARD-11")
def test_a_journal_that_somebody_holds_is_one_finding_among_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(path: Path) -> None:
        raise Busy("another process has held it", hint="end it")

    monkeypatch.setattr("clawft.cli.doctor.checks.verify", held)
    (found,) = audit(tmp_path)
    assert (found.level, found.said, found.hint) == ("fail", "another process has held it", "end it")


@requirement("PLUG-04", "AGENT-14")
def test_the_line_that_trusts_a_folder_leaves_nothing_to_find(tmp_path: Path, home: Path) -> None:
    """The usual umask lets everybody read what it makes, and the list says nothing that is secret."""
    line = how_to_trust(tmp_path / "project").partition("run: ")[2]
    subprocess.run(["sh", "-c", f"umask 022; {line}"], check=True)
    assert (home / "trusted").read_text() == f"{tmp_path.resolve() / 'project'}\n"
    assert [found.level for found in checks.home(home)] == ["ok"]
    (home / "trusted").chmod(0o622)
    assert [found.hint for found in checks.home(home) if found.level == "fail"] == [f"chmod go-w {home / 'trusted'}"]
