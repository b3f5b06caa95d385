"""The book of approvals: one private file for all agents on the machine, read again when it has changed.

Writers hold a lock and replace the whole file, so that several `weft` may grant and revoke at once. A file that others
could have written, or that cannot be read, approves nothing.
"""

from __future__ import annotations

import logging
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from clawft.error_words import quoted
from clawft.errors import InvalidConfig
from clawft.policy.approval import Approval, PinnedUse, UseStanding, is_live, judge, turning_points, with_added
from clawft.store.file_locks import locked
from clawft.store.private_files import ABANDONED_SECONDS, open_at_once, private_dir, sweep, write_private

FILE = "approvals.json"
LOOK_SECONDS = 0.5
"""How soon a running weft notices approvals that were granted, were revoked, or have run out."""
VERSION = 1
MAX_APPROVALS = 20_000
MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_SHOWN_BYTES = 256 * 1024
"""Size of an approved text that is kept to be compared later; of a longer one only the pin is kept."""

ANEW = "move the file away and approve again what you use"
FEWER = "revoke some that you do not need: weft approvals revoke SERVER"

ANY_TOOL = "*"
"""The key for globs in the table of tools; no tool has this name."""

Stamp = tuple[int, int, int, int, int]
Edit = Callable[[tuple[Approval, ...]], Iterable[Approval]]

log = logging.getLogger("clawft")


class _Document(Struct):
    version: int = VERSION
    approvals: tuple[Approval, ...] = ()


class _UnreadDocument(Struct):
    """The document with its approvals undecoded, to count them: decoding a million would take all memory.

    Both members are required, so that other JSON is not taken for a book without approvals.
    """

    version: int
    approvals: list[Raw] | UnsetType = UNSET


class Approvals:
    """The approvals in force; reading them waits for no lock. `changed` is called whenever others are in force."""

    def __init__(self, home: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = home / FILE
        self.clock = clock
        self.changed: Callable[[], None] = lambda: None
        self.look_at = 0.0
        """When callers that do not look each time should look again, by the monotonic clock."""
        self._stamp: Stamp | None = None
        self._by_server: dict[str, list[Approval]] = {}
        self._by_tool: dict[tuple[str, str], list[Approval]] = {}
        """Server and tool → approvals; globs, which may match any tool, stand under `ANY_TOOL`."""
        self._since, self._until = float("-inf"), float("inf")
        """While the clock is between these times, no approval begins or runs out."""
        self._seen = False

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def look(self) -> bool:
        """Read the file again if needed; True if other approvals are in force than at the last look.

        Setting the clock back does not extend an approval either.
        """
        self.look_at = time.monotonic() + LOOK_SECONDS
        stamp = _stamp(self.path)
        if self._seen and stamp == self._stamp and self._since <= self.clock() < self._until:
            return False
        self._seen, self._stamp = True, stamp
        self._keep(self._read())
        self.changed()
        return True

    def judge(self, use: PinnedUse) -> UseStanding:
        meant = [*self._by_tool.get((use.server, use.tool), ()), *self._by_tool.get((use.server, ANY_TOOL), ())]
        return judge(meant, use, self.clock())

    def knows(self, server: str, tool: str) -> bool:
        """Whether any approval names this very tool."""
        return (server, tool) in self._by_tool

    def of(self, server: str) -> Sequence[Approval]:
        return self._by_server.get(server, ())

    def all(self) -> list[Approval]:
        self.look()
        return [each for approvals in self._by_server.values() for each in approvals]

    def _keep(self, approvals: Iterable[Approval]) -> None:
        by_server: dict[str, list[Approval]] = {}
        by_tool: dict[tuple[str, str], list[Approval]] = {}
        for each in approvals:
            by_server.setdefault(each.server, []).append(each)
            by_tool.setdefault((each.server, ANY_TOOL if each.is_glob else each.tool), []).append(each)
        now = self.clock()
        turns = [moment for group in by_server.values() for each in group for moment in turning_points(each)]
        self._since = max((moment for moment in turns if moment <= now), default=float("-inf"))
        self._until = min((moment for moment in turns if moment > now), default=float("inf"))
        self._by_server, self._by_tool = by_server, by_tool

    def _read(self) -> tuple[Approval, ...]:
        try:
            return read(self.path)
        except InvalidConfig as wrong:
            log.error("%s", wrong)
            return ()

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, *added: Approval) -> None:
        """Add approvals. Waits for the file, so it is not called in the event loop."""
        self.change(lambda known: with_added(known, map(bounded, added)))

    def change(self, edit: Edit) -> None:
        """Read, edit and write as one step for all processes. Approvals that ran out long ago are dropped."""
        private_dir(self.path.parent)
        with locked(self.path.with_suffix(".lock")):
            sweep(self.path.parent, ABANDONED_SECONDS)
            known = tuple(each for each in read(self.path) if is_live(each, self.clock()))
            write_private(self.path, _written(tuple(edit(known))))


