"""A package that breaks wherever it is asked harms nobody but itself."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement

pytestmark = pytest.mark.slow  # starts weft

MODULE = r"""
import os

print("printed as it is loaded")
os.write(1, b"written as it is loaded\n")

from clawft import CallToolResult, Tool

WIRE = b'{"name":"good","inputSchema":{"type":"object"}}'

class Odd:
    namespace = "odd"
    def __init__(self, workspace):
        pass
    def list_tools(self):
        return [17, Tool("broken", b"{broken"), Tool("", WIRE), Tool("good", WIRE)]
    async def call_tool(self, name, arguments):
        return CallToolResult.text("fine")
    def list_resources(self):
        raise RuntimeError("no resources")
    list_templates = list_prompts = list_resources
    async def read_resource(self, uri):
        raise RuntimeError("no resource")
    async def get_prompt(self, call):
        raise RuntimeError("no prompt")

class Numbered(Odd):
    namespace = 17

class Taken(Odd):
    namespace = "git"
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    metadata = folder / "odd-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "odd_provider.py").write_text(MODULE)
    entries = (
        "[clawft.providers]\nodd = odd_provider:Odd\nnumbered = odd_provider:Numbered\ntaken = odd_provider:Taken\n"
    )
    (metadata / "entry_points.txt").write_text(entries)
    return folder


def asked(weft: list[str], packages: Path, workspace: Path, *requests: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """The answers of one run, by method; everything on stdout must be one."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    sent = [("initialize", hello), *requests]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": at, "method": method, "params": params})
        for at, (method, params) in enumerate(sent)
    ]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    ran = subprocess.run(
        [*weft, "mcp-server", "--workspace", str(workspace)],
        input="\n".join(lines) + "\n",
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(packages), os.environ.get("PYTHONPATH", "")))},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "printed as it is loaded\n" in ran.stderr
    assert "provider numbered: " in ran.stderr
    assert "provider taken: odd_provider:Taken: there is already a provider for the namespace 'git'" in ran.stderr
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    return {sent[each["id"]][0]: each["result"] for each in said if "id" in each}


@requirement("SHELL-15", "PROV-22")
def test_a_package_that_breaks_hides_nothing_of_others(
    weft: list[str], packages: Path, workspace: Path, home: Path
) -> None:
    (workspace / "a.txt").write_text("text of a")
    (workspace / os.fsdecode(b"odd\xff.txt")).write_text("text of odd")
    answers = asked(
        weft,
        packages,
        workspace,
        ("tools/list", {}),
        ("tools/call", {"name": "odd__good", "arguments": {}}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/list", {}),
        ("resources/read", {"uri": "workspace:///odd%FF.txt"}),
    )
    tools = [tool["name"] for tool in answers["tools/list"]["tools"]]
    assert [name for name in tools if name.startswith("odd")] == ["odd__good"]
    assert "file__read" in tools
    assert answers["tools/call"]["content"][0]["text"] == "fine"
    listed = {each["uri"]: each["name"] for each in answers["resources/list"]["resources"]}
    assert listed["workspace:///a.txt"] == "a.txt"
    assert listed["workspace:///odd%FF.txt"] == "odd\ufffd.txt"
    assert answers["resources/templates/list"]["resourceTemplates"]
    assert answers["prompts/list"]["prompts"]
    assert answers["resources/read"]["contents"][0]["text"] == "text of odd"
