"""A workspace that holds the home folder is told, by the doctor and by whoever serves; any other is not."""

import json
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.weft import gateway, weft

pytestmark = pytest.mark.slow  # processes that take their time

WORDS = "file tools can access your whole home folder"


def warned(folder: Path, home: Path) -> tuple[str, str]:
    """How the doctor calls it, and what is said at the start of a server."""
    findings = json.loads(weft(folder, "doctor", "--json", HOME=str(home)).stdout)["findings"]
    (found,) = (each for each in findings if each["what"] == "workspace")
    assert (WORDS in found["said"]) == (found["level"] == "warn")
    return found["level"], weft(folder, "mcp-server", HOME=str(home)).stderr


@requirement("CONF-23", "AGENT-14")
def test_a_workspace_that_holds_the_home_folder_is_told(tmp_path: Path) -> None:
    person = tmp_path / "people" / "ada"
    person.mkdir(parents=True)
    level, said = warned(tmp_path, person)
    assert level == "warn"
    assert f"the workspace is {tmp_path}: {WORDS}" in said
    assert "--workspace DIR" in said
    assert warned(person, person)[0] == "warn"
    level, said = warned(person, tmp_path)
    assert (level, said) == ("ok", "")


@requirement("CONF-23")
def test_a_gateway_tells_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with gateway(tmp_path) as served:
        assert any(WORDS in line for line in served.lines)
