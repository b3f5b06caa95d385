"""Reads from the output of strace what one run of a server touched. Pure.

The run is sandboxed as by `auto`, so observing it risks nothing: a refused write shows as one it wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct, field

from clawft.policy.address import literal_addresses, looks_numeric
from clawft.sandbox.bounds import expand

CALLS = "%file,connect,sendto,sendmsg,sendmmsg"
OPTIONS = ("-f", "-qq", "-xx", "-s", "1024", "-e", f"trace={CALLS}", "-e", "signal=none")
"""All strings in hex, as names may hold anything."""
MAX_SEEN = 20_000
"""Paths of one kind that are remembered of a run."""

_LINE = re.compile(r"(?P<pid>\d+) +(?P<call>\w+)\((?P<rest>.*)")
_RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_RESULT = re.compile(r"= (?P<value>-?\d+|\?)(?: (?P<error>E[A-Z]+))?[^=]*$")
_ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"((?:\\x[0-9a-f]{2})*)"')
_CHANGES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")

_OPENS = ("open", "openat", "openat2", "creat", "execve", "execveat")
_CHANGE = ("creat mkdir mkdirat rename renameat renameat2 unlink unlinkat rmdir symlink symlinkat link linkat truncate "
           "chmod fchmodat chown fchownat utimensat mknod mknodat").split()  # fmt: skip
_MAKE = ("mkdir", "mkdirat")
_REFUSED = ("EROFS", "EACCES", "EPERM")
_DNS = "53"
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+")


class _Some(set[str]):
    """A set of bounded size."""

    def add(self, element: str, /) -> None:
        if len(self) < MAX_SEEN:
            super().add(element)

    def update(self, *others: Iterable[str]) -> None:
        for element in chain(*others):
            self.add(element)


class ObservedRun(Struct):
    """The absolute paths that were touched, and the hosts that were called."""

    read: set[str] = field(default_factory=_Some)
    wrote: set[str] = field(default_factory=_Some)
    missed: set[str] = field(default_factory=_Some)
    """Paths looked for and not found: hidden ones look like that."""
    names: set[str] = field(default_factory=_Some)
    """Host names that were looked up."""
    addresses: set[str] = field(default_factory=_Some)
    made: set[str] = field(default_factory=_Some)
    """Folders it made, or tried to; they count as written, too."""


def read_notes(lines: Iterable[str], command: str, cwd: str) -> ObservedRun:
    """The accesses of the command. All before its start is the sandbox being built, by processes that are ignored."""
    seen = ObservedRun()
    builders: set[str] = set()
    running = False
    for pid, call, rest in _calls(lines):
        texts = [_decode(text) for text in _TEXT.findall(rest)]
        if not running and call == "execve" and texts[:1] == [command] and not _error(rest):
            running = True
            builders.discard(pid)
        elif not running:
            builders.add(pid)
        if running and pid not in builders:
            _note(seen, call, rest, texts, cwd)
    return seen


def together(runs: Iterable[ObservedRun]) -> ObservedRun:
    """All that was touched in any of these runs."""
    seen = ObservedRun()
    for each in runs:
        for name in ObservedRun.__struct_fields__:
            getattr(seen, name).update(getattr(each, name))
    return seen


def _calls(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    begun: dict[tuple[str, str], str] = {}
    for line in lines:
        if resumed := _RESUMED.match(line):
            pid, call = resumed["pid"], resumed["call"]
            yield pid, call, begun.pop((pid, call), "") + resumed["rest"]
        elif found := _LINE.match(line):
            if found["rest"].endswith("<unfinished ...>"):
                begun[found["pid"], found["call"]] = found["rest"].removesuffix("<unfinished ...>")
            else:
                yield found["pid"], found["call"], found["rest"]


def _note(seen: ObservedRun, call: str, rest: str, texts: list[str], cwd: str) -> None:
    error = _error(rest)
    if call == "connect":
        _note_address(seen, rest)
    elif call.startswith("send"):
        seen.names.update(name for text in _TEXT.findall(rest) if (name := question(_bytes(text))))
    elif texts and (call in _CHANGE or (call in _OPENS and _CHANGES.search(rest))):
        path = _whole(texts[-1] if call.startswith(("rename", "link", "symlink")) else texts[0], cwd)
        if call in _MAKE and error in ("", "ENOENT", *_REFUSED):  # those around it, which lack, are then made as well
            seen.made.add(path)
            seen.wrote.add(path)
        elif error in ("", *_REFUSED):
            seen.wrote.add(path)
    elif texts and call in _OPENS:
        (seen.missed if error else seen.read).add(_whole(texts[0], cwd))


def _note_address(seen: ObservedRun, rest: str) -> None:
    found = _ADDRESS.search(rest)
    if found is None or found[1] == _DNS:
        return
    address = _decode(found[2])
    if not address.startswith("127.") and address != "::1":
        seen.addresses.add(address)


def _error(rest: str) -> str:
    found = _RESULT.search(rest)
    return (found["error"] or "") if found else "?"


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _decode(text: str) -> str:
    return _bytes(text).decode("utf-8", "surrogateescape")


def _whole(path: str, cwd: str) -> str:
    return expand(path, "~", cwd) if not path.startswith("~") else f"{cwd}/{path}"


def question(packet: bytes) -> str:
    """The host name a DNS packet asks for; empty if it is no such packet.

    Addresses are refused: nobody looks up `127.0.0.1`, but in a list of hosts it would open this machine.
    """
    labels: list[str] = []
    at = 12
    if len(packet) < at + 5 or packet[4:6] != b"\0\1":
        return ""
    while at < len(packet) and packet[at]:
        size = packet[at]
        labels.append(packet[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += size + 1
    name = ".".join(labels).lower()
    return name if _NAME.fullmatch(name) and not looks_numeric(name) and not literal_addresses(name) else ""
