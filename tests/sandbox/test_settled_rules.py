"""Rules as the disk has them: what is not there needs none."""

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from clawft.sandbox.bounds import SECRETS, SandboxTable, bounds_of
from clawft.sandbox.settled_rules import present_in, settled
from clawft.upstream.cells import Cells
from clawft.upstream.spec import UpstreamSpec
from tests.requirements import requirement
from tests.sandbox.held import House

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")


@requirement("POOL-22")
@pytest.mark.parametrize("setting", ["auto", "strict", SandboxTable(read=("~/.ssh", "~/.config"), write=("~/.kube",))])
def test_secrets_that_are_not_there_change_nothing(house: House, setting: str | SandboxTable) -> None:
    (house.home / ".kube").symlink_to(house.home / ".aws")
    spec = UpstreamSpec("one", command=sys.executable, cwd=str(house.workspace), sandbox=setting)
    around = Cells(house.state, house.workspace).around(spec, (sys.executable, "~/.ssh"), str(house.workspace))
    looked, unlooked = (bounds_of(setting, each) for each in (around, replace(around, secrets=SECRETS)))
    assert looked is not None
    assert unlooked is not None
    assert len(around.secrets) < len(SECRETS)
    assert settled(looked.rules, looked.workspace) == settled(unlooked.rules, unlooked.workspace)


@requirement("POOL-22")
def test_what_is_there_is_found_behind_links_and_as_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "linked").symlink_to("real")
    (tmp_path / "lost").symlink_to("nowhere")
    names = ("linked/deep", "lost", "lost/deep", "real", "real/deep", "real/other", "other", "other/deep")
    assert present_in(str(tmp_path), names) == ("linked/deep", "lost", "real", "real/deep")
    assert present_in(str(tmp_path / "other"), names) == ()


@requirement("POOL-22")
def test_a_folder_that_may_be_entered_but_not_listed_hides_nothing_from_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: str) -> list[str]:
        raise PermissionError(folder)

    (tmp_path / "folder" / "key").mkdir(parents=True)
    monkeypatch.setattr(os, "listdir", refuse)
    assert present_in(str(tmp_path), ("folder", "folder/key", "folder/other")) == ("folder", "folder/key")
