"""Secrets that a server repeats in other spellings, or line by line: nothing we say has them."""

import json
import sys
from pathlib import Path

import pytest

from tests.requirements import requirement
from tests.servers.blabber import spellings
from tests.servers.pipe import mcp_server
from tests.servers.weft import ROOT, weft

pytestmark = pytest.mark.slow

ODD = 'canary"one/two+three four\\five'
LONG = "-----BEGIN KEY-----\ncanary0123456789abcdef\ncanaryfedcba9876543210\n-----END KEY-----"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ODD", ODD)
    key = tmp_path / "key"
    key.write_text(LONG)
    servers = tmp_path / "home" / "mcp_servers"
    servers.mkdir(parents=True, mode=0o700)
    server = ROOT / "tests" / "servers" / "blabber.py"
    (servers / "blabber.toml").write_text(
        f'trust = "trusted"\ncommand = {sys.executable!r}\nargs = [{str(server)!r}]\n'
        f'env = {{ ODD = "secret://env/ODD", LONG = "secret://file{key}" }}\n'
    )
    return tmp_path


def heard(text: str) -> list[str]:
    return [spelled for secret in (ODD, LONG) for spelled in spellings(secret) if spelled in text]


@requirement("CONF-14")
async def test_no_spelling_of_a_secret_gets_out(folder: Path) -> None:
    async with mcp_server(folder, "--no-builtin", "--mcp-debug") as pipe:
        await pipe.open()
        answers = [
            await pipe.ask("tools/call", {"name": "blabber__tell", "arguments": {}}),
            await pipe.ask("resources/read", {"uri": "x:y"}),
        ]
        shown = [weft(folder, "servers", "status", "blabber", *how).stdout for how in ((), ("--json",))]
        assert all("refused: " in json.dumps(answer) for answer in answers)
        assert all("I know" in text for text in shown)
    told = [
        *(json.dumps(answer) for answer in answers),
        *shown,
        pipe.stderr(),
        weft(folder, "servers", "test", "blabber").stdout,
    ]
    assert [heard(text) for text in told] == [[] for _ in told]


@requirement("CONF-14")
def test_each_spelling_would_have_been_heard() -> None:
    for secret in (ODD, LONG):
        assert all(heard(f"before {spelled} behind") for spelled in spellings(secret))
