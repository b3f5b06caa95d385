"""Finds out which sandbox means work on this machine, by trying them.

A program that is installed may still be forbidden: Ubuntu's AppArmor does that to bubblewrap, containers to namespaces.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clawft.sandbox import bwrap, pipes
from clawft.sandbox.bounds import ANY_HOST, Bounds, PathRule, is_within, may_be_opened

TRIAL_SECONDS = 5.0
OPEN_FILES = 1024
MAX_OPEN_FILES = 4096
"""The hard limit of a child's open files."""
MAX_TASKS = 4096
"""Processes and threads of a child and all it started; the kernel sets root no such bound."""
COUNTS_APART = (5, 14)
"""The kernel version from which tasks of a namespace are counted apart from the user's others."""
SILENCE = 'sandbox = "off" silences this'
INSTALLERS = {
    "apt-get": "apt-get install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "zypper": "zypper install",
    "apk": "apk add",
}
LOAD = "/proc/loadavg"
RESTRICTED = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"

Level = Literal["bwrap", "landlock", "none"]


class Means(Struct, frozen=True):
    """The means that work. Each tuple holds the words to put before a command; empty if that cannot be done."""

    level: Level = "none"
    bwrap: str = ""
    sized: bool = False
    """Whether this bubblewrap can bound temporary folders."""
    offline: bool = False
    """bubblewrap can also take the network away."""
    abi: int = 0
    """The version of Landlock."""
    limits: tuple[str, ...] = ()
    """Limits the resources of a child."""
    inner_limits: tuple[str, ...] = ()
    """Limits the resources of a child behind a wall, where its processes can be counted as well."""
    away: tuple[str, ...] = ()
    """Moves input and output to where the wall does not hold them."""
    back: tuple[str, ...] = ()
    """Behind the wall, puts them back and sets the limits."""
    leash: tuple[str, ...] = ()
    """Options that let the kernel end the child with us, even after SIGKILL, and let it gain no privileges."""
    alone: tuple[str, ...] = ()
    """Makes a namespace of processes, for use with Landlock."""
    reason: str = ""
    """Why the level is not better."""

    @property
    def name(self) -> str:
        return f"landlock({self.abi})" if self.level == "landlock" else self.level


def which(program: str, folders: Sequence[str] | None = None) -> str | None:
    """Like `shutil.which`, whose import is slow; searches these folders, or our PATH.

    Relative folders, those below the current one and those of a workspace are ignored, see `outside_workspace`.
    """
    places = outside_workspace(os.get_exec_path() if folders is None else folders)
    paths = (os.path.join(folder, program) for folder in places)
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


_workspaces: set[str] = set()


def work_in(workspace: str | os.PathLike[str]) -> None:
    """From now on programs of this folder are none of ours: whoever works there can put some there."""
    _workspaces.add(os.path.realpath(workspace))


def outside_workspace(folders: Iterable[str], workspace: str = "") -> list[str]:
    """The folders outside of this workspace (by default the current folder) and of all others that we serve.

    A project may have put programs there. A workspace that is or holds the home folder holds programs of the user, too,
    and so does not count.
    """
    user = os.path.realpath(os.path.expanduser("~"))
    own = {os.path.realpath(workspace or _where_we_are()), *_workspaces}
    foreign = [folder for folder in own if may_be_opened(folder, user)]
    absolute = [folder for folder in folders if os.path.isabs(folder)]
    return [folder for folder in absolute if not any(is_within(os.path.realpath(folder), each) for each in foreign)]


def _where_we_are() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"  # the current folder was removed, and holds nothing any more


def _idle() -> str:
    """A program that does nothing, to try out what starts it."""
    return which("true") or "/bin/true"


def probe(*, bubblewrap: bool = True) -> Means:
    """The best means that work; without `bubblewrap` as if it were not installed."""
    if sys.platform != "linux":
        return Means(reason=f"no sandbox is known for {sys.platform}; {SILENCE}")
    program = which("bwrap") if bubblewrap else None
    return _all_at_once(program) or one_by_one(program)


def _all_at_once(program: str | None) -> Means | None:
    """Try everything in one trial, each program starting the next, as it mostly works; None if something fails."""
    limits, leash = _limiting(), _leashing()
    if program is None or not limits or not leash:
        return None
    inner = _inner_limits(limits)
    away, back = handing((*limits, *leash), (*_enclosing(program, sized=True, network=()), *inner))
    if not away:
        return None
    found = Means("bwrap", program, sized=True, offline=True, limits=limits, inner_limits=inner, leash=leash)
    return msgspec.structs.replace(found, away=away, back=back)


