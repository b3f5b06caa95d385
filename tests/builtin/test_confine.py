"""Nothing leads out of the workspace: not a path, not a symlink, not a folder swapped in between."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawft.builtin import confine
from clawft.builtin.confine import MAX_PATH_CHARS, confined, open_file, open_folder, resolve
from clawft.errors import ExecutionFailed, PermissionDenied, ToolError
from tests.requirements import requirement

SECRET = "what nobody may read"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the workspace whose name begins like it."""
    folder = tmp_path / "workspace-evil"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


def read(root: Path, path: str) -> str:
    with confined(root, path, "ide") as found, open_file(found) as file:
        return file.read().decode()


@requirement("IDE-12", "FILE-03", "F8-T09", "F8-T10", "F8-T11", "F8-A04", "SEC-A05")
@pytest.mark.parametrize(
    "path",
    [
        "../../../etc/passwd",
        "/etc/passwd",
        "..",
        "a/../..",
        "a/../../workspace-evil/secret.txt",
        "../workspace-evil/secret.txt",
        "{outside}/secret.txt",
        "{root}/../workspace-evil/secret.txt",
        "{root}-evil/secret.txt",
        "to_file",
        "to_folder/secret.txt",
        "to_parent/workspace-evil/secret.txt",
        "a/climbing/secret.txt",
        "null\0byte",
        "",
        "x" * (MAX_PATH_CHARS + 1),
        "a/" * 1000 + "x",
        "loop",
        "loop/x",
    ],
)
def test_ways_out_are_refused(workspace: Path, outside: Path, path: str) -> None:
    (workspace / "a").mkdir()
    (workspace / "to_file").symlink_to(outside / "secret.txt")
    (workspace / "to_folder").symlink_to(outside)
    (workspace / "to_parent").symlink_to("..")
    (workspace / "a" / "climbing").symlink_to("../../workspace-evil")
    (workspace / "loop").symlink_to("loop")
    path = path.replace("{outside}", str(outside)).replace("{root}", str(workspace))
    with pytest.raises(PermissionDenied) as refused:
        read(workspace, path)
    assert refused.value.tool == "ide"
    assert SECRET not in str(refused.value)


@requirement("IDE-12", "FILE-03")
@pytest.mark.parametrize(
    "path",
    ["a/b.txt", "./a//b.txt", "a/../a/b.txt", "{root}/a/b.txt", "link", "absolute", "folder/b.txt", "folder/../top"],
)
def test_ways_inside_lead_there(workspace: Path, path: str) -> None:
    (workspace / "a").mkdir()
    (workspace / "a" / "b.txt").write_text("here")
    (workspace / "link").symlink_to("a/b.txt")
    (workspace / "absolute").symlink_to(workspace / "a" / "b.txt")
    (workspace / "deep").mkdir()
    (workspace / "deep" / "er").mkdir()
    (workspace / "deep" / "er" / "b.txt").write_text("here")
    (workspace / "folder").symlink_to("deep/er")
    (workspace / "deep" / "top").write_text("here")  # `..` after a link goes to the real parent
    assert read(workspace, path.replace("{root}", str(workspace))) == "here"


@requirement("IDE-12")
def test_a_workspace_reached_by_a_symlink_works(workspace: Path, tmp_path: Path) -> None:
    (workspace / "x").write_text("here")
    (tmp_path / "alias").symlink_to(workspace)
    for path in ("x", str(tmp_path / "alias" / "x"), str(workspace / "x")):
        assert read(tmp_path / "alias", path) == "here"


@requirement("IDE-12", "FILE-01")
def test_what_must_exist_and_does_not_is_named(workspace: Path) -> None:
    for path in ("nope.txt", "no/such/folder.txt"):
        with pytest.raises(ExecutionFailed, match=f"no such file or directory: '{path}'"):
            resolve(workspace, path, "ide")
    (workspace / "file").write_text("")
    with pytest.raises(ExecutionFailed, match="'file/below'"):
        resolve(workspace, "file/below", "ide")


