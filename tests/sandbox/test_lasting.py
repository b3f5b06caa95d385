"""Servers run for days: what becomes a secret while they do, or is replaced by whoever it belongs to, stays unseen."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from clawft.sandbox.bounds import PathRule
from clawft.sandbox.split_folder import MAX_ENTRIES, taken_apart
from clawft.upstream.cells import Cells
from clawft.upstream.spec import UpstreamSpec
from tests.requirements import requirement
from tests.sandbox.held import LEVELS, RUN_S, House, furnish, means

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")

WAITS = "import sys; print(flush=True); sys.stdin.readline(); print(open(sys.argv[1]).read())"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    made = furnish(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    (made.home / ".cargo").mkdir()
    (made.home / ".cargo" / "credentials.toml").write_text("secret")
    return made


def read_later(house: House, level: str, path: Path, meanwhile: Callable[[], None]) -> str:
    """What a child reads there after something has happened outside."""
    argv = [sys.executable, "-c", WAITS, str(path)]
    how = house.cell(level, "auto", argv, house.workspace).start(argv, str(house.workspace), {"HOME": str(house.home)})
    with subprocess.Popen(
        how.argv,
        env=dict(how.env),
        cwd=house.workspace,
        pass_fds=how.descriptors,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "\n"
        meanwhile()
        said, _ = child.communicate("\n", RUN_S)
    return said.strip()


def put_in_place(path: Path) -> None:
    """As shells, git and agents write their files: beside it first, then in its place."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text("secret")
    os.replace(beside, path)


@requirement("POOL-22")
@pytest.mark.slow
@pytest.mark.parametrize("level", ["free", *LEVELS])
@pytest.mark.parametrize("name", [".netrc", ".cargo/credentials.toml"])
def test_a_secret_that_is_written_anew_stays_out_of_sight(house: House, level: str, name: str) -> None:
    path = house.home / name
    seen = read_later(house, level, path, lambda: put_in_place(path))
    assert seen == ("secret" if level == "free" else "")


@requirement("POOL-22")
@pytest.mark.slow
@pytest.mark.parametrize("level", ["free", *LEVELS])
def test_so_does_one_that_is_made_later(house: House, level: str) -> None:
    path = house.home / ".kube" / "config"

    def log_in() -> None:
        path.parent.mkdir()
        path.write_text("secret")

    assert read_later(house, level, path, log_in) == ("secret" if level == "free" else "")


@requirement("POOL-22")
@pytest.mark.slow
def test_what_lies_beside_secrets_is_there_as_before(house: House) -> None:
    (house.home / "link").symlink_to("letter.txt")
    (house.home / "keys").symlink_to(".ssh")
    (house.home / ".cargo" / "config.toml").write_text("plain")
    for path in (house.home / "letter.txt", house.home / "link", house.home / ".cargo" / "config.toml"):
        assert house.attack("bwrap", "read", str(path)), path
    assert not house.attack("bwrap", "read", str(house.home / "keys" / "id_ed25519"))
    assert not house.attack("bwrap", "write", str(house.home / "new"))


@requirement("POOL-22")
def test_a_folder_with_more_than_there_is_time_for_is_left_whole(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES + 1):
        (tmp_path / str(number)).touch()
    rules = [PathRule("/", "read"), PathRule(f"{tmp_path}/1", "hide")]
    assert taken_apart(rules, str(tmp_path)) == rules


@requirement("POOL-22")
@pytest.mark.slow
@pytest.mark.parametrize("level", ["free", *LEVELS])
def test_secrets_that_were_moved_are_out_of_sight_as_well(
    house: House, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = house.home / "vault" / "key.json"
    kept.parent.mkdir()
    kept.write_text("secret")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(kept))
    monkeypatch.setenv("KUBECONFIG", f"relative:{house.home / 'vault'}:/")
    monkeypatch.setenv("HISTFILE", "/dev/null")
    assert house.attack(level, "read", str(kept)) is (level == "free")
    assert house.attack(level, "read", str(house.home / "letter.txt"))


@requirement("POOL-22")
def test_a_server_that_is_told_where_one_lies_may_have_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    key = str(house.home / "key.json")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", key)
    argv = [sys.executable, "-V"]
    spec = UpstreamSpec("mine", command=argv[0], cwd=str(house.workspace))
    cells = Cells(house.state, house.workspace)
    assert key in cells.around(spec, argv, spec.cwd).moved
    told = replace(spec, env={"GOOGLE_APPLICATION_CREDENTIALS": key})
    assert key not in cells.around(told, argv, spec.cwd).moved


# ── servers of a workspace ───────────────────────────────────────────────────────────────────────────────────────────


@requirement("POOL-22", "CONF-15")
@pytest.mark.slow
@pytest.mark.parametrize("how", ["argument", "option", "variable", "folder"])
def test_a_file_in_the_workspace_opens_nothing_outside_by_naming_it(house: House, how: str) -> None:
    other = house.home / "other"
    other.mkdir()
    words = {"argument": (str(other),), "option": (f"--in={other}",)}.get(how, ())
    argv = [sys.executable, "-c", "import sys; open(sys.argv[1], 'w')", str(other / "file"), *words]
    spec = UpstreamSpec(
        "theirs",
        command=argv[0],
        env={"WHERE": str(other)} if how == "variable" else {},
        cwd=str(other if how == "folder" else house.workspace),
    )
    written: dict[str, bool] = {}
    for scope in ("user", "workspace"):
        cell = Cells(house.state, house.workspace).cell(replace(spec, scope=scope), argv, spec.cwd)
        start = replace(cell, means=means("bwrap")).start(argv, spec.cwd, {"HOME": str(house.home)})
        subprocess.run(start.argv, env=dict(start.env), pass_fds=start.descriptors, timeout=RUN_S, check=False)
        written[scope] = (other / "file").exists()
        (other / "file").unlink(missing_ok=True)
    assert written == {"user": True, "workspace": False}


@requirement("POOL-22")
@pytest.mark.parametrize("place", [".config", ".config/autostart", ".local/bin"])
def test_a_variable_opens_nothing_that_decides_what_runs_later(house: House, place: str) -> None:
    folder = house.home / place
    folder.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-V"]
    spec = UpstreamSpec("mine", command=argv[0], env={"XDG_CONFIG_HOME": str(folder)}, cwd=str(house.workspace))
    around = Cells(house.state, house.workspace).around(spec, argv, spec.cwd)
    assert str(folder) not in around.named


@requirement("POOL-22")
def test_servers_of_the_same_name_in_two_workspaces_share_no_cache(house: House) -> None:
    """What one puts there for `npx` to run, the other would run with its own tokens."""
    argv = [sys.executable, "-V"]
    spec = UpstreamSpec("github", command=argv[0], cwd=str(house.workspace))
    theirs = replace(spec, scope="workspace")
    other = house.home / "work"
    owned = [
        Cells(house.state, house.workspace).around(spec, argv, spec.cwd).own,
        Cells(house.state, house.workspace).around(theirs, argv, spec.cwd).own,
        Cells(house.state, other).around(theirs, argv, spec.cwd).own,
    ]
    assert len(set(owned)) == 3
    assert Cells(house.state, other).around(spec, argv, spec.cwd).own == owned[0]
