"""Which window a call goes to: never a guess."""

from pathlib import Path

import pytest

from clawft.builtin.ide.hub import IdeHub
from clawft.builtin.ide.mock import MockIde
from clawft.errors import IdeNotConnected
from tests.requirements import requirement


@pytest.fixture
def hub(workspace: Path) -> IdeHub:
    headless = MockIde(workspace, id="headless")
    return IdeHub(workspace, lambda: headless)


def window(hub: IdeHub, folder: Path, id: str, *, focused: bool = False) -> MockIde:
    folder.mkdir(parents=True, exist_ok=True)
    editor = MockIde(folder, id=id, focused=focused)
    hub.connect(editor)
    return editor


@requirement("IDE-15")
def test_the_deepest_folder_above_the_path_wins(hub: IdeHub, workspace: Path) -> None:
    top = window(hub, workspace, "top", focused=True)
    deep = window(hub, workspace / "pkg", "deep")
    assert hub.route(str(workspace / "pkg" / "a.py")) is deep
    assert hub.route(str(workspace / "a.py")) is top
    assert hub.route(str(workspace / "pkg2" / "a.py")) is top


@requirement("IDE-15")
def test_without_a_path_the_window_with_the_workspace_answers(hub: IdeHub, workspace: Path, tmp_path: Path) -> None:
    window(hub, tmp_path / "elsewhere", "elsewhere", focused=True)
    ours = window(hub, workspace, "ours")
    assert hub.route() is ours


@requirement("IDE-15")
def test_among_equals_the_focused_one_answers_and_nobody_guesses(hub: IdeHub, workspace: Path) -> None:
    window(hub, workspace, "one")
    window(hub, workspace, "two")
    with pytest.raises(IdeNotConnected, match=r"2 windows have the workspace open.*one .*two "):
        hub.route()
    three = window(hub, workspace, "three", focused=True)
    assert hub.route() is three


@requirement("IDE-15")
def test_a_window_can_be_named(hub: IdeHub, workspace: Path) -> None:
    window(hub, workspace, "one", focused=True)
    two = window(hub, workspace, "two")
    assert hub.route(window="two") is two
    assert hub.route(window="headless") is hub.headless
    with pytest.raises(IdeNotConnected, match=r"no window 'three'.*one "):
        hub.route(window="three")


@requirement("IDE-15")
def test_where_no_window_fits_the_language_servers_answer_but_not_on_a_screen(hub: IdeHub, tmp_path: Path) -> None:
    window(hub, tmp_path / "elsewhere", "elsewhere", focused=True)
    path = str(hub.workspace / "a.py")
    assert hub.route(path) is hub.headless
    with pytest.raises(IdeNotConnected, match=r"no window has .* open.*elsewhere"):
        hub.route(path, screen=True)


@requirement("IDE-15")
def test_a_window_that_comes_back_takes_its_place(hub: IdeHub, workspace: Path) -> None:
    old = window(hub, workspace, "one")
    new = window(hub, workspace, "one")
    hub.disconnect(old)
    assert hub.route() is new
    hub.disconnect(new)
    assert hub.route() is hub.headless
