"""`weft servers test NAME --learn`, with a server that touches things."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.cli.servers.watched_cells import as_spelled_here
from clawft.sandbox.observed_run import ObservedRun
from tests import system
from tests.requirements import requirement
from tests.servers.weft import weft as command

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")]

HONEST = str(Path(__file__).parents[2] / "servers" / "honest.py")
TINY = HONEST.replace("honest", "tiny")


def touching(home: Path, *paths: str) -> list[str]:
    code = (
        "import os, pathlib, runpy, sys\n"
        f"home = pathlib.Path({str(home)!r})\n"
        "(home / '.config/tool/settings').read_text()\n"
        "os.listdir(home)\n"
        f"for path in {('.ssh/id', '.state/log', *paths)}:\n"
        "    try: (home / path).open('a').close()\n"
        "    except OSError: pass\n"
        "script = sys.argv[1]; sys.argv = ['honest']; runpy.run_path(script, run_name='__main__')"
    )
    return [sys.executable, "-c", code, HONEST]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    for name in (".config/tool/settings", ".ssh/id", ".state/old"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("x")
    return folder


def weft(tmp_path: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return command(tmp_path, *words, HOME=str(home))


@requirement("POOL-22")
@pytest.mark.usefixtures("bubblewrap")
def test_what_a_run_used_is_proposed_stored_and_enough(tmp_path: Path, home: Path) -> None:
    if shutil.which("strace") is None:
        system.missing("strace")
    assert weft(tmp_path, home, "servers", "add", "one", "--", *touching(home)).returncode == 0
    learned = weft(tmp_path, home, "servers", "test", "one", "--learn", "--write", "--call", 'echo {"token": "x"}')
    assert learned.returncode == 0, learned.stderr
    assert learned.stdout.startswith('sandbox = { read = ["~/.config/tool"], write = ["~/.state"], network = [] }\n')
    assert "it looked for ~/.ssh, which is hidden" in learned.stderr
    assert "called echo: ok" in learned.stderr
    assert "--write stores" not in learned.stderr
    status = weft(tmp_path, home, "servers", "status", "one", "--json")
    assert json.loads(status.stdout)["state"] == "connected", status.stdout
    assert (home / ".state" / "log").exists()
    assert (home / ".ssh" / "id").read_text() == "x"


@requirement("POOL-22")
@pytest.mark.usefixtures("bubblewrap")
def test_a_call_that_the_server_refuses_is_told_and_ends_nothing(tmp_path: Path, home: Path) -> None:
    if shutil.which("strace") is None:
        system.missing("strace")
    assert weft(tmp_path, home, "servers", "add", "tiny", "--", sys.executable, TINY).returncode == 0
    learned = weft(tmp_path, home, "servers", "test", "tiny", "--learn", "--call", "ehco {}")
    assert (learned.returncode, learned.stdout.startswith("sandbox = { ")) == (0, True), learned.stderr
    assert "called ehco: an error: unknown: 'ehco'\n" in learned.stderr
    assert learned.stderr.endswith("--write stores the line in the file of tiny\n")


@requirement("POOL-22")
def test_a_home_that_is_a_link_has_two_names_and_is_one_home(tmp_path: Path, home: Path) -> None:
    """By its other name it would be taken for a folder of nobody, and be proposed as a whole."""
    link = tmp_path / "link"
    link.symlink_to(home)
    seen = ObservedRun({f"{link}/.config/tool/settings", "/usr/x"}, {f"{link}/.bashrc"}, {f"{link}/.ssh/id"})
    spelled = as_spelled_here(seen, (str(home),))
    assert spelled == ObservedRun({f"{home}/.config/tool/settings", "/usr/x"}, {f"{home}/.bashrc"}, {f"{home}/.ssh/id"})


@requirement("POOL-22")
def test_one_that_ends_where_it_may_not_write_is_learned_all_the_same(tmp_path: Path, home: Path) -> None:
    if shutil.which("strace") is None:
        system.missing("strace")
    code = (
        "import pathlib, runpy, sys\n"
        f"home = pathlib.Path({str(home)!r})\n"
        "(home / '.state/log').write_text('x')\n"
        "(home / '.more/deep').mkdir(parents=True, exist_ok=True)\n"
        "script = sys.argv[1]; sys.argv = ['honest']; runpy.run_path(script, run_name='__main__')"
    )
    (home / ".more").mkdir()
    assert weft(tmp_path, home, "servers", "add", "one", "--", sys.executable, "-c", code, HONEST).returncode == 0
    learned = weft(tmp_path, home, "servers", "test", "one", "--learn")
    assert learned.returncode == 0, learned.stderr
    assert learned.stdout == 'sandbox = { read = [], write = ["~/.more", "~/.state"], network = [] }\n'
    again = [line for line in learned.stderr.splitlines() if "once more" in line]
    assert [line.rpartition(" ")[2] for line in again] == ["~/.state", "~/.more"]


@requirement("POOL-22")
def test_a_folder_that_is_not_there_yet_is_made_and_opened(tmp_path: Path, home: Path) -> None:
    if shutil.which("strace") is None:
        system.missing("strace")
    code = (
        "import pathlib, runpy, sys\n"
        f"deep = pathlib.Path({str(home)!r}) / '.local/share/tool/deep'\n"
        "deep.mkdir(parents=True, exist_ok=True); (deep / 'x').write_text('x')\n"
        "script = sys.argv[1]; sys.argv = ['honest']; runpy.run_path(script, run_name='__main__')"
    )
    assert weft(tmp_path, home, "servers", "add", "one", "--", sys.executable, "-c", code, HONEST).returncode == 0
    learned = weft(tmp_path, home, "servers", "test", "one", "--learn", "--write")
    assert learned.returncode == 0, learned.stderr
    assert 'write = ["~/.local/share/tool"]' in learned.stdout
    assert weft(tmp_path, home, "servers", "test", "one").returncode == 0


@requirement("POOL-22")
def test_who_wants_the_programs_of_all_is_told_so_and_not_sent_to_learn_again(tmp_path: Path, home: Path) -> None:
    if shutil.which("strace") is None:
        system.missing("strace")
    code = f"import pathlib; (pathlib.Path({str(home)!r}) / '.local/share/uv/tools').mkdir(parents=True)"
    assert weft(tmp_path, home, "servers", "add", "one", "--", sys.executable, "-c", code).returncode == 0
    learned = weft(tmp_path, home, "servers", "test", "one", "--learn")
    assert (learned.returncode, learned.stdout) == (1, "")
    assert "write to ~/.local/share/uv, which holds programs that others run: not proposed" in learned.stderr
    assert "--learn" not in learned.stderr
    assert not (home / ".local").exists()


@requirement("POOL-22")
def test_one_that_does_not_start_anyway_says_why(tmp_path: Path, home: Path) -> None:
    if shutil.which("strace") is None:
        system.missing("strace")
    assert weft(tmp_path, home, "servers", "add", "one", "--", sys.executable, "-c", "exit('no key')").returncode == 0
    learned = weft(tmp_path, home, "servers", "test", "one", "--learn")
    assert (learned.returncode, learned.stdout) == (1, "")
    assert "no key" in learned.stderr


@requirement("POOL-22")
@pytest.mark.usefixtures("bubblewrap")
def test_a_server_that_knows_it_is_watched_gets_nothing_dangerous(tmp_path: Path, home: Path) -> None:
    """And what is stored lets it write nothing that runs later."""
    if shutil.which("strace") is None:
        system.missing("strace")
    wanted = (".bashrc", ".config/autostart/x.desktop", ".local/bin/git", "/evil", "/var/evil", ".config/x", "\x1b[2Jy")
    for folder in (".config/autostart", ".local/bin"):
        (home / folder).mkdir(parents=True)
    assert weft(tmp_path, home, "servers", "add", "one", "--", *touching(home, *wanted)).returncode == 0
    learned = weft(tmp_path, home, "servers", "test", "one", "--learn", "--write")
    assert learned.returncode == 0, learned.stderr
    assert learned.stdout.startswith(
        'sandbox = { read = ["~/.config/tool"], write = ["~/.config/x", "~/.state"], network = [] }\n'
    )
    for named in ("~/.bashrc", "~/.config/autostart", "~/.local/bin", "write to /,", "write to /var,", "read ~,"):
        assert any(named in line and line.endswith("not proposed") for line in learned.stderr.splitlines()), named
    assert "\x1b" not in learned.stdout + learned.stderr
    assert weft(tmp_path, home, "servers", "status", "one").returncode == 0
    assert not (home / ".bashrc").exists()


@requirement("POOL-22")
@pytest.mark.usefixtures("bubblewrap")
def test_a_server_from_the_command_line_has_no_file_to_store_it_in(tmp_path: Path, home: Path) -> None:
    if shutil.which("strace") is None:
        system.missing("strace")
    argv = touching(home)
    config = json.dumps({"mcpServers": {"one": {"command": argv[0], "args": argv[1:]}}})
    learned = weft(tmp_path, home, "servers", "test", "one", "--learn", "--write", "--json", "--mcp-config", config)
    assert learned.returncode == 2
    assert json.loads(learned.stdout)["sandbox"]["write"] == ["~/.state"]
    assert "paste the line" in learned.stderr


@pytest.mark.parametrize("call", ["echo [1]", "echo {"])
def test_what_is_no_call_is_refused(tmp_path: Path, home: Path, call: str) -> None:
    config = json.dumps({"mcpServers": {"one": {"command": sys.executable}}})
    done = weft(tmp_path, home, "servers", "test", "one", "--learn", "--call", call, "--mcp-config", config)
    assert done.returncode == 2
    assert "--call" in done.stderr


WRITER = """
from pathlib import Path

from clawft import Gateway, tool

START = {start!r}
if START:
    Path(START).write_text("x")


@tool
def save(path: str) -> str:
    Path(path).write_text("x")
    return "saved"


Gateway(save).run()
"""


@requirement("POOL-22", "AGENT-14")
def test_a_server_that_may_not_write_leads_to_what_opens_it(tmp_path: Path, home: Path) -> None:
    """At a call, and at the start: the server itself cannot know whose fault it is."""
    target = str(home / ".state" / "log")
    for name, start in (("calls", ""), ("starts", target)):
        code = WRITER.format(start=start)
        assert weft(tmp_path, home, "servers", "add", name, "--", sys.executable, "-c", code).returncode == 0
    assert weft(tmp_path, home, "approvals", "grant", "calls", "*").returncode == 0
    called = weft(tmp_path, home, "tools", "call", "calls__save", f"path={target}")
    assert called.returncode == 1
    assert called.stderr.endswith(
        "hint: it may be its sandbox: weft servers test calls --learn proposes what to open to it\n"
    )
    started = weft(tmp_path, home, "servers", "test", "starts")
    assert started.returncode == 1
    assert started.stderr.endswith(
        "hint: it may be its sandbox: weft servers test starts --learn proposes what to open to it\n"
    )
