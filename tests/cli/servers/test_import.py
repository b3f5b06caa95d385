"""`weft servers import` as a person runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

TINY = Path(__file__).parents[2] / "servers" / "tiny.py"
SECRET = "sk-abcdefghijklmnop"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A person with two programs, which share a server."""
    folder = tmp_path / "user"
    one = {"command": sys.executable, "args": [str(TINY), "--title", "one"]}
    _write(folder / ".claude.json", {"mcpServers": {"one": one, "git": {**one, "env": {"API_KEY": SECRET}}}})
    _write(folder / ".cursor" / "mcp.json", {"mcpServers": {"one": one, "gone": {"command": "no-such-program"}}})
    return folder


def _write(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def actions(done: Any) -> list[tuple[str, str, str]]:
    return [(row["name"], row["from"], row["action"]) for row in done.json["servers"]]


FOUND = [
    ("one", "claude-code", "new"),
    ("git-mcp", "claude-code", "new"),
    ("one", "cursor", "double"),
    ("gone", "cursor", "refused"),
]


@requirement("MGR-19")
def test_a_dry_run_shows_and_writes_nothing(run: Any, home: Path, user: Path) -> None:
    done = run("servers", "import", "--dry-run", "--json", HOME=str(user))
    assert (done.code, actions(done)) == (0, FOUND)
    assert list(home.iterdir()) == []
    assert done.json["dry_run"] is True
    assert "2 would be written" in run("servers", "import", "--dry-run", HOME=str(user)).err


@requirement("MGR-19", "CONF-14")
def test_what_is_imported_works_and_holds_no_secret(run: Any, home: Path, user: Path) -> None:
    before = (user / ".claude.json").read_text()
    done = run("servers", "import", "--trust", HOME=str(user))
    assert done.code == 0
    assert "export API_KEY=" in done.err
    assert SECRET not in done.out + done.err
    written = sorted((home / "mcp_servers").iterdir())
    assert [path.name for path in written] == ["git-mcp.toml", "one.toml"]
    assert not any(SECRET in path.read_text() for path in written)
    assert (user / ".claude.json").read_text() == before
    assert run("tools", "call", "git-mcp__env", "name=API_KEY", API_KEY="from outside").out == "from outside\n"
    assert run("tools", "call", "one__echo", "text=1", API_KEY="x").out == "one: 1\n"


@requirement("MGR-19")
def test_an_odd_entry_of_one_program_hides_nothing(run: Any, user: Path) -> None:
    codex = user / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text(f'[mcp_servers.odd]\ncommand = "{sys.executable}"\nenv_vars = ["A", {{ name = "B" }}]\n')
    done = run("servers", "import", "--dry-run", "--json", HOME=str(user))
    assert (done.code, actions(done)) == (0, [*FOUND, ("odd", "codex", "new")])


@requirement("MGR-19")
def test_what_is_there_already_is_skipped_or_kept_as_a_copy(run: Any, home: Path, user: Path) -> None:
    mine = home / "mcp_servers" / "one.toml"
    mine.parent.mkdir()
    mine.write_text('url = "http://127.0.0.1:1/"\n')
    done = run("servers", "import", "--from", "claude-code", "--json", HOME=str(user))
    assert ("one", "claude-code", "exists") in actions(done)
    assert mine.read_text() == 'url = "http://127.0.0.1:1/"\n'
    run("servers", "import", "--from", "claude-code", "--force", HOME=str(user))
    assert "tiny.py" in mine.read_text()
    assert mine.with_name("one.toml.bak").read_text() == 'url = "http://127.0.0.1:1/"\n'
    assert "weft servers import --force" in run("servers", "import", "--from", "claude-code", HOME=str(user)).err


@requirement("MGR-19", "CONF-14")
def test_kept_secrets_are_private_files(run: Any, home: Path, user: Path) -> None:
    run("servers", "import", "--keep-secrets", "--trust", HOME=str(user))
    (kept,) = (home / "secrets").iterdir()
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == (SECRET, 0o600)
    assert SECRET not in (home / "mcp_servers" / "git-mcp.toml").read_text()
    assert run("tools", "call", "git-mcp__env", "name=API_KEY").out == f"{SECRET}\n"


@requirement("MGR-19", "CONF-16")
def test_a_workspace_is_imported_only_when_named(run: Any, workspace: Path, user: Path) -> None:
    _write(workspace / ".mcp.json", {"mcpServers": {"theirs": {"command": sys.executable, "args": [str(TINY)]}}})
    assert not any(row[1] == "workspace" for row in actions(run("servers", "import", "--json", HOME=str(user))))
    done = run("servers", "import", "--from", "workspace", "--json", HOME=str(user))
    assert actions(done) == [("theirs", "workspace", "new")]
    assert run("servers", "import", "--from", "nothing").code == 2


@requirement("MGR-19")
def test_where_all_is_refused_nothing_was_written(run: Any, tmp_path: Path) -> None:
    _write(tmp_path / ".cursor" / "mcp.json", {"mcpServers": {"gone": {"command": "no-such-program"}}})
    assert run("servers", "import", HOME=str(tmp_path)).err == "nothing was written\n"


@requirement("MGR-19")
def test_nothing_found_says_what_else_there_is(run: Any, tmp_path: Path) -> None:
    done = run("servers", "import", HOME=str(tmp_path / "nobody"))
    assert (done.code, done.out) == (0, "")
    assert "weft servers add" in done.err


@requirement("MGR-19")
def test_what_a_workspace_names_is_told_where_it_is_not_imported(run: Any, workspace: Path, tmp_path: Path) -> None:
    """Of what was found elsewhere and what was not, and not to whoever chose what to import."""
    _write(workspace / ".vscode" / "mcp.json", {"servers": {"theirs": {"command": sys.executable}}})
    told = "files of this workspace name 1 server, too: weft servers import --from workspace\n"
    home = {"HOME": str(tmp_path / "nobody")}
    assert run("servers", "import", "--dry-run", **home).err.endswith(told)
    assert told not in run("servers", "import", "--dry-run", "--from", "cursor", **home).err
    assert run("servers", "import", "--from", "workspace", **home).code == 0
    assert "files of this workspace" not in run("servers", "import", **home).err


@requirement("MGR-19", "CONF-14")
def test_a_secret_of_an_address_is_kept_where_it_is_asked_for(run: Any, home: Path, tmp_path: Path) -> None:
    user = tmp_path / "other"
    _write(user / ".cursor" / "mcp.json", {"mcpServers": {"exa": {"url": f"https://x.example/mcp?apiKey={SECRET}"}}})
    assert run("servers", "import", "--keep-secrets", HOME=str(user)).code == 0
    written = (home / "mcp_servers" / "exa.toml").read_text()
    (kept,) = (home / "secrets").iterdir()
    assert f"apiKey=${{secret://file{kept}}}" in written
    assert kept.read_text() == SECRET


@requirement("MGR-19", "CONF-14")
def test_a_token_behind_its_scheme_is_kept_where_it_is_asked_for(run: Any, home: Path, tmp_path: Path) -> None:
    user = tmp_path / "other"
    entry = {"url": "https://x.example/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}}
    _write(user / ".cursor" / "mcp.json", {"mcpServers": {"far": entry}})
    assert run("servers", "import", "--keep-secrets", HOME=str(user)).code == 0
    (kept,) = (home / "secrets").iterdir()
    assert f"Bearer ${{secret://file{kept}}}" in (home / "mcp_servers" / "far.toml").read_text()
    assert kept.read_text() == SECRET


@requirement("MGR-19", "CONF-10")
def test_an_address_that_begins_with_a_variable_is_used(run: Any, workspace: Path) -> None:
    entry = {"type": "http", "url": "${API_BASE:-http://127.0.0.1:9}/mcp"}
    given = ("--mcp-config", json.dumps({"mcpServers": {"api": entry}}))
    assert "server api: http://127.0.0.1:9/mcp cannot be reached" in run("tools", "list", "api", *given).err
    told = run("tools", "list", "api", *given, API_BASE="ftp://127.0.0.1")
    assert "does not resolve to an http:// or https:// address (correct the variables it names)" in told.err
