"""Links that a server leaves in the workspace for its next start, and links of the user that secrets lie behind."""

import sys
from pathlib import Path

import pytest

from clawft.sandbox.bounds import SandboxTable
from tests.requirements import requirement
from tests.sandbox.held import ATTACKS, LEVELS, House

pytestmark = [
    pytest.mark.slow,  # an interpreter for each
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]


def up_to(house: House, name: str) -> Path:
    """The way from the workspace to something in the home folder."""
    return Path(*[".."] * len(house.workspace.relative_to(house.home).parts), name)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("name", [".mcp.json", ".clawft", ".git", ".vscode"])
def test_what_is_kept_as_it_is_leads_to_no_secret(house: House, level: str, absolute: bool, name: str) -> None:
    """Such a name is bound to itself: behind a link that would be whatever the link leads to."""
    secret = house.home / ".ssh" / "id_ed25519"
    (house.workspace / name).symlink_to(secret if absolute else up_to(house, ".ssh/id_ed25519"))
    assert house.attack("free", "read", str(secret))
    assert not house.attack(level, "read", str(secret))
    assert not house.attack(level, "read", str(house.workspace / name))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", [".mcp.json", ".clawft", ".git", ".vscode"])
def test_a_link_to_itself_keeps_no_server_from_its_start(house: House, level: str, name: str) -> None:
    (house.workspace / name).symlink_to(name)
    assert house.attack(level, "read", str(house.home / "letter.txt"))
    assert not house.attack(level, "read", str(house.home / ".ssh" / "id_ed25519"))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("absolute", [False, True])
def test_a_secret_behind_a_link_of_the_user_is_hidden(house: House, level: str, absolute: bool) -> None:
    real = house.home / "dotfiles" / "ssh"
    real.parent.mkdir()
    (house.home / ".ssh").rename(real)
    (house.home / ".ssh").symlink_to(real if absolute else "dotfiles/ssh")
    for folder in (house.home / ".ssh", real):
        assert house.attack("free", "read", str(folder / "id_ed25519"))
        assert not house.attack(level, "read", str(folder / "id_ed25519"))
    assert house.attack(level, "read", str(house.home / "letter.txt"))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_table_opens_no_link_out_of_the_workspace(house: House, level: str) -> None:
    """Who may write to the workspace would choose what the next start opens."""
    table = SandboxTable(read=("keys", "."), write=("out", "more"), network=("*",))
    (house.workspace / "keys").symlink_to(up_to(house, ".ssh"))
    (house.workspace / "out").symlink_to(house.home)
    (house.workspace / "more").symlink_to("kept")
    (house.workspace / "kept").mkdir()
    assert house.attack("free", "read", str(house.workspace / "keys" / "id_ed25519"))
    assert not house.attack(level, "read", str(house.workspace / "keys" / "id_ed25519"), setting=table)
    assert not house.attack(level, "write", str(house.home / ".profile"), setting=table)
    assert not (house.home / ".profile").exists()


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_table_of_the_user_follows_his_own_links(house: House, level: str) -> None:
    (house.home / "real").mkdir()
    (house.home / "linked").symlink_to("real")
    table = SandboxTable(read=(".",), write=("~/linked",), network=("*",))
    assert house.attack(level, "write", str(house.home / "linked" / "new"), setting=table)
    assert (house.home / "real" / "new").exists()


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("argument", ["./data", "--root=./data", "{workspace}/data"])
def test_a_command_line_opens_no_link_out_of_the_workspace(house: House, level: str, argument: str) -> None:
    (house.home / ".config" / "autostart").mkdir(parents=True)
    (house.workspace / "data").symlink_to(house.home / ".config" / "autostart")
    target = house.home / ".config" / "autostart" / "evil.desktop"
    argv = [sys.executable, ATTACKS, argument.format(workspace=house.workspace)]
    for each, through in (("free", True), (level, False)):
        house.run(each, argv, ATTACK=f"write\n{target}")
        assert target.exists() is through, each
        target.unlink(missing_ok=True)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_working_folder_that_became_a_link_is_not_opened(house: House, level: str) -> None:
    (house.home / ".config" / "autostart").mkdir(parents=True)
    (house.workspace / "sub").symlink_to(house.home / ".config" / "autostart")
    target = house.home / ".config" / "autostart" / "evil.desktop"
    argv = [sys.executable, "-c", "open('evil.desktop', 'w').write('evil')"]
    for each, through in (("free", True), (level, False)):
        house.run(each, argv, cwd=house.workspace / "sub")
        assert target.exists() is through, each
        target.unlink(missing_ok=True)
