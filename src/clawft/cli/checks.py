"""What `weft doctor` looks at, one function per area. Nothing is changed, whatever is found."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from clawft.cli.audit import touched, untouched
from clawft.config.places import audit_file, user_file
from clawft.errors import Busy, InvalidConfig, quoted

if TYPE_CHECKING:
    from clawft.app import App
    from clawft.catalog.snapshot import Entry
    from clawft.config.layers import Found
    from clawft.model import CallToolResult, Tool
    from clawft.sandbox.probe import Means

MAX_FILES = 2000
LEAST_ROOM = 1024 * 1024
OTHERS = stat.S_IRWXG | stat.S_IRWXO
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
NO_LISTS = "lists of hosts are not kept: servers with one, git and cargo reach every host"
NOT_HELD = f"files are held; {NO_LISTS}; sockets of other programs can be reached"
"""By Landlock."""
NOT_INSTALLED = "bubblewrap is not installed"
INSTALL_BUBBLEWRAP = "apt-get install bubblewrap, or your system's way"
ALLOW_BUBBLEWRAP = "docs/guides/sandbox.md says how bubblewrap is allowed what it needs"

Level = Literal["ok", "warn", "fail"]


class Finding(Struct, frozen=True):
    level: Level
    what: str
    said: str
    hint: str = ""


def ok(what: str, said: str) -> Finding:
    return Finding("ok", what, said)


def warn(what: str, said: str, hint: str) -> Finding:
    return Finding("warn", what, said, hint)


def fail(what: str, said: str, hint: str) -> Finding:
    return Finding("fail", what, said, hint)


def runtime() -> Iterator[Finding]:
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


def sandbox(folder: Path) -> Iterator[Finding]:
    from clawft.sandbox.probe import means  # tries programs out

    yield sandbox_with(means(folder / "cache"))


def sandbox_with(found: Means) -> Finding:
    """What is held here, and what is not although somebody may have asked for it."""
    if found.level == "none":
        lost = "servers, git, cargo and commands run as you do, whatever their sandbox says"
        return warn("sandbox", f"none: {lost}; {found.reason}", 'sandbox = "require" starts nothing without one')
    if found.level == "landlock":
        hint = INSTALL_BUBBLEWRAP if NOT_INSTALLED in found.reason else ALLOW_BUBBLEWRAP
        return warn("sandbox", f"{found.name}: {NOT_HELD}; {found.reason}", hint)
    if not found.offline:
        return warn("sandbox", f"{found.name}: files are held; {NO_LISTS}", "weft needs to make network namespaces")
    return ok("sandbox", f"{found.name}: servers see no secrets, and write to the workspace only")


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def home(folder: Path) -> Iterator[Finding]:
    """Only the user may read what is in here, and above all change it."""
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        said = f"{folder} is not writable" if there == folder else f"{folder} cannot be made in {there}"
        yield fail("home", said, f"export CLAWFT_HOME=DIR, or make it yours: ls -ld {quoted(there)}")
    elif _room(there) < LEAST_ROOM:
        yield fail("home", f"the disk of {there} is full", f"make room: df -h {quoted(there)}")
    elif there != folder:
        yield ok("home", f"{folder} is not there yet; it is made when it is needed")
    if there != folder:
        return
    exposed = [finding for path in _files(folder) if (finding := _exposed(path))]
    if _mode(folder) & OTHERS:
        yield warn("home", f"{folder} is open to other users ({_octal(folder)})", f"chmod 700 {quoted(folder)}")
    elif not exposed:
        yield ok("home", f"{folder} is private")
    yield from exposed


def _files(folder: Path) -> Iterator[Path]:
    """Regular files below, up to a bound; links are not followed. What servers keep in their own folders is theirs."""
    found = (Path(place, name) for place, names in _ours(folder) for name in names)
    return (path for path in islice(found, MAX_FILES) if not path.is_symlink())


def _ours(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for place, folders, names in os.walk(folder):
        if place == str(folder):
            folders[:] = [name for name in folders if name != "sandbox"]
        yield place, names


def _exposed(path: Path) -> Finding | None:
    mode = _mode(path)
    if path.suffix == ".toml":  # settings hold no secrets, but decide what is allowed
        is_open = mode & OTHERS_WRITE
        return fail("home", f"others may change {path}", f"chmod go-w {quoted(path)}") if is_open else None
    if mode & OTHERS:
        return fail("home", f"others may read or change {path} ({_octal(path)})", f"chmod 600 {quoted(path)}")
    return None


def _room(folder: Path) -> int:
    """Bytes that may still be written there."""
    import shutil  # only to look

    return shutil.disk_usage(folder).free


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except OSError:
        return 0  # gone in the meantime


def _octal(path: Path) -> str:
    return f"{_mode(path):04o}"


def workspace(folder: Path) -> Iterator[Finding]:
    if not folder.is_dir():
        yield fail("workspace", f"{folder} is no folder", "name an existing one with --workspace DIR")
    elif not os.access(folder, os.W_OK):
        yield warn("workspace", f"{folder.resolve()} is not writable", "tools can read there, but change nothing")
    else:
        yield ok("workspace", str(folder.resolve()))


def configuration(folder: Path, agent: str) -> Iterator[Finding]:
    from clawft.config.load import files, problems  # brings the policies
    from clawft.errors import ConfigError

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


def approvals(folder: Path) -> Iterator[Finding]:
    from clawft.guard.approvals import FILE, read  # brings the policies

    try:
        read(folder / FILE)
    except InvalidConfig as wrong:
        yield fail("approvals", wrong.message, wrong.hint)


def audit(folder: Path) -> Iterator[Finding]:
    from clawft.store.journal import Intact, verify  # reads the whole journal

    try:
        result = verify(audit_file(folder))
    except OSError as failed:
        yield fail("audit", f"{failed.filename}: {failed.strerror}", "correct what is said above, and look again")
        return
    except Busy as held:
        yield fail("audit", held.message, held.hint)
        return
    if isinstance(result, Intact):
        yield ok("audit", untouched(result))
    else:
        yield fail(
            "audit",
            touched(result),
            "weft audit verify; keep the file, and find out who changed it",
        )


# ── tools ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tools(app: App) -> Iterator[Finding]:
    entries = app.gateway.entries
    hidden = len(entries) - len(app.gateway.visible(app.caller))
    yield ok("tools", f"{len(entries)} offered" + (f", {hidden} of them hidden by allow/deny" if hidden else ""))
    if app.files.name_any:
        _recall(app)
    for clash in app.gateway.clashes:
        yield warn("tools", f"{clash.name} is left out: {clash.reason}", "rename one of the two, or use --names plain")
    for entry in app.gateway.entries:
        if _is_shortened(entry):
            yield warn(
                "tools", f"{entry.canonical} is offered as {entry.name}", "its own name is too long or has odd letters"
            )


class _Recalled:
    """The tools of a server as it listed them last."""

    def __init__(self, namespace: str, tools: Sequence[Tool]) -> None:
        self.namespace = namespace
        self._tools = tools

    def list_tools(self) -> Sequence[Tool]:
        return self._tools

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        raise NotImplementedError  # the doctor calls nothing


def _recall(app: App) -> None:
    """Have what servers listed last stand in the catalog: their names can be looked at while none of them runs."""
    from clawft.upstream.offer.cache import SchemaCache, folder  # only where there are servers
    from clawft.upstream.offer.offered import recalled
    from clawft.upstream.offer.room import Room

    cache, room = SchemaCache(folder(app.settings.home)), Room()
    for name, spec in app.servers.wanted.items():
        known = cache.get(spec) if spec.enabled else None
        if known is not None:
            offered = recalled(known, name, room.place())
            app.gateway.register(_Recalled(f"mcp:{name}", offered.tools), server=name)


def _is_shortened(entry: Entry) -> bool:
    from clawft.catalog.names import fit  # the catalog is loaded anyway

    full = f"{entry.origin.server or entry.origin.namespace}__{entry.tool.name}"
    return fit(full) != full


def delegation(app: App) -> Iterator[Finding]:
    """Who could take a task now. Servers are not started here, so claude-flow's own is `servers`' business."""
    told = app.settings.delegation
    if not told.is_on:
        return
    from clawft.delegate.rules import problems  # only for those who delegate
    from clawft.policy.delegation import Target

    missing = app.desk.missing(app.caller)
    for target, is_on in ((Target.CLAUDE, told.claude_enabled), (Target.OPENAI, told.openai_enabled)):
        if is_on and target in missing:
            yield warn("delegation", f"{target.value}: {missing[target]}", "weft agent --explain -p TASK")
        elif is_on:
            yield ok("delegation", f"{target.value} can take tasks")
    for problem in problems(told.rules):
        yield warn("delegation", problem, "correct delegation.rules")


def web_search(app: App) -> Iterator[Finding]:
    settings = app.settings
    if not settings.builtin:
        return
    if settings.search_url:
        yield ok("web search", settings.search_url)
    else:
        hint = f'[web] search_url = "https://…/search" in {user_file(settings.home)}, the address of a SearXNG'
        yield warn("web search", "web__search is not offered: no search engine is configured", hint)


def providers(app: App) -> Iterator[Finding]:
    for problem in app.problems:
        yield fail("provider", problem, "update or uninstall the package this entry point belongs to")


# ── servers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def servers(app: App) -> Iterator[Finding]:
    """What the files say; nothing is started."""
    if not app.files.name_any:
        return
    from clawft.cli.config import warnings_of  # only where there are servers
    from clawft.config.servers import waits

    known = app.servers
    for name, refused in known.refused.items():
        yield fail("servers", f"{refused.error.message}", refused.error.hint or f"weft servers list shows {name}")
    for name, found in known.waiting.items():
        yield warn("servers", waits(name, found).message, waits(name, found).hint)
    for found in known.found.values():
        yield from (warn("servers", said, hint) for said, hint in warnings_of(found))
        if found.spec.enabled:
            yield _program(found)
            yield from _variables(found)


def _variables(found: Found) -> Iterator[Finding]:
    """What a server refers to and nobody has set: it would not start."""
    from clawft.store.secrets import unset_variables  # loaded with the servers

    spec = found.spec
    for name in unset_variables(*spec.env.values(), *spec.headers.values(), spec.url):
        yield warn("servers", f"{found.origin}: {spec.name} needs the variable {name}", f"export {name}=…")


def _program(found: Found) -> Finding:
    """Does what it starts exist? An address is not asked; `weft servers test` does that."""
    import shutil  # only where there are servers

    from clawft.wire.secrets import mask_url

    spec = found.spec
    if spec.command and shutil.which(spec.command) is None:
        return fail("servers", f"{found.origin}: {spec.name}: {spec.command} is not there", "install it, or correct it")
    return ok(
        "servers", f"{spec.name}: {spec.command or mask_url(spec.url)}; weft servers test {spec.name} connects to it"
    )
