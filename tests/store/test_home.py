"""Our folder: for the owner only, whole files, one writer at a time."""

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from clawft.errors import Busy, InvalidConfig
from clawft.store.file_locks import locked
from clawft.store.home import home
from clawft.store.private_files import open_at_once, private_dir, write_private
from tests.requirements import requirement

HOLD_LOCK = """
import sys
from pathlib import Path
from clawft.store.file_locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@requirement("CONF-01")
def test_home_is_where_the_environment_says(home: Path) -> None:
    from clawft.store import home as module

    assert module.home() == home


@requirement("CONF-01")
def test_home_is_in_the_users_folder_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLAWFT_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".clawft"


@requirement("CONF-23")
def test_the_home_of_nobody_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAWFT_HOME", "~nobody-here/x")
    with pytest.raises(InvalidConfig, match="nobody-here"):
        home()


@requirement("PLUG-06")
@pytest.mark.usefixtures("open_umask")
def test_folders_and_files_are_closed_to_others_whatever_the_umask(tmp_path: Path) -> None:
    folder = private_dir(tmp_path / "a" / "b" / "c")
    write_private(folder / "secret", b"x")
    assert [mode(tmp_path / part) for part in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert mode(folder / "secret") == 0o600


@requirement("CONF-12")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted there")
def test_a_folder_in_place_of_a_file_leaves_nothing_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for _ in range(8):
        with pytest.raises(IsADirectoryError):
            open_at_once(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == len(before)


@requirement("PLUG-06")
def test_a_file_never_exists_with_wider_rights(tmp_path: Path) -> None:
    """A file that others could read is replaced by one they cannot, rather than written into."""
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o644)
    with path.open("rb") as reader:
        write_private(path, b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600


@requirement("PLUG-06")
def test_writing_replaces_a_link_and_not_what_it_points_to(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"theirs")
    link.symlink_to(target)
    write_private(link, b"ours")
    assert target.read_bytes() == b"theirs"
    assert link.read_bytes() == b"ours"


@requirement("PLUG-06")
def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_private(tmp_path / "folder", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@requirement("PLUG-06")
def test_a_lock_held_by_another_process_ends_in_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(Busy, match="another process") as refused, locked(path, seconds=0.05):
            pass
        assert refused.value.hint
        other.kill()
        other.wait(10)
    with locked(path, seconds=10):  # the system has freed the lock of the dead
        assert mode(path) == 0o600


@requirement("PLUG-06")
def test_threads_exclude_each_other_too(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    inside = 0
    most = 0

    def enter() -> None:
        nonlocal inside, most
        for _ in range(20):
            with locked(path):
                inside += 1
                most = max(most, inside)
                time.sleep(0)
                inside -= 1

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (most, inside) == (1, 0)


@requirement("PLUG-06")
def test_the_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "lock"):
        raise ZeroDivisionError
    with locked(tmp_path / "lock", seconds=0):
        pass
