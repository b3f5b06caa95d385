"""What this machine has to hold a child with. Tried out, never assumed.

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
"""A child may raise its own bound up to this."""
MAX_TASKS = 4096
"""Processes and threads of a child and all it started; of everybody but root, to whom the kernel sets no bound."""
COUNTS_APART = (5, 14)
"""Since this kernel the tasks of a namespace are counted by themselves, and not with all others of the user."""
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
    """What was found. Each tuple is what to put before a command; empty where that cannot be done."""

    level: Level = "none"
    bwrap: str = ""
    sized: bool = False
    """This bubblewrap bounds temporary folders."""
    offline: bool = False
    """It can also take the network away."""
    abi: int = 0
    """The version of Landlock."""
    limits: tuple[str, ...] = ()
    """Bounds what a child may use."""
    inner_limits: tuple[str, ...] = ()
    """Bounds what a child behind a wall may use; there its processes can be counted as well."""
    away: tuple[str, ...] = ()
    """Puts input and output where the wall that follows does not hold them."""
    back: tuple[str, ...] = ()
    """Behind it, puts them back, and sets the same limits."""
    leash: tuple[str, ...] = ()
    """Ends the child with us, even by SIGKILL, and lets it gain no privileges."""
    alone: tuple[str, ...] = ()
    """A namespace of processes, where Landlock has to do."""
    reason: str = ""
    """Why it is not better."""

    @property
    def name(self) -> str:
        return f"landlock({self.abi})" if self.level == "landlock" else self.level


def which(program: str, folders: Sequence[str] | None = None) -> str | None:
    """As `shutil.which`, which brings all that packs archives; in these folders, or those of our PATH.

    The folder we happen to be in has no say, be it by a folder of its own on the PATH.
    """
    places = outside_workspace(os.get_exec_path() if folders is None else folders)
    paths = (os.path.join(folder, program) for folder in places)
    return next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def outside_workspace(folders: Iterable[str], workspace: str = "") -> list[str]:
    """Those that do not lie in the workspace, by default the folder we are in: a project may have put programs there.

    A workspace that is, or holds, the home folder holds programs of the user, too, and so all of them are left.
    """
    absolute = [folder for folder in folders if os.path.isabs(folder)]
    own = os.path.realpath(workspace or _where_we_are())
    if not may_be_opened(own, os.path.realpath(os.path.expanduser("~"))):
        return absolute
    return [folder for folder in absolute if not is_within(os.path.realpath(folder), own)]


def _where_we_are() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"  # it was removed, and has nothing any more


def _idle() -> str:
    """A program that does nothing, to try out what starts it."""
    return which("true") or "/bin/true"


def probe(*, bubblewrap: bool = True) -> Means:
    """Best first. Without `bubblewrap`: as if it were not installed."""
    if sys.platform != "linux":
        return Means(reason=f"no sandbox is known for {sys.platform}; {SILENCE}")
    program = which("bwrap") if bubblewrap else None
    return _all_at_once(program) or one_by_one(program)


def _all_at_once(program: str | None) -> Means | None:
    """On most machines all of it works, and one trial tells: each program starts the next. None if something fails."""
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
    version = 0 if found.level == "bwrap" else _landlock()
    if version:
        found = Means("landlock", abi=version, alone=_alone(), reason=found.reason)
    elif found.level == "none":
        found = Means(reason=f"{found.reason}, and the kernel has no Landlock")
    limits = _if_it_works(_limiting())
    found = msgspec.structs.replace(found, limits=limits, inner_limits=_inner_limits(limits), leash=leash())
    if found.level != "bwrap":
        return found
    away, back = handing((), _enclosing(found.bwrap, sized=found.sized, network=(ANY_HOST,)))
    return msgspec.structs.replace(found, away=away, back=back)


def _bubble(program: str | None) -> Means:
    if program is None:
        return Means(reason=f"bubblewrap is not installed; {_installing()}, or {SILENCE}")
    sized = not _try_bwrap(program, sized=True)
    said = "" if sized else _try_bwrap(program, sized=False)
    if said:
        return Means(reason=f"{said}; {SILENCE}")
    return Means("bwrap", program, sized, offline=not _try_bwrap(program, sized=sized, network=()))


def _try_bwrap(program: str, *, sized: bool, network: tuple[str, ...] = (ANY_HOST,)) -> str:
    """What went wrong; nothing if it works."""
    return _trial([*_enclosing(program, sized=sized, network=network), _idle()])


def _enclosing(program: str, *, sized: bool, network: tuple[str, ...]) -> tuple[str, ...]:
    rules = (PathRule("/", "read"), PathRule("/tmp", "empty"))  # noqa: S108 - covered, and not used
    return (program, *bwrap.arguments(Bounds(rules, network), "/", sized=sized), "--")


def handing(before: Sequence[str], wall: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What carries input and output past a wall: the words before it and behind it.

    Both are empty where the shell of this machine does more than that, or less.
    """
    limits, away = pipes.limiting(_files(), _tasks()), pipes.away()
    back = pipes.back(limits)
    leaves = _left_by([*before, *away, *wall, *back, pipes.ENV])
    if leaves:
        back = pipes.back(limits, leaves)
        leaves = _left_by([*before, *away, *wall, *back, pipes.ENV])
    return (away, back) if leaves == () else ((), ())


