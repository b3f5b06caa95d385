"""Each attack in every sandbox this machine has, and once without one: a test that cannot lose proves nothing."""

import asyncio
import ctypes
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

import psutil
import pytest

from clawft.link.process import Launch, start
from clawft.sandbox import seccomp
from clawft.sandbox.bounds import SandboxTable
from clawft.sandbox.group import end
from clawft.upstream.cells import most_memory
from tests.requirements import requirement
from tests.sandbox.held import LEVELS, House
from tests.servers.weft import outliving

pytestmark = [
    pytest.mark.slow,  # an interpreter for each
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]

LANDLOCK = ("landlock", "landlock-alone")


@pytest.fixture
def victim() -> Generator[str]:
    """Another process of the same user, with a secret."""
    argv = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    env = {**os.environ, "SECRET_OF_OTHERS": "x"}
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield str(process.pid)
        process.kill()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that is neither the workspace nor in the temporary folder of the child."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "file.txt").write_text("mine")
    return folder


@requirement("POOL-22", "SEC-A06")
@pytest.mark.parametrize(
    "secret", [".ssh/id_ed25519", ".aws/credentials", ".config/gcloud/key", ".netrc", ".clawft/gateway.token"]
)
@pytest.mark.parametrize("level", LEVELS)
def test_secrets_are_out_of_sight(house: House, secret: str, level: str) -> None:
    path = str(house.home / secret)
    assert house.attack("free", "read", path)
    assert not house.attack(level, "read", path)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_secret_folder_has_no_names(house: House, level: str) -> None:
    folder = str(house.home / ".ssh")
    assert house.attack("free", "list_names", folder)
    assert not house.attack(level, "list_names", folder)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_secrets_stay_hidden_behind_a_link(house: House, level: str) -> None:
    (house.workspace / "link").symlink_to(house.home / ".ssh")
    path = str(house.workspace / "link" / "id_ed25519")
    assert house.attack("free", "read", path)
    assert not house.attack(level, "read", path)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_what_lies_around_may_be_read_but_not_changed(house: House, outside: Path, level: str) -> None:
    assert house.attack(level, "read", str(house.home / "letter.txt"))
    for path in (house.home / ".bashrc", house.home / "letter.txt", outside / "file.txt", outside / "new"):
        assert house.attack("free", "write", str(path))
        assert not house.attack(level, "write", str(path))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_the_workspace_and_a_temporary_folder_may_be_written(house: House, level: str) -> None:
    assert house.attack(level, "write", str(house.workspace / "new"))
    code = "import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b'x'); f.flush(); print(f.name)"
    ran = house.run(level, [sys.executable, "-c", code])
    assert ran.returncode == 0, ran.stderr
    assert not Path(ran.stdout.strip()).exists()


STEERING = (".git/hooks/post-checkout", ".mcp.json", ".vscode/tasks.json", ".claude/settings.json", ".clawft/mcp.toml")


def steer(workspace: Path) -> None:
    for name in STEERING:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text("{}")


@requirement("POOL-22")
@pytest.mark.parametrize("level", ["bwrap"])  # Landlock has no way to say it, as the guide says
def test_what_decides_which_programs_run_later_stays_as_it_is(house: House, level: str) -> None:
    steer(house.workspace)
    for name in STEERING:
        assert not house.attack(level, "write", str(house.workspace / name))
        assert house.attack("free", "write", str(house.workspace / name))


STEERING_BELOW = (
    *("sub/.git/hooks/post-checkout", "sub/.vscode/tasks.json", "sub/.mcp.json", ".idea/workspace.xml"),
    *(".hg/hgrc", ".jj/repo/config.toml", ".helix/languages.toml", ".run/all.run.xml", "sub/crush.json"),
    *(".git/modules/lib/config", ".git/worktrees/other/config.worktree", ".devcontainer/devcontainer.json"),
    *(".git/modules/third/party/config", ".git/modules/third/party/modules/its/own/hooks/post-checkout"),
)


