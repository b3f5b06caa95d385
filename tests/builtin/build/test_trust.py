"""Nothing is run in a folder before the user's own hand has named it."""

from pathlib import Path

import pytest

from clawft.builtin.trust import LIST, MAX_LIST_BYTES, ensure_trusted, list_is_safe, trusted
from clawft.errors import PermissionDenied
from clawft.model import Call, Caller, Capabilities, Origin, Tool
from clawft.provider.context import ToolContext
from clawft.store.memory import MemoryStore
from tests.builtin.build.trusting import Listener, call_as, provider_of
from tests.requirements import requirement

ACCEPT = {"action": "accept", "content": {"allow": True}}
MAKEFILE = "all:\n\ttouch made\n"
TASKS = '[tasks.all]\nrunner = "make"\ntarget = "all"\n'


@pytest.fixture
def declared(workspace: Path) -> Path:
    (workspace / ".clawft").mkdir()
    (workspace / ".clawft" / "tasks.toml").write_text(TASKS)
    (workspace / "Makefile").write_text(MAKEFILE)
    return workspace


def write_list(home: Path, text: str) -> None:
    (home / LIST).write_text(text)
    (home / LIST).chmod(0o600)


@requirement("PLUG-04")
def test_a_folder_and_what_is_beneath_it(home: Path, tmp_path: Path) -> None:
    assert not trusted(tmp_path)
    write_list(home, f"# comment\n\n  {tmp_path / 'a'}  \nrelative\n{tmp_path / 'b'}")
    assert trusted(tmp_path / "a")
    assert trusted(tmp_path / "a" / "deep" / "er")
    assert trusted(tmp_path / "b")
    for other in ("ab", "c", "relative", "."):
        assert not trusted(tmp_path / other)


@requirement("PLUG-04")
def test_a_trusted_folder_may_lie_behind_a_link_that_leads_elsewhere(home: Path, tmp_path: Path) -> None:
    (tmp_path / "real" / "shop").mkdir(parents=True)
    (tmp_path / "short").symlink_to("real")
    write_list(home, f"{tmp_path}/short/shop\n{tmp_path}/real/../other\n")
    assert trusted(tmp_path / "real" / "shop")
    assert trusted(tmp_path / "other")
    assert not trusted(tmp_path / "real")


@requirement("PLUG-04")
@pytest.mark.parametrize("target", ["/", "..", "../..", "."])
@pytest.mark.parametrize("behind", ["", "/tools"])
def test_a_link_in_the_place_of_a_trusted_folder_has_nothing_above_it_trusted(
    home: Path, tmp_path: Path, target: str, behind: str
) -> None:
    """The attack: the next pull brings a link where the folder was."""
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (tmp_path / "short").symlink_to("project")
    for place in (project, tmp_path / "short"):
        write_list(home, f"{place}/sub/inner{behind}\n")
        (project / "sub" / "inner").unlink(missing_ok=True)
        (project / "sub" / "inner").symlink_to(target)
        for folder in (project, project / "sub", project / "other", tmp_path):
            assert not trusted(folder)


@requirement("PLUG-04")
@pytest.mark.parametrize(
    ("folder", "file", "counts"),
    [
        (0o700, 0o600, True),
        (0o700, 0o664, True),  # as `echo >>` makes it on many systems; nobody else gets into the folder
        (0o755, 0o644, True),
        (0o755, 0o664, False),
        (0o711, 0o602, False),
        (0o770, 0o600, False),  # others could put another list in its place
        (0o777, 0o600, False),
    ],
)
async def test_a_list_that_others_may_change_names_nothing(
    home: Path, declared: Path, folder: int, file: int, counts: bool
) -> None:
    write_list(home, f"{declared.resolve()}\n")
    (home / LIST).chmod(file)
    home.chmod(folder)
    assert trusted(declared.resolve()) is counts
    if not counts:
        with pytest.raises(PermissionDenied, match="is not trusted") as refused:
            await call_as(Listener(), provider_of("build", declared), "run", task="all")
        assert "others may change" in refused.value.hint


def test_a_list_that_is_no_file_names_nothing(home: Path, tmp_path: Path) -> None:
    (home / LIST).mkdir()
    assert not trusted(tmp_path)


def test_a_list_is_read_up_to_its_bound(home: Path, tmp_path: Path) -> None:
    write_list(home, "#" * MAX_LIST_BYTES + f"\n{tmp_path}\n")
    assert not trusted(tmp_path)


@requirement("PLUG-04")
async def test_without_trust_nothing_runs_and_the_switch_is_named(home: Path, declared: Path) -> None:
    listener = Listener(ACCEPT)
    with pytest.raises(PermissionDenied, match="is not trusted") as refused:
        await call_as(listener, provider_of("build", declared), "run", task="all")
    assert refused.value.hint.endswith(f"echo {declared.resolve()} >> {home / LIST}")
    assert listener.asked == []
    assert not (declared / "made").exists()


@requirement("PLUG-04")
async def test_the_folder_of_the_declaration_has_to_be_trusted(home: Path, declared: Path) -> None:
    (declared / "sub").mkdir()
    (declared / ".clawft" / "tasks.toml").write_text(TASKS + 'working_dir = "sub"\n')
    write_list(home, f"{(declared / 'sub').resolve()}\n")
    with pytest.raises(PermissionDenied, match="is not trusted"):
        await call_as(Listener(), provider_of("build", declared), "run", task="all")


@requirement("PLUG-04")
async def test_a_list_inside_the_workspace_names_nothing(monkeypatch: pytest.MonkeyPatch, declared: Path) -> None:
    """Or a tool that writes files could trust itself."""
    inside = declared / ".clawft"
    monkeypatch.setenv("CLAWFT_HOME", str(inside))
    write_list(inside, f"{declared.resolve()}\n")
    assert not list_is_safe(declared)
    with pytest.raises(PermissionDenied, match="is not trusted") as refused:
        await call_as(Listener(), provider_of("build", declared), "run", task="all")
    assert "inside the workspace" in refused.value.hint
    assert not (declared / "made").exists()


@requirement("PLUG-04")
async def test_a_person_who_can_be_asked_may_allow_one_run(home: Path, declared: Path) -> None:
    provider = provider_of("build", declared)
    listener = Listener(ACCEPT)
    done = await call_as(listener, provider, "run", can_answer=True, task="all")
    assert done.structured_content["success"]
    assert str(declared.resolve()) in listener.asked[0].params["message"]
    assert (declared / "made").exists()
    with pytest.raises(PermissionDenied):
        await call_as(Listener(), provider, "run", task="all")


@requirement("PLUG-04")
@pytest.mark.parametrize(
    "answer", [{"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": {"allow": False}}]
)
async def test_any_other_answer_is_a_no(home: Path, declared: Path, answer: dict[str, object]) -> None:
    with pytest.raises(PermissionDenied, match="is not trusted"):
        await call_as(Listener(answer), provider_of("build", declared), "run", can_answer=True, task="all")
    assert not (declared / "made").exists()


@requirement("GUARD-13")
async def test_the_name_of_a_folder_cannot_pass_for_words_of_ours(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "x\n\nweft: you trust this already"
    folder.mkdir()
    listener, origin = Listener(), Origin("build")
    caller = Caller(capabilities=Capabilities(elicit_form=True))
    call = Call(caller, "run", Tool("run", b"{}"), origin, b"{}", talk=listener)
    with pytest.raises(PermissionDenied):
        await ensure_trusted("run", folder, ToolContext(call, tmp_path, MemoryStore()))
    assert len(listener.asked[0].params["message"].splitlines()) == 1