def test_resolve_gives_the_real_path(workspace: Path) -> None:
    (workspace / "a").mkdir()
    (workspace / "link").symlink_to("a")
    assert resolve(workspace, "link", "ide") == (workspace / "a").resolve()
    assert resolve(workspace, ".", "ide") == workspace.resolve()


def test_a_pipe_is_refused_and_does_not_block(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    with pytest.raises(ExecutionFailed, match="this is not a regular file: 'pipe'"):
        read(workspace, "pipe")


@requirement("FILE-03")
def test_a_parent_swapped_between_check_and_use_leads_nowhere(
    workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "a").mkdir()
    (workspace / "a" / "secret.txt").write_text("harmless")
    honest = confine.read_link

    def swap_after_look(name: str, folder: int) -> str | None:
        target = honest(name, folder)
        if name == "a" and target is None:
            (workspace / "a").rename(workspace / "moved")
            (workspace / "a").symlink_to(outside)
        return target

    monkeypatch.setattr(confine, "read_link", swap_after_look)
    with pytest.raises(PermissionDenied, match="swapped"):
        read(workspace, "a/secret.txt")


@requirement("FILE-03")
def test_a_file_swapped_for_a_link_before_it_is_opened_leads_nowhere(workspace: Path, outside: Path) -> None:
    (workspace / "x").write_text("harmless")

    def swap_then_open() -> None:
        with confined(workspace, "x", "ide") as found:
            (workspace / "x").unlink()
            (workspace / "x").symlink_to(outside / "secret.txt")
            open_file(found)

    with pytest.raises(PermissionDenied, match="swapped"):
        swap_then_open()


@requirement("FILE-03")
def test_a_parent_swapped_after_the_walk_is_still_the_folder_that_was_checked(workspace: Path, outside: Path) -> None:
    (workspace / "a").mkdir()
    (workspace / "a" / "secret.txt").write_text("harmless")
    with confined(workspace, "a/secret.txt", "ide") as found:
        (workspace / "a").rename(workspace / "moved")
        (workspace / "a").symlink_to(outside)
        with open_file(found) as file:
            assert file.read() == b"harmless"


@requirement("FILE-03")
def test_a_folder_that_keeps_being_swapped_never_leaks(workspace: Path, outside: Path) -> None:
    (workspace / "real").mkdir()
    (workspace / "real" / "secret.txt").write_text("harmless")
    (workspace / "a").symlink_to("real")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for target in (outside, workspace / "real"):
                (workspace / "next").symlink_to(target)
                (workspace / "next").rename(workspace / "a")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = [_try_read(workspace, "a/secret.txt") for _ in range(1000)]
    finally:
        done.set()
        thread.join(10)
    assert set(seen) <= {"harmless", "refused"}


def _try_read(root: Path, path: str) -> str:
    try:
        return read(root, path)
    except ToolError:
        return "refused"


@requirement("FILE-03")
def test_no_descriptor_is_left_open(workspace: Path) -> None:
    (workspace / "a" / "b").mkdir(parents=True)
    (workspace / "out").symlink_to("/etc")
    before = len(os.listdir("/dev/fd"))
    for path in ("a/b", "a/b/../../a", "out/passwd", "nope/x", "..", "a\0"):
        _try_read(workspace, path)
    os.close(open_folder(workspace, "a/b", "ide"))
    assert len(os.listdir("/dev/fd")) == before


@requirement("IDE-12", "FILE-03")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.sampled_from(["..", ".", "a", "up", "out", "/", "b", ""]), max_size=8))
def test_any_path_ends_inside_or_nowhere(workspace: Path, parts: list[str]) -> None:
    (workspace / "a" / "b").mkdir(parents=True, exist_ok=True)
    for name, target in (("up", ".."), ("out", "/"), ("a/up", "../..")):
        if not (workspace / name).is_symlink():
            (workspace / name).symlink_to(target)
    try:
        found = resolve(workspace, "/".join(parts), "ide")
    except ToolError:
        return
    assert found.resolve().is_relative_to(workspace.resolve())