def _left_by(argv: Sequence[str]) -> tuple[str, ...] | None:
    """Variables that come out of a chain of programs and were not put in; None if it does not work as it should."""
    path = os.environ.get("PATH", os.defpath)
    wrong, said = _tried(argv, {"PATH": path})
    found, given = set(said.splitlines()), {f"PATH={path}", "PWD=/"}  # bubblewrap says where it is
    return None if wrong or not given <= found else tuple(sorted(line.partition("=")[0] for line in found - given))


def _trial(argv: Sequence[str]) -> str:
    """What went wrong; nothing if it works."""
    return _tried(argv)[0]


def _tried(argv: Sequence[str], env: Mapping[str, str] | None = None) -> tuple[str, str]:
    """What went wrong, and what it said."""
    try:
        ran = subprocess.run(
            argv, capture_output=True, timeout=TRIAL_SECONDS, check=False, stdin=subprocess.DEVNULL, env=env
        )
    except (OSError, subprocess.TimeoutExpired) as failed:
        return f"{os.path.basename(argv[0])} cannot be used: {failed}", ""
    said, words = (text.decode("utf-8", "replace") for text in (ran.stdout, ran.stderr))
    last = [f"status {ran.returncode}", *words.strip().splitlines()][-1]
    return ("" if ran.returncode == 0 else _explain(argv[0], last)), said


def _installing() -> str:
    """What to type, where we know it."""
    command = next((command for program, command in INSTALLERS.items() if which(program)), "")
    before = "" if os.getuid() == 0 else "sudo "
    return f"run: {before}{command} bubblewrap" if command else "install it"


def content_of(file: str) -> str:
    """Of a small file of the kernel's; nothing if it is not there."""
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
    from clawft.sandbox import landlock  # brings ctypes; only where there is no bubblewrap

    return landlock.abi()


def _if_it_works(prefix: tuple[str, ...]) -> tuple[str, ...]:
    return prefix if prefix and not _trial([*prefix, _idle()]) else ()


def _limiting() -> tuple[str, ...]:
    """No core files, and no more open files than anybody needs."""
    program = which("prlimit")
    if program is None:
        return ()
    soft, hard = _files()
    return (program, "--core=0:0", f"--nofile={soft}:{hard}", "--")


def _inner_limits(limits: tuple[str, ...]) -> tuple[str, ...]:
    most = _tasks()
    return (*limits[:-1], f"--nproc={most}:{most}", "--") if limits and most is not None else limits


def _files() -> tuple[int, int]:
    """How many it may have open, and up to how many it may raise that."""
    hard = hard_limit("RLIMIT_NOFILE", MAX_OPEN_FILES)
    return min(OPEN_FILES, hard), hard


def _tasks() -> int | None:
    """How many there may be behind a wall; None where those outside would be counted with them."""
    return hard_limit("RLIMIT_NPROC", MAX_TASKS) if _kernel() >= COUNTS_APART else None


def tasks_among_all() -> int:
    """How many there may be of a user, where all of his are counted: as many as now, and those of one child."""
    _, _, everybody = content_of(LOAD).rpartition("/")  # of all users: to count his own would take longer than a start
    now = everybody.partition(" ")[0]
    return hard_limit("RLIMIT_NPROC", (int(now) if now.isdecimal() else MAX_TASKS) + MAX_TASKS)


def _kernel() -> tuple[int, ...]:
    """Its version; nothing where it is not told in numbers."""
    major, _, rest = os.uname().release.partition(".")
    minor = rest.partition(".")[0].partition("-")[0]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else ()


def hard_limit(name: str, wanted: int) -> int:
    """As much as is wanted and may be set."""
    import resource  # not everywhere

    _, most = resource.getrlimit(getattr(resource, name))
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most)


@lru_cache(maxsize=4)
def memory_limit(size: int) -> tuple[str, ...]:
    """What to put before a command so that it, and each it starts, takes no more than that; mapped files do not count.

    Nothing where that cannot be done. Set from outside it would come too late for what is taken in the first moment.
    """
    program = which("prlimit") if size and sys.platform == "linux" else None
    return () if program is None else (program, f"--data={hard_limit('RLIMIT_DATA', size)}", "--")


@lru_cache(maxsize=1)
def leash() -> tuple[str, ...]:
    """What to put before a command so that the kernel ends it with us, and it gains no privileges.

    Setting that between fork and exec in Python is not safe once there are threads, so a small program does it.
    """
    return _if_it_works(_leashing()) if sys.platform == "linux" else ()


def _leashing() -> tuple[str, ...]:
    program = which("setpriv")
    return () if program is None else (program, "--pdeathsig", "KILL", "--no-new-privs", "--")


@lru_cache(maxsize=1)
def tether() -> tuple[str, ...]:
    """What ends a command of the user's own with us. It may gain privileges: some keepers of secrets do."""
    return tuple(word for word in leash() if word != "--no-new-privs")


def _alone() -> tuple[str, ...]:
    program = which("unshare")
    if program is None:
        return ()
    how = "--user --map-current-user --pid --ipc --fork --kill-child=SIGKILL --mount-proc --".split()
    return _if_it_works((program, *how))
