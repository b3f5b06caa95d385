"""The checks of `weft doctor` on this machine: programs, folders and files, one function per area.

Nothing is changed, whatever is found. What needs a whole gateway to be looked at is in `app_checks`.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clawft.builtin.trust import list_file
from clawft.cli.audit.verify import touched, untouched
from clawft.config.load import files, problems
from clawft.config.places import NARROWER, audit_file, told_if_wide, user_file
from clawft.error_words import quoted
from clawft.errors import Busy, ConfigError, InvalidConfig
from clawft.guard.approval.book import FILE, read
from clawft.sandbox.means import means
from clawft.sandbox.probe import Means
from clawft.store.journal_reading import IntactJournal, verify

MAX_FILES = 2000
LEAST_ROOM = 1024 * 1024
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
NO_LISTS = "lists of hosts are not enforced: servers with one, git and cargo reach every host"
NOT_HELD = f"files are held; {NO_LISTS}; sockets of other programs can be reached"
"""The accesses that Landlock alone does not restrict."""
NOT_BOUNDED = "what one takes of memory, disk and processor in all its processes is not bounded"
NOT_INSTALLED = "bubblewrap is not installed"
INSTALL_BUBBLEWRAP = "install it: apt-get install bubblewrap, or with your system's package manager"
ALLOW_BUBBLEWRAP = "see docs/guides/sandbox.md for how to allow bubblewrap what it needs"

Level = Literal["ok", "warn", "fail"]


class DoctorFinding(Struct, frozen=True):
    level: Level
    what: str
    said: str
    hint: str = ""


def ok(what: str, said: str) -> DoctorFinding:
    return DoctorFinding("ok", what, said)


def warn(what: str, said: str, hint: str) -> DoctorFinding:
    return DoctorFinding("warn", what, said, hint)


def fail(what: str, said: str, hint: str) -> DoctorFinding:
    return DoctorFinding("fail", what, said, hint)


def runtime() -> Iterator[DoctorFinding]:
    yield ok("python", sys.version.split()[0])
    try:
        import uvloop  # as the program does where it serves
    except ImportError:
        yield warn(
            "uvloop",
            "not installed; the slower asyncio loop is used",
            f"{quoted(sys.executable)} -m pip install uvloop",
        )
    else:
        yield ok("uvloop", uvloop.__version__)


def sandbox(folder: Path) -> Iterator[DoctorFinding]:
    yield sandbox_with(means(folder / "cache"))


def sandbox_with(found: Means) -> DoctorFinding:
    """The sandbox's abilities on this machine, and the gaps that a server may ask for all the same."""
    if found.level == "none":
        lost = "servers, git, cargo and commands run with your rights, whatever their sandbox says"
        return warn("sandbox", f"none: {lost}; {found.reason}", 'sandbox = "require" starts nothing without one')
    if found.level == "landlock":
        hint = INSTALL_BUBBLEWRAP if NOT_INSTALLED in found.reason else ALLOW_BUBBLEWRAP
        return warn("sandbox", f"{found.name}: {NOT_HELD}; {NOT_BOUNDED}; {found.reason}", hint)
    if not found.offline:
        gaps = f"{found.name}: files are held; {NO_LISTS}; {NOT_BOUNDED}"
        return warn("sandbox", gaps, "weft needs to make network namespaces")
    return ok("sandbox", f"{found.name}: servers see no secrets, and write to the workspace only; {NOT_BOUNDED}")


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def home(folder: Path) -> Iterator[DoctorFinding]:
    """Whether only the user can read and change what is in the home folder."""
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        problem = f"{folder} is not writable" if there == folder else f"{folder} cannot be created in {there}"
        yield fail("home", problem, f"export CLAWFT_HOME=DIR, or make it yours: ls -ld {quoted(there)}")
    elif _lacks_inodes(there):
        yield fail("home", f"the disk of {there} has room for no more files", f"make room: df -i {quoted(there)}")
    elif _room(there) < LEAST_ROOM:
        yield fail("home", f"the disk of {there} is full", f"make room: df -h {quoted(there)}")
    elif there != folder:
        yield ok("home", f"{folder} does not exist yet; it is created when it is needed")
    if there != folder:
        return
    exposed = [finding for path in _files(folder) if (finding := _exposed(path))]
    if _mode(folder) & OTHERS:
        yield warn("home", f"{folder} is open to other users ({_octal(folder)})", f"chmod 700 {quoted(folder)}")
    elif not exposed:
        yield ok("home", f"{folder} is private")
    yield from exposed


