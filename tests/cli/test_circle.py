"""A weft among the servers of weft: it may be, but not for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawft.upstream.circle import DEPTH, MAX_DEPTH
from tests.requirements import requirement

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]  # processes that start processes


@requirement("QUAL-03")
def test_a_weft_that_is_a_server_of_itself_comes_to_an_end(run: Any, weft: list[str], home: Path) -> None:
    """With the same home each would start the next; behind a sandbox it has a home of its own."""
    command, *args = weft
    words = ", ".join(f'"{word}"' for word in (*args, "mcp-server"))
    file = home / "mcp_servers" / "me.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    variables = f'{{ CLAWFT_HOME = "{home}" }}'
    file.write_text(f'command = "{command}"\nargs = [{words}]\nenv = {variables}\nsandbox = "off"\ntrust = "trusted"\n')
    file.chmod(0o600)
    (last,) = run("servers", "status", "--json", **{DEPTH: str(MAX_DEPTH - 1)}).json["servers"]
    assert last["state"] == "connected"
    (beyond,) = run("servers", "status", "--json", **{DEPTH: str(MAX_DEPTH)}).json["servers"]
    assert beyond["state"] == "failed"
    assert "a server of itself" in str(beyond)
