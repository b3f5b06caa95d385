"""Providers of outside packages, found by their entry points."""

import subprocess
import sys
from pathlib import Path

import pytest

from clawft.provider.registry import EntryPoint, entry_points, outside_providers, parse_entry_points
from tests.requirements import requirement

MODULE = """
from clawft.model import CallToolResult

class Demo:
    def __init__(self, workspace):
        self.namespace = "demo"
        self.workspace = workspace
    def list_tools(self):
        return ()
    async def call_tool(self, name, arguments):
        return CallToolResult.text(str(self.workspace))

ready = Demo("ready")
def make(workspace):
    return Demo(workspace)
def nothing(workspace):
    return 5
def ends(workspace):
    raise SystemExit(3)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path that holds one package with good and bad entry points."""
    folder = tmp_path / "site"
    metadata = folder / "outside_demo-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "outside_demo.py").write_text(MODULE)
    (metadata / "entry_points.txt").write_text(
        "[console_scripts]\nx = y:z\n\n[clawft.providers]\n# ours\nklass = outside_demo:Demo\n"
        "made=outside_demo:make [extra]\nready = outside_demo:ready\nnothing = outside_demo:nothing\n"
        "ends = outside_demo:ends\nmissing = outside_demo:absent\nlost = no_such_module_at_all:x\n"
        "\n[other.group]\nnot = ours:at.all\n"
    )
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delitem(sys.modules, "outside_demo", raising=False)
    return folder


@requirement("PROV-22")
async def test_every_form_of_entry_point_gives_a_provider(package: Path, workspace: Path) -> None:
    found = outside_providers(workspace, [str(package)])
    assert [each.namespace for each in found.providers] == ["demo"] * 3
    answers = [(await each.call_tool("x", {})).content[0]["text"] for each in found.providers]
    assert answers == [str(workspace), str(workspace), "ready"]


@requirement("PROV-22")
def test_a_broken_one_is_reported_and_never_fatal(package: Path, workspace: Path) -> None:
    reasons = {each.name: each.reason for each in outside_providers(workspace, [str(package)]).broken}
    assert set(reasons) == {"nothing", "ends", "missing", "lost"}
    assert "gives a int, which is not a Provider" in reasons["nothing"]
    assert "SystemExit: 3" in reasons["ends"]
    assert "AttributeError" in reasons["missing"]
    assert "no_such_module_at_all" in reasons["lost"]


def test_a_package_found_twice_counts_once(package: Path, tmp_path: Path) -> None:
    second = tmp_path / "second" / "Outside_demo-2.0.dist-info"
    second.mkdir(parents=True)
    (second / "entry_points.txt").write_text("[clawft.providers]\nlate = late:late\n")
    found = entry_points([str(package), str(package), str(second.parent), str(tmp_path / "absent"), __file__])
    assert len(found) == 7
    assert "late" not in {each.name for each in found}


def test_only_our_group_is_read() -> None:
    text = "[clawft.providers.more]\na = b:c\n[clawft.providers]\nmine = m.n:o.p [x,y]\n; no = no\n[z]\nq = r:s\n"
    assert list(parse_entry_points(text, "pkg")) == [EntryPoint("mine", "m.n:o.p", "pkg")]


@requirement("QUAL-16")
def test_looking_for_providers_does_not_import_the_metadata_library() -> None:
    code = (
        "import sys, pathlib; from clawft.provider.registry import outside_providers; "
        "outside_providers(pathlib.Path('.')); "
        "print([m for m in ('importlib.metadata', 'email', 'aiohttp', 'zipfile') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