def _written(kept: tuple[Approval, ...]) -> bytes:
    """The encoded book. Raises InvalidConfig for one too large to be read again, as it would then approve nothing."""
    if len(kept) > MAX_APPROVALS:
        raise InvalidConfig(f"there are {MAX_APPROVALS} approvals already", hint=FEWER)
    content = msgspec.json.encode(_Document(VERSION, kept))
    if len(content) > MAX_FILE_BYTES:
        problem = f"all approvals together have {len(content)} bytes; {MAX_FILE_BYTES} can be kept"
        raise InvalidConfig(problem, hint=FEWER)
    return content


def bounded(approval: Approval) -> Approval:
    shown = approval.shown
    if shown is msgspec.UNSET or len(bytes(shown)) <= MAX_SHOWN_BYTES:
        return approval
    return msgspec.structs.replace(approval, shown=msgspec.UNSET)


def read(path: Path) -> tuple[Approval, ...]:
    """The approvals in a file. Raises InvalidConfig if others may write it, it cannot be read, or it is not a book."""
    try:
        with open_at_once(path) as file:
            found = os.fstat(file.fileno())
            content = file.read(MAX_FILE_BYTES + 1) if stat.S_ISREG(found.st_mode) else b""
    except FileNotFoundError:
        return ()
    except OSError as failed:
        why = f"{path} cannot be read, so its approvals are ignored: {failed.strerror}"
        raise InvalidConfig(why, hint=ANEW) from None
    if os.name == "posix" and (found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or found.st_uid not in (os.getuid(), 0)):
        raise InvalidConfig(
            f"{path} can be changed by others, so its approvals are ignored", hint=f"chmod 600 {quoted(path)}"
        )
    return parse(content, str(path))


def parse(content: bytes, where: str, hint: str = ANEW) -> tuple[Approval, ...]:
    if len(content) > MAX_FILE_BYTES:
        raise InvalidConfig(f"{where} is larger than {MAX_FILE_BYTES} bytes", hint=hint)
    try:
        document = msgspec.json.decode(content, type=_UnreadDocument)
        if document.version > VERSION:
            raise InvalidConfig(f"{where} was written by a newer version of weft", hint="pip install -U clawft")
        if document.approvals is UNSET:
            raise msgspec.ValidationError("Object missing required field `approvals`")
        if len(document.approvals) > MAX_APPROVALS:
            raise InvalidConfig(f"{where} holds more than {MAX_APPROVALS} approvals", hint=hint)
        return tuple(_entry(number, raw) for number, raw in enumerate(document.approvals, 1))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise InvalidConfig(f"{where} is not a valid file of approvals: {wrong}", hint=hint) from None


def _entry(number: int, raw: Raw) -> Approval:
    try:
        return msgspec.json.decode(raw, type=Approval)
    except msgspec.ValidationError as wrong:
        raise msgspec.ValidationError(f"{wrong}, in number {number}") from None


def write_out(approvals: Iterable[Approval]) -> bytes:
    """A book as text, for `weft approvals export`."""
    document = _Document(VERSION, tuple(approvals))
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _stamp(path: Path) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode, found.st_uid