def _files(folder: Path) -> Iterator[Path]:
    """Regular files below, up to a bound; links are not followed, and the folders that servers own are skipped."""
    found = (Path(place, name) for place, names in _ours(folder) for name in names)
    return (path for path in islice(found, MAX_FILES) if not path.is_symlink())


def _ours(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for place, folders, names in os.walk(folder):
        if place == str(folder):
            folders[:] = [name for name in folders if name != "sandbox"]
        yield place, names


def _exposed(path: Path) -> DoctorFinding | None:
    mode = _mode(path)
    if path.suffix == ".toml" or path == list_file():  # they hold no secrets, but decide what is allowed
        is_open = mode & OTHERS_WRITE
        return fail("home", f"others may change {path}", f"chmod go-w {quoted(path)}") if is_open else None
    if mode & OTHERS:
        return fail("home", f"others may read or change {path} ({_octal(path)})", f"chmod 600 {quoted(path)}")
    return None


def _room(folder: Path) -> int:
    """How many bytes are free there."""
    return shutil.disk_usage(folder).free


def _lacks_inodes(folder: Path) -> bool:
    """Whether no file can be added. File systems without a fixed number of files report zero of them, which is fine."""
    if sys.platform == "win32":
        return False
    found = os.statvfs(folder)
    return found.f_files > 0 and found.f_favail == 0


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except OSError:
        return 0  # gone in the meantime


def _octal(path: Path) -> str:
    return f"{_mode(path):04o}"


def workspace(folder: Path) -> Iterator[DoctorFinding]:
    if not folder.is_dir():
        yield fail("workspace", f"{folder} is not a folder", "name an existing one with --workspace DIR")
    elif not os.access(folder, os.W_OK):
        yield warn("workspace", f"{folder.resolve()} is not writable", "tools can read there, but change nothing")
    elif wide := told_if_wide(folder):
        yield warn("workspace", wide, NARROWER)
    else:
        yield ok("workspace", str(folder.resolve()))


def configuration(folder: Path, agent: str) -> Iterator[DoctorFinding]:
    try:
        found = problems(folder, agent)
    except ConfigError as wrong:  # the name of the agent itself
        yield fail("config", wrong.message, wrong.hint)
        return
    yield from (fail("config", each.message, each.hint) for each in found)
    read = [str(path) for path in files(folder, agent) if path.exists()]
    if not found:
        yield ok(
            "config", ", ".join(read) if read else f"no file, so defaults apply; {user_file(folder)} would be read"
        )


def approvals(folder: Path) -> Iterator[DoctorFinding]:
    try:
        read(folder / FILE)
    except InvalidConfig as wrong:
        yield fail("approvals", wrong.message, wrong.hint)


def audit(folder: Path) -> Iterator[DoctorFinding]:
    try:
        result = verify(audit_file(folder))
    except OSError as failed:
        yield fail(
            "audit", f"{failed.filename}: {failed.strerror}", "correct the problems above and run the check again"
        )
        return
    except Busy as held:
        yield fail("audit", held.message, held.hint)
        return
    if isinstance(result, IntactJournal):
        yield ok("audit", untouched(result))
    else:
        yield fail(
            "audit",
            touched(result),
            "weft audit verify; keep the file, and find out who changed it",
        )