def one_by_one(program: str | None) -> Means:
    found = _bubble(program)
    if found.level == "none":
        found = _without_bubblewrap(found.reason)
    limits = _if_it_works(_limiting())
    found = msgspec.structs.replace(found, limits=limits, inner_limits=_inner_limits(limits), leash=leash())
    if found.level != "bwrap":
        return found
    away, back = handing((), _enclosing(found.bwrap, sized=found.sized, network=(ANY_HOST,)))
    return msgspec.structs.replace(found, away=away, back=back)


def _without_bubblewrap(reason: str) -> Means:
    """Landlock, where it works: not inside another sandbox of Landlock, as names to allow cannot be listed there."""
    version = _landlock()
    if not version:
        return Means(reason=f"{reason}, and the kernel has no Landlock")
    if not _lists("/"):
        return Means(reason=f"{reason}, and the sandbox around weft, which holds its children too, does not list /")
    return Means("landlock", abi=version, alone=_alone(), reason=reason)


def _lists(folder: str) -> bool:
    try:
        os.listdir(folder)
    except OSError:  # which `os.access` does not foresee
        return False
    return True


def _bubble(program: str | None) -> Means:
    if program is None:
        return Means(reason=f"bubblewrap is not installed; {_installing()}, or {SILENCE}")
    sized = not _try_bwrap(program, sized=True)
    wrong = "" if sized else _try_bwrap(program, sized=False)
    if wrong:
        return Means(reason=f"{wrong}; {SILENCE}")
    return Means("bwrap", program, sized, offline=not _try_bwrap(program, sized=sized, network=()))


def _try_bwrap(program: str, *, sized: bool, network: tuple[str, ...] = (ANY_HOST,)) -> str:
    """The error of a trial; empty if bubblewrap works."""
    return _trial([*_enclosing(program, sized=sized, network=network), _idle()])


def _enclosing(program: str, *, sized: bool, network: tuple[str, ...]) -> tuple[str, ...]:
    rules = (PathRule("/", "read"), PathRule("/tmp", "empty"))  # noqa: S108 - covered, and not used
    return (program, *bwrap.arguments(Bounds(rules, network), "/", sized=sized), "--")


