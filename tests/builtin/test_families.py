"""All built-in families together."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import jsonschema
import msgspec
import pytest

from clawft.builtin import FAMILIES, families
from clawft.provider.base import Provider
from clawft.provider.function import FunctionProvider
from clawft.store.memory import MemoryStore
from tests.requirements import requirement


@requirement("PROV-21", "PROV-12", "F8-A03")
def test_every_tool_has_a_valid_schema_a_description_and_its_own_alias(providers: Mapping[str, Provider]) -> None:
    tools = [tool for provider in providers.values() for tool in provider.list_tools()]
    for tool in tools:
        for schema in filter(None, (tool.input_schema, tool.output_schema)):
            jsonschema.Draft202012Validator.check_schema(msgspec.json.decode(schema))
            assert msgspec.json.decode(schema)["type"] == "object"
        assert tool.description
        assert tool.title
        assert re.fullmatch(r"[a-z0-9_]+", tool.alias)
    aliases = [tool.alias for tool in tools]
    assert len(set(aliases)) == len(aliases)
    assert {"read_file", "write_file", "exec_shell"} <= set(aliases)


@requirement("PLUG-01")
def test_every_family_has_a_manifest(providers: Mapping[str, Provider]) -> None:
    for namespace in FAMILIES.keys() - {"weft"}:
        provider = providers[namespace]
        assert isinstance(provider, FunctionProvider)
        assert provider.manifest is not None
        assert provider.manifest.id == f"com.clawft.plugin-{namespace}"
        assert provider.manifest.capabilities == ("tool",)


@requirement("PLUG-09", "WEB-02")
def test_a_family_left_out_is_not_there(workspace: Path) -> None:
    def store_for(agent: str, namespace: str) -> MemoryStore:
        return MemoryStore()

    assert [each.namespace for each in families(workspace, store_for, only=["memory"])] == ["memory"]
    assert families(workspace, store_for, only=[]) == []


@requirement("PLUG-09", "QUAL-16")
@pytest.mark.parametrize(
    ("only", "absent"),
    [
        ("['file', 'shell', 'memory', 'weft']", ["clawft.builtin.web", "aiohttp"]),
        ("None", ["aiohttp", "yarl", "shutil"]),
    ],
)
def test_only_what_is_used_is_imported(only: str, absent: list[str]) -> None:
    code = (
        "import sys, pathlib; from clawft.builtin import families\n"
        f"families(pathlib.Path('.'), lambda agent, name: None, only={only})\n"
        f"print([m for m in {absent!r} + ['importlib.metadata', 'email', 'pydantic', 'mcp'] if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
