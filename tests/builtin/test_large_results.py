"""Results larger than one may be, through a real `weft mcp-server` and the official client, which checks schemas."""

from pathlib import Path

import pytest

from tests.builtin.git.plain import git, new
from tests.builtin.ide.agent import agent
from tests.requirements import requirement

pytestmark = pytest.mark.slow


@requirement("EXEC-01", "EXEC-02", "MEM-01", "GUARD-09")
async def test_they_are_cut_and_no_errors(workspace: Path, home: Path) -> None:
    for number in range(2_000):
        (workspace / f"a file with a rather long name {number:04}").write_text("line\n")
    async with agent(workspace, home) as ours:
        counted = await ours.call("shell__exec", command="seq 1 100000")
        assert (counted["exit_code"], counted["truncated"]) == (0, True)
        assert counted["stdout"].endswith("99999\n100000\n")
        assert "weft__read_result" in counted["texts"][0]
        listed = await ours.call("file__list", limit=10_000)
        assert listed["truncated"]
        assert listed["entries"][0]["path"] == "a file with a rather long name 0000"
        found = await ours.call("file__search", pattern="line", limit=10_000)
        assert found["truncated"]
        await ours.call("memory__set", key="long", value="ü" * 65_536)
        recalled = await ours.call("memory__get", key="long")
        assert recalled["result"].startswith("üüü")
        new(workspace / "r")
        git(workspace / "r", "commit", "--quiet", "--allow-empty", "--file=-", stdin=b"x" * 300_000)
        [commit] = (await ours.call("git__log", repo_path="r"))["result"]
        assert commit["message"].endswith("[the rest is left out]")
        hits = await ours.call("memory__search", query="long")
        assert [each["key"] for each in hits["result"]] == ["long"]