def handing(before: Sequence[str], wall: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words before and behind a wall that carry input and output past it.

    Both are empty where the shell of this machine does not do exactly that.
    """
    limits, away = pipes.limiting(_files(), _tasks()), pipes.away()
    back = pipes.back(limits)
    leaves = _left_by([*before, *away, *wall, *back, pipes.ENV])
    if leaves:
        back = pipes.back(limits, leaves)
        leaves = _left_by([*before, *away, *wall, *back, pipes.ENV])
    return (away, back) if leaves == () else ((), ())


def _left_by(argv: Sequence[str]) -> tuple[str, ...] | None:
    """Variables that a chain of programs adds to the given ones; None if the chain does not work."""
    path = os.environ.get("PATH", os.defpath)
    wrong, output = _tried(argv, {"PATH": path})
    found, given = set(output.splitlines()), {f"PATH={path}", "PWD=/"}  # bubblewrap sets PWD
    return None if wrong or not given <= found else tuple(sorted(line.partition("=")[0] for line in found - given))


def _trial(argv: Sequence[str]) -> str:
    """The error of a trial; empty if it works."""
    return _tried(argv)[0]


def _tried(argv: Sequence[str], env: Mapping[str, str] | None = None) -> tuple[str, str]:
    """The error of a trial, and its output."""
    try:
        ran = subprocess.run(
            argv, capture_output=True, timeout=TRIAL_SECONDS, check=False, stdin=subprocess.DEVNULL, env=env
        )
    except (OSError, subprocess.TimeoutExpired) as failed:
        return f"{os.path.basename(argv[0])} cannot be used: {failed}", ""
    output, words = (text.decode("utf-8", "replace") for text in (ran.stdout, ran.stderr))
    last = [f"status {ran.returncode}", *words.strip().splitlines()][-1]
    return ("" if ran.returncode == 0 else _explain(argv[0], last)), output


def _installing() -> str:
    """The command that installs bubblewrap, where we know it."""
    command = next((command for program, command in INSTALLERS.items() if which(program)), "")
    before = "" if os.getuid() == 0 else "sudo "
    return f"run: {before}{command} bubblewrap" if command else "install it"


def content_of(file: str) -> str:
    """The content of a small kernel file; empty if it is missing."""
    try:
        return Path(file).read_text().strip("\0\n ")
    except OSError:
        return ""


def _explain(program: str, words: str) -> str:
    if "uid map" in words or "ermission denied" in words or "not permitted" in words:
        if content_of(RESTRICTED) == "1":
            return f"AppArmor forbids user namespaces to bubblewrap ({words}); the sandbox guide says how to allow them"
        return f"user namespaces are blocked on this machine ({words})"
    return f"{os.path.basename(program)} cannot be used: {words}"


def _landlock() -> int:
    from clawft.sandbox import landlock  # imports ctypes; only where bubblewrap is missing

    return landlock.abi()


def _if_it_works(prefix: tuple[str, ...]) -> tuple[str, ...]:
    return prefix if prefix and not _trial([*prefix, _idle()]) else ()


def _limiting() -> tuple[str, ...]:
    """Forbids core files and bounds the open files."""
    program = which("prlimit")
    if program is None:
        return ()
    soft, hard = _files()
    return (program, "--core=0:0", f"--nofile={soft}:{hard}", "--")


def _inner_limits(limits: tuple[str, ...]) -> tuple[str, ...]:
    most = _tasks()
    return (*limits[:-1], f"--nproc={most}:{most}", "--") if limits and most is not None else limits


def _files() -> tuple[int, int]:
    """The soft and hard limits of open files."""
    hard = hard_limit("RLIMIT_NOFILE", MAX_OPEN_FILES)
    return min(OPEN_FILES, hard), hard


def _tasks() -> int | None:
    """The limit of tasks behind a wall; None where those outside are counted with them."""
    return hard_limit("RLIMIT_NPROC", MAX_TASKS) if _kernel() >= COUNTS_APART else None


def tasks_among_all() -> int:
    """The limit of tasks where all of the user are counted: as many as there are now, and those of one child."""
    _, _, everybody = content_of(LOAD).rpartition("/")  # of all users: to count his own would take longer than a start
    now = everybody.partition(" ")[0]
    return hard_limit("RLIMIT_NPROC", (int(now) if now.isdecimal() else MAX_TASKS) + MAX_TASKS)


def _kernel() -> tuple[int, ...]:
    """The kernel version; empty if it is not numeric."""
    major, _, rest = os.uname().release.partition(".")
    minor = rest.partition(".")[0].partition("-")[0]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else ()


def hard_limit(name: str, wanted: int) -> int:
    """The wanted limit, or the highest that may be set."""
    import resource  # not everywhere

    _, most = resource.getrlimit(getattr(resource, name))
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)


@lru_cache(maxsize=4)
def memory_limit(size: int) -> tuple[str, ...]:
    """The words before a command that limit its memory, and that of each child; mapped files do not count.

    Empty where that cannot be done. Set from outside, the limit would come too late for the first moments.
    """
    program = which("prlimit") if size and sys.platform == "linux" else None
    return () if program is None else (program, f"--data={hard_limit('RLIMIT_DATA', size)}", "--")


@lru_cache(maxsize=1)
def leash() -> tuple[str, ...]:
    """The words before a command that have the kernel end it with us and let it gain no privileges.

    Setting that between fork and exec in Python is not safe once there are threads, so a small program does it.
    """
    return _if_it_works(_leashing()) if sys.platform == "linux" else ()


def _leashing() -> tuple[str, ...]:
    program = which("setpriv")
    return () if program is None else (program, "--pdeathsig", "KILL", "--no-new-privs", "--")


@lru_cache(maxsize=1)
def tether() -> tuple[str, ...]:
    """Like `leash`, for the user's own commands, which may gain privileges: some keepers of secrets do."""
    return tuple(word for word in leash() if word != "--no-new-privs")


def _alone() -> tuple[str, ...]:
    program = which("unshare")
    if program is None:
        return ()
    how = "--user --map-current-user --pid --ipc --fork --kill-child=SIGKILL --mount-proc --".split()
    return _if_it_works((program, *how))
