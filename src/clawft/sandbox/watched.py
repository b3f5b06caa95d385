"""What one run of a server touched, read from the notes of strace; and the table that would allow just that. Pure.

The run is held as `auto` holds it, so nothing is risked by looking: a write that was refused shows as one it wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from clawft.sandbox.bounds import RUNNING, SECRETS, SYSTEM, TEMPORARY, Around, Table, expand, is_within, may_be_opened

CALLS = "%file,connect,sendto,sendmsg,sendmmsg"
OPTIONS = ("-f", "-qq", "-xx", "-s", "1024", "-e", f"trace={CALLS}", "-e", "signal=none")
"""All texts in hex: names may hold anything."""
MAX_NAMED = 100
"""Paths of one kind that a proposal lists; more of them are no table but the wish for `auto`."""

_LINE = re.compile(r"(?P<pid>\d+) +(?P<call>\w+)\((?P<rest>.*)")
_RESUMED = re.compile(r"(?P<pid>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_RESULT = re.compile(r"= (?P<value>-?\d+|\?)(?: (?P<error>E[A-Z]+))?[^=]*$")
_ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"((?:\\x[0-9a-f]{2})*)"')
_CHANGES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")

_OPENS = ("open", "openat", "openat2", "creat", "execve", "execveat")
_CHANGE = ("creat mkdir mkdirat rename renameat renameat2 unlink unlinkat rmdir symlink symlinkat link linkat truncate "
           "chmod fchmodat chown fchownat utimensat mknod mknodat").split()  # fmt: skip
_REFUSED = ("EROFS", "EACCES", "EPERM")
_DNS = "53"


class Seen(Struct):
    """What was touched, by absolute path, and who was called."""

    read: set[str]
    wrote: set[str]
    missed: set[str]
    """Looked for and not found: what is hidden looks like that."""
    names: set[str]
    """Hosts whose addresses were asked for."""
    addresses: set[str]


class Proposal(Struct, frozen=True):
    table: Table
    notes: tuple[str, ...] = ()


# ── reading the notes ────────────────────────────────────────────────────────────────────────────────────────────────


def read_notes(lines: Iterable[str], command: str, cwd: str) -> Seen:
    """Whatever happened before `command` was run is the sandbox being built, and those who built it stay out."""
    seen = Seen(set(), set(), set(), set(), set())
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


def _note(seen: Seen, call: str, rest: str, texts: list[str], cwd: str) -> None:
    error = _error(rest)
    if call == "connect":
        _note_address(seen, rest)
    elif call.startswith("send"):
        seen.names.update(name for text in _TEXT.findall(rest) if (name := question(_bytes(text))))
    elif texts and (call in _CHANGE or (call in _OPENS and _CHANGES.search(rest))):
        if error in ("", *_REFUSED):
            seen.wrote.add(_whole(texts[-1] if call.startswith(("rename", "link", "symlink")) else texts[0], cwd))
    elif texts and call in _OPENS:
        (seen.missed if error else seen.read).add(_whole(texts[0], cwd))


def _note_address(seen: Seen, rest: str) -> None:
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
    """The name that a DNS packet asks for; nothing if it is none."""
    labels: list[str] = []
    at = 12
    if len(packet) < at + 5 or packet[4:6] != b"\0\1":
        return ""
    while at < len(packet) and packet[at]:
        size = packet[at]
        labels.append(packet[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += size + 1
    name = ".".join(labels).lower()
    return name if re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", name) else ""


# ── proposing a table ────────────────────────────────────────────────────────────────────────────────────────────────


def propose(seen: Seen, around: Around) -> Proposal:
    """What it used of the home folder and the workspace, and wrote anywhere; secrets are told and never proposed."""
    wrote = {_unit(path, around) for path in seen.wrote if _counts(path, around, writing=True)}
    read = {_unit(path, around) for path in seen.read if _counts(path, around, writing=False)}
    read = {path for path in read if not any(is_within(path, other) for other in wrote)}
    table = Table(
        read=_listed(read, around), write=_listed(wrote, around), network=tuple(sorted(seen.names)[:MAX_NAMED])
    )
    return Proposal(table, tuple(_notes(seen, around)))


def _notes(seen: Seen, around: Around) -> Iterator[str]:
    secrets = sorted({secret for path in seen.missed | seen.read | seen.wrote if (secret := _secret(path, around))})
    for secret in secrets:
        yield f"it looked for {_short(secret, around)}, which is hidden and not proposed"
    if seen.addresses and not seen.names:
        yield f'it called {", ".join(sorted(seen.addresses)[:5])} by number; network = ["*"] allows that'
    elif seen.names:
        yield 'hosts are reached through a proxy it must know how to use; if it does not, network = ["*"]'


def _counts(path: str, around: Around, *, writing: bool) -> bool:
    """Whether a table has to name it: what is open to every server needs no name."""
    if _secret(path, around) or is_within(path, around.own):
        return False
    if _in_workspace(path, around):
        return True
    if is_within(path, around.home):
        return writing or not any(is_within(path, each) for each in around.program)
    return writing and path != "/" and not any(is_within(path, each) for each in (*TEMPORARY, RUNNING, *SYSTEM))


def _in_workspace(path: str, around: Around) -> bool:
    """One that holds the home folder is not named as a whole."""
    return may_be_opened(around.workspace, around.home) and is_within(path, around.workspace)


def _secret(path: str, around: Around) -> str:
    kept = (*(f"{around.home}/{name}" for name in SECRETS), around.state)
    if is_within(path, around.own):
        return ""
    return next((secret for secret in kept if is_within(path, secret)), "")


def _unit(path: str, around: Around) -> str:
    """What to name: the workspace as one; in the home folder a program's own folder; else the folder of the file."""
    if _in_workspace(path, around):
        return around.workspace
    parts = PurePosixPath(path).parts
    if is_within(path, around.home):
        top = len(PurePosixPath(around.home).parts)
        shared = parts[top : top + 1] in ((".config",), (".cache",), (".local",))
        depth = top + (3 if parts[top : top + 1] == (".local",) else 2 if shared else 1)
        return str(PurePosixPath(*parts[:depth]))
    return str(PurePosixPath(path).parent)


def _listed(paths: set[str], around: Around) -> tuple[str, ...]:
    return tuple(_short(path, around) for path in sorted(paths)[:MAX_NAMED])


def _short(path: str, around: Around) -> str:
    if path == around.workspace:
        return "."
    return f"~{path[len(around.home) :]}" if is_within(path, around.home) else path
