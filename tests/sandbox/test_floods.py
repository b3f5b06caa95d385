"""Servers that want more of everything than there is: each finds a bound, and the machine stays usable."""

import glob
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.sandbox import landlock, pipes
from clawft.sandbox.bounds import Bounds, PathRule
from clawft.sandbox.bwrap import temporary_bytes
from clawft.sandbox.cell import Cell
from clawft.sandbox.probe import MAX_OPEN_FILES, MAX_TASKS
from tests.requirements import requirement
from tests.sandbox.held import LEVELS, RUN_S, House, means

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux"),
]

AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or sys.executable
"""One that everybody may run."""
BOUNDS = Bounds((PathRule("/", "read"), PathRule("/tmp", "empty")))

MANY_TASKS = """
import os, time
made = 0
try:
    while made < 10000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
print(made)
"""
MANY_FILES = """
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
made = 0
try:
    while made < 100000:
        os.open("/dev/null", os.O_RDONLY)
        made += 1
except OSError:
    pass
print(made)
"""
MUCH_DISK = """
import os, sys
file, made = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY), 0
try:
    os.posix_fallocate(file, 0, int(sys.argv[2]))
except OSError as full:
    print(full.errno == 28)
else:
    print("took it")
"""


def run(level: str, *argv: str, plain: bool = False) -> str:
    how = Cell(BOUNDS, means(level)).start(argv, "/", {"PATH": "/usr/bin:/bin"})
    before = AS_NOBODY if plain and os.getuid() == 0 else ()
    ran = subprocess.run(
        (*before, *how.argv),
        env=dict(how.env),
        pass_fds=how.descriptors,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    for descriptor in how.descriptors:
        os.close(descriptor)
    shutil.rmtree(how.temporary, ignore_errors=True) if how.temporary else None
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@requirement("POOL-22")
def test_processes_are_counted() -> None:
    assert int(run("bwrap", PYTHON, "-c", MANY_TASKS, plain=True)) < MAX_TASKS


@requirement("POOL-22")
def test_no_limit_is_left_by_way_of_the_wall_s_own_process(house: House) -> None:
    """The first process behind it has none of them: whoever could change it would start others from there."""
    assert not house.attack("bwrap", "attach", "1")
    for place in ("/proc/1/mem", "/proc/1/task/1/mem"):
        assert not house.attack("bwrap", "change", place)
    assert house.attack("bwrap", "debug_own")


@requirement("POOL-22")
def test_where_they_are_counted_with_all_others_there_is_room_for_as_many_more() -> None:
    """However many a user has already, a child is not refused for them."""
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_NPROC))"
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    before, bounds, after = tasks_of_all(), run("landlock", PYTHON, "-c", code).split(), tasks_of_all()
    soft, hard = map(int, bounds)
    assert soft == hard
    assert 0 < most <= soft or min(before, after) - SPARE <= soft - MAX_TASKS <= max(before, after) + SPARE
    assert 0 < soft <= max(before, after) + SPARE + MAX_TASKS


SPARE = 500
"""Others come and go meanwhile."""


def tasks_of_all() -> int:
    return sum(len(os.listdir(place)) for place in glob.glob("/proc/[0-9]*/task") if os.path.isdir(place))


@requirement("POOL-22")
@pytest.mark.parametrize("level", LEVELS)
def test_where_memory_runs_out_a_server_goes_before_what_the_user_works_with(house: House, level: str) -> None:
    assert str(pipes.FIRST_TO_GO) == landlock.FIRST_TO_GO
    ran = house.run(level, ["/bin/cat", "/proc/self/oom_score_adj"])
    assert int(ran.stdout) >= pipes.FIRST_TO_GO, ran.stderr
    assert int(Path("/proc/self/oom_score_adj").read_text()) < pipes.FIRST_TO_GO


@requirement("POOL-22")
@pytest.mark.parametrize("level", ["bwrap", "landlock"])
def test_open_files_are_counted(level: str) -> None:
    assert int(run(level, PYTHON, "-c", MANY_FILES)) < MAX_OPEN_FILES


@requirement("POOL-22")
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_a_private_folder_in_memory_is_no_larger_than_it_may_be(folder: str) -> None:
    if not means("bwrap").sized:
        pytest.skip("this bubblewrap cannot bound temporary folders")
    much = str(temporary_bytes() + 4096)
    assert run("bwrap", PYTHON, "-c", MUCH_DISK, f"{folder}/file", much) == "True"