@requirement("POOL-22")
@pytest.mark.parametrize("level", ["bwrap"])
def test_what_decides_a_folder_further_down_stays_as_it_is(house: House, level: str) -> None:
    for name in STEERING_BELOW:
        (house.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (house.workspace / name).write_text("{}")
    for name in STEERING_BELOW:
        assert not house.attack(level, "write", str(house.workspace / name)), name
        assert house.attack("free", "write", str(house.workspace / name)), name
    for name in ("sub/new", "sub/.vscode/new.json", ".git/modules/lib/index"):
        assert house.attack(level, "write", str(house.workspace / name)), name
    assert not house.attack(level, "move", str(house.workspace / "sub"), str(house.workspace / "aside"))


@requirement("POOL-22")
@pytest.mark.parametrize("level", ["bwrap"])
def test_what_decides_cannot_be_moved_to_make_room_for_another(house: House, level: str) -> None:
    steer(house.workspace)
    for name in (".git", ".mcp.json", ".vscode", ".claude", ".clawft"):
        place, aside = str(house.workspace / name), str(house.workspace / "aside")
        assert not house.attack(level, "move", place, aside)
        assert house.attack("free", "move", place, aside)
        Path(aside).rename(place)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_the_rest_of_the_workspace_is_written_all_the_same(house: House, level: str) -> None:
    steer(house.workspace)
    for name in (".git/index", ".git/index.lock", ".vscode/new.json", "new", "Makefile"):
        assert house.attack(level, "write", str(house.workspace / name)), name
    assert house.attack(level, "move", str(house.workspace / ".git/index.lock"), str(house.workspace / ".git/index"))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_written_where_something_is_hidden_or_to_devices(house: House, level: str) -> None:
    """What covers a folder is memory: whoever could fill it would fill the machine's."""
    for folder in (house.home / ".ssh", Path("/dev")):
        assert not house.attack(level, "force_write", str(folder), "weft-test")
    assert house.attack("free", "force_write", str(house.home / ".ssh"), "weft-test")
    assert house.attack(level, "write", "/dev/shm/weft-test")  # what locks between processes need
    Path("/dev/shm/weft-test").unlink(missing_ok=True)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_the_temporary_folder_of_others_is_not_seen(house: House, outside: Path, level: str) -> None:
    assert house.attack("free", "read", str(outside / "file.txt"))
    assert str(outside).startswith("/tmp/")
    assert not house.attack(level, "read", str(outside / "file.txt"))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_home_that_is_the_workspace_is_not_opened(house: House, level: str) -> None:
    argv = [sys.executable, "-c", "import pathlib; pathlib.Path('.bashrc').write_text('evil')"]
    assert house.run("free", argv, cwd=house.home).returncode == 0
    at_home = House(house.home, house.state, house.home)
    assert at_home.run(level, argv, cwd=house.home).returncode != 0


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_nobody_outside_is_signalled(house: House, victim: str, level: str) -> None:
    assert house.attack("free", "signal_to", victim)
    assert not house.attack(level, "signal_to", victim)
    assert not house.attack(level, "end", str(os.getpid()))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_nobody_outside_is_given_limits(house: House, victim: str, level: str) -> None:
    assert house.attack("free", "limit", victim)
    assert not house.attack(level, "limit", victim)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_nobody_listens_in_on_a_terminal(house: House, level: str) -> None:
    """Whoever reads from one gets what the user types there."""
    ours, theirs = os.openpty()
    try:
        assert house.attack("free", "listen_in", os.ttyname(theirs))
        assert not house.attack(level, "listen_in", os.ttyname(theirs))
        assert house.attack(level, "own_terminal") is (level == "bwrap")
    finally:
        os.close(ours)
        os.close(theirs)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_file_of_others_gets_no_second_name_to_be_written_by(house: House, level: str) -> None:
    letter, name = str(house.home / "letter.txt"), str(house.workspace / "mine")
    assert not house.attack(level, "link", letter, name)
    assert house.attack("free", "link", letter, name)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_ways_out_that_know_no_namespace(house: House, level: str) -> None:
    for what in (("family", str(int(socket.AF_VSOCK))), ("ring",)):
        if house.attack("free", *what):
            assert not house.attack(level, *what)
    for usual in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
        assert house.attack(level, "family", str(int(usual)))


@requirement("POOL-22")
@pytest.mark.parametrize("way", ["self", "thread-self", "1"])
@pytest.mark.parametrize("level", LEVELS)
def test_no_root_is_another_way_to_a_secret(house: House, level: str, way: str) -> None:
    path = f"/proc/{way}/root{house.home}/.ssh/id_ed25519"
    assert not house.attack(level, "read", path)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_secrets_of_other_processes_are_not_read(house: House, victim: str, level: str) -> None:
    assert house.attack("free", "spy", victim)
    assert not house.attack(level, "spy", victim)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_nobody_outside_is_debugged(house: House, victim: str, level: str) -> None:
    if not house.attack("free", "attach", victim):
        pytest.skip("this system lets nobody debug others anyway")
    assert not house.attack(level, "attach", victim)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_strict_has_no_home(house: House, level: str) -> None:
    letter = str(house.home / "letter.txt")
    assert house.attack(level, "read", letter, setting="auto")
    assert not house.attack(level, "read", letter, setting="strict")
    assert house.attack(level, "write", str(house.workspace / "new"), setting="strict")


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_a_table_opens_what_it_names_and_nothing_else(house: House, level: str) -> None:
    table = SandboxTable(read=("~/.ssh",), write=("out",), network=("*",))
    (house.workspace / "out").mkdir()
    assert house.attack(level, "read", str(house.home / ".ssh" / "id_ed25519"), setting=table)
    assert not house.attack(level, "write", str(house.home / ".ssh" / "new"), setting=table)
    assert not house.attack(level, "read", str(house.home / "letter.txt"), setting=table)
    assert house.attack(level, "write", str(house.workspace / "out" / "new"), setting=table)
    assert not house.attack(level, "write", str(house.workspace / "new"), setting=table)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_without_network_nothing_goes_out(house: House, level: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(type=socket.SOCK_DGRAM) as heard:
        heard.bind(("127.0.0.1", 0))
        heard.settimeout(5)
        tcp, udp = str(listener.getsockname()[1]), str(heard.getsockname()[1])
        assert house.attack("free", "connect", tcp)
        assert house.attack(level, "connect", tcp, setting="auto")
        assert not house.attack(level, "connect", tcp, setting="strict")
        assert house.attack("free", "send", udp)
        assert heard.recv(100) == b"secret"
        house.attack(level, "send", udp, setting="strict")  # bubblewrap's own loopback takes it
        heard.setblocking(False)
        with pytest.raises(BlockingIOError):
            heard.recv(100)


@requirement("POOL-22")
def test_sockets_of_other_programs_are_not_reached(house: House, outside: Path) -> None:
    """Landlock does not know about these, as the guide says."""
    path = str(outside / "daemon.sock")
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(path)
        daemon.listen()
        assert house.attack("free", "connect_local", path)
        assert not house.attack("bwrap", "connect_local", path)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_one_without_network_reaches_no_socket_that_its_table_does_not_name(
    house: House, outside: Path, level: str
) -> None:
    path = str(outside / "daemon.sock")
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(path)
        daemon.listen()
        for setting in ("strict", SandboxTable(read=(str(house.home),))):
            assert not house.attack(level, "connect_local", path, setting=setting)
        assert house.attack(level, "connect_local", path, setting=SandboxTable(read=(path,)))
    ran = house.run(level, [sys.executable, "-c", "import asyncio; asyncio.run(asyncio.sleep(0))"], "strict")
    assert ran.returncode == 0, ran.stderr


@requirement("POOL-22")
def test_abstract_sockets_are_out_of_reach_where_the_kernel_can(house: House) -> None:
    name = f"weft-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(f"\0{name}")
        daemon.listen()
        assert house.attack("free", "connect_abstract", name)
        assert not house.attack("bwrap", "connect_abstract", name, setting="strict")
        for level in LANDLOCK:
            assert not house.attack(level, "connect_abstract", name), level


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_what_covers_a_secret_cannot_be_taken_away(house: House, level: str) -> None:
    assert house.attack("free", "uncover", str(house.home / ".ssh"))
    assert not house.attack(level, "uncover", str(house.home / ".ssh"))


@requirement("POOL-22")
def test_what_is_mounted_somewhere_is_not_moved_from_where_it_is_not(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What decides later runs is bound to its own place: moved away, it would make room for another."""
    hooks = house.workspace / ".git" / "hooks"
    hooks.mkdir(parents=True)
    assert not house.attack("bwrap", "move_from_below", str(hooks.parent), hooks.name)
    assert hooks.is_dir()
    monkeypatch.setattr(seccomp, "program", partial(_filter_of_the_free, seccomp.program))
    assert house.attack("bwrap", "move_from_below", str(hooks.parent), hooks.name)


def _filter_of_the_free(program: Callable[..., bytes], machine: str, *, network: bool, walled: bool) -> bytes:
    return program(machine, network=network, walled=not walled)


@requirement("POOL-22")
@pytest.mark.parametrize("call", ["unshare", "clone", "clone3"])
def test_behind_a_wall_nobody_has_mounts_of_their_own(house: House, call: str) -> None:
    assert house.attack("free", "own_mounts", call)
    assert not house.attack("bwrap", "own_mounts", call)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_the_kernel_s_own_settings_stay_as_they_are(house: House, level: str) -> None:
    """A root user without a single capability still owns these files: whoever writes one runs programs outside."""
    path = "/proc/sys/kernel/core_pattern"
    assert house.attack("free", "change", path) == (os.getuid() == 0)
    assert not house.attack(level, "change", path)


@pytest.fixture
def shared() -> Generator[str]:
    """Memory that processes of the same user find by its number."""
    libc, key = ctypes.CDLL(None), secrets.randbelow(2**30) + 1
    made = libc.shmget(key, 4096, 0o1600)
    assert made >= 0
    yield str(key)
    libc.shmctl(made, 0, None)


@requirement("POOL-22")
@pytest.mark.parametrize("level", ["bwrap", "landlock-alone"])
def test_memory_that_others_share_is_not_found(house: House, shared: str, level: str) -> None:
    assert house.attack("free", "shared_memory", shared)
    assert not house.attack(level, "shared_memory", shared)


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_keys_privileges_and_descriptors(house: House, level: str) -> None:
    assert not house.attack(level, "privileges")
    assert not house.attack(level, "inherit")
    if house.attack("free", "keys"):
        assert not house.attack(level, "keys")


@requirement("POOL-22")
@pytest.mark.parametrize("level", ["landlock", "landlock-bare"])
def test_our_variables_are_ours_alone(house: House, level: str) -> None:
    """A root user's powers reach past Landlock; they are gone without a program that takes them away, too."""
    argv = [sys.executable, "-c", f"print(len(open('/proc/{os.getpid()}/environ').read()))"]
    assert house.run("free", argv).returncode == 0
    refused = house.run(level, argv)
    assert refused.returncode != 0
    assert "PermissionError" in refused.stderr


@requirement("POOL-22", "CONF-16")
@pytest.mark.parametrize("level", LEVELS)
def test_what_steers_a_loader_steers_nothing_before_the_wall(house: House, outside: Path, level: str) -> None:
    """Whatever builds the wall would write there, or run what it is told to, with all our rights."""
    argv = [sys.executable, "-c", "import os; print('seen:', os.environ['LD_DEBUG'])"]
    for each, escapes in ((level, False), ("free", True)):
        ran = house.run(each, argv, LD_DEBUG="files", LD_DEBUG_OUTPUT=str(outside / "trace"))
        assert "seen: files\n" in ran.stdout, ran.stderr
        assert bool(list(outside.glob("trace*"))) is escapes


@requirement("POOL-22", "CONF-16")
@pytest.mark.parametrize("level", LEVELS)
def test_nor_does_it_stand_in_arguments_that_everybody_sees(house: House, level: str) -> None:
    argv, canary = [sys.executable, "-c", "import os; print(ascii(dict(os.environ)))"], secrets.token_hex(8)
    env = {"PATH": "/usr/bin", "LD_CANARY": canary}
    how = house.cell(level, "auto", argv, house.workspace).start(argv, str(house.workspace), env)
    assert not [word for word in how.argv if canary in word]
    assert canary not in how.env.values()
    ran = house.run(level, argv, LD_CANARY=canary, GLIBC_TUNABLES="x=ü")
    assert (canary in ran.stdout, "'GLIBC_TUNABLES': 'x=\\xfc'" in ran.stdout) == (True, True), ran
    for descriptor in how.descriptors:
        os.close(descriptor)


@requirement("POOL-22", "POOL-21")
@pytest.mark.parametrize("level", LEVELS)
def test_who_leaves_the_group_ends_with_the_rest(house: House, level: str) -> None:
    """A grandchild in a session of its own that hears nothing: gone with the child, and so with us."""
    mark = secrets.token_hex(8)
    lasting = "import time; print('ready', flush=True); time.sleep(300)"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {lasting!r}, '{mark}'], start_new_session=True)\n"
        "time.sleep(300)"
    )
    argv = [sys.executable, "-c", code]
    for each, survives in (("free", True), (level, False)):
        how = house.cell(each, "auto", argv, house.workspace).start(argv, str(house.workspace), {"PATH": "/usr/bin"})
        with subprocess.Popen(
            how.argv, env=dict(how.env), pass_fds=how.descriptors, stdout=subprocess.PIPE, start_new_session=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            end(process.pid, tended=how.tended)
        assert bool(marked(mark, gone=not survives)) is survives, each


DAEMON = """
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
lasting = "import time; print('ready', flush=True); time.sleep(300)"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        subprocess.Popen([sys.executable, "-c", lasting, sys.argv[1]], start_new_session=True, env={})
    os._exit(0)
time.sleep(300)
"""
"""Ignores all requests to end, and leaves somebody behind whom nobody knows any more."""


@requirement("POOL-22", "POOL-21")
@pytest.mark.parametrize("level", ["free", *LEVELS])
async def test_a_server_that_does_not_want_to_end_takes_its_daemons_with_it(house: House, level: str) -> None:
    mark = secrets.token_hex(8)
    argv = [sys.executable, "-c", DAEMON, mark]
    cell = house.cell(level, "auto", argv, house.workspace)
    child = start(Launch(argv[0], tuple(argv[1:]), cwd=str(house.workspace), confine=lambda argv, cwd: cell))
    pipes = child.pipes
    assert pipes.stdin is not None
    assert pipes.stdout is not None
    assert pipes.stderr is not None
    assert await asyncio.to_thread(pipes.stdout.readline) == b"ready\n"
    await child.stop(pipes.stdin.close)
    pipes.stdout.close()
    pipes.stderr.close()
    assert marked(mark, gone=True) == []


@requirement("POOL-22", "POOL-21")
@pytest.mark.parametrize("level", ["free", *LEVELS])
def test_whoever_ends_us_without_warning_leaves_no_daemon(house: House, level: str) -> None:
    mark = secrets.token_hex(8)
    argv = [sys.executable, "-c", DAEMON, mark]
    how = house.cell(level, "auto", argv, house.workspace).start(
        argv, str(house.workspace), {"PATH": "/usr/bin"}, own_pipes=level == "free"
    )
    we = "import subprocess, sys; subprocess.run(sys.argv[2:], pass_fds=eval(sys.argv[1]), start_new_session=True)"
    with subprocess.Popen(
        [sys.executable, "-c", we, str(how.descriptors), *how.argv],
        env=dict(how.env),
        pass_fds=how.descriptors,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
    assert marked(mark, gone=True) == []


def marked(mark: str, *, gone: bool) -> list[int]:
    """Processes that carry it; once none does, if they are expected to go. Those that stay are ended."""
    mine = [each for each in psutil.process_iter() if _carries(each, mark)]
    left = outliving(mine, 10) if gone else mine
    for each in left:
        each.kill()
    return [each.pid for each in left]


def _carries(process: psutil.Process, mark: str) -> bool:
    try:
        return mark in process.cmdline()
    except psutil.Error:
        return False


TAKE_MEMORY = """
import mmap, sys
try:
    mmap.mmap(-1, int(sys.argv[1]), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
except OSError as failed:
    print(failed.strerror)
else:
    print("taken")
"""


@requirement("POOL-22")
@pytest.mark.parametrize("level", [*LEVELS, "free"])
def test_one_process_of_a_server_does_not_take_all_memory(house: House, level: str) -> None:
    """It is asked for and not touched: the machine has it for itself all the time."""
    for much, allowed in ((most_memory() // 2, True), (most_memory() + 1024 * 1024, level == "free")):
        ran = house.run(level, [sys.executable, "-c", TAKE_MEMORY, str(much)])
        assert ran.stdout.strip() == ("taken" if allowed else "Cannot allocate memory"), ran
