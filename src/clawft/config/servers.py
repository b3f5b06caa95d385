"""Merges the servers from four layers of files. Later wins; every server remembers where it came from.

A server with an error is reported and left out; the others go on. One that a workspace names waits for approval:
whoever can write into a workspace must not be able to start programs in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate
from os.path import dirname

import msgspec
from msgspec import Struct

from clawft.config.json_servers import read_json, read_json_file
from clawft.config.layers import EntryOutcome, FoundServer, Layer, RefusedServer, Scope, Sources
from clawft.config.places import (
    GIVEN,
    agent_file,
    expanded,
    is_json,
    is_missing,
    no_such_file,
    servers_folder,
    single_files,
    unlisted,
    user_file,
    workspace_files,
)
from clawft.config.secrecy import read_command, read_url, secrets_in
from clawft.config.toml_servers import is_single_file, read_servers_file, read_settings_file, read_single_file
from clawft.errors import InvalidConfig
from clawft.guard.approval.book import Approvals
from clawft.store.concealed_secrets import keep_concealed_in
from clawft.upstream.spec import UpstreamSpec

IsApproved = Callable[[FoundServer], bool]

LINE_CHARS = 2_000
"""Characters of a command or address in a log line; for approval it is shown completely."""


class Servers(Struct, frozen=True):
    """`found` includes disabled servers; `waiting` are those of the workspace that are not approved."""

    found: Mapping[str, FoundServer] = {}
    refused: Mapping[str, RefusedServer] = {}
    waiting: Mapping[str, FoundServer] = {}

    @property
    def wanted(self) -> dict[str, UpstreamSpec]:
        """The servers to run: the enabled ones."""
        return {
            name: msgspec.structs.replace(found.spec, scope=found.scope.value)
            for name, found in self.found.items()
            if found.spec.enabled
        }


def discover(sources: Sources, approved: IsApproved | None = None) -> Servers:
    """Read all layers; `merged` decides what they mean."""
    servers = merged(_outcomes(sources), approved or approved_in(Approvals(sources.home), sources))
    for found in servers.found.values():  # of waiting servers only masked texts are shown
        keep_concealed_in((*found.spec.args, found.spec.url), secrets_in)
    return servers


def _outcomes(sources: Sources) -> Iterator[EntryOutcome]:
    """Every entry of every layer, the strongest layer last."""
    if not sources.given_only:
        yield from _of_files(sources)
    for text in sources.given:
        yield from _read_given(text, Layer(Scope.COMMAND_LINE, sources))


def _of_files(sources: Sources) -> Iterator[EntryOutcome]:
    user, workspace, agent = (Layer(scope, sources) for scope in (Scope.USER, Scope.WORKSPACE, Scope.AGENT))
    if wrong := unlisted(sources.home):
        folder = str(servers_folder(sources.home))
        yield folder, RefusedServer(wrong, folder)
    for file in single_files(sources.home):
        yield from read_single_file(file, user)
    yield from read_settings_file(user_file(sources.home), user)
    ours, foreign = workspace_files(sources.workspace)
    yield from read_servers_file(ours, workspace)
    yield from read_json_file(foreign, workspace)
    yield from read_settings_file(agent_file(sources.home, sources.agent), agent)


def _read_given(text: str, layer: Layer) -> Iterator[EntryOutcome]:
    """The entries of a value of `--mcp-config`: a file name, or JSON itself."""
    if is_json(text):
        yield from read_json(text.encode(), GIVEN, layer)
        return
    file = expanded(text)
    if is_missing(file):
        yield text, RefusedServer(no_such_file(text), text)
    elif file.suffix != ".toml":
        yield from read_json_file(file, layer)
    elif is_single_file(file):
        yield from read_single_file(file, layer)
    else:
        yield from read_servers_file(file, layer)


def approved_in(book: Approvals, sources: Sources) -> IsApproved:
    """Tells whether a server is approved; loaded on the first use, as most servers are the user's own."""

    @cache
    def known() -> IsApproved:
        from clawft.config.launch_approval import approved_launches  # most servers are the user's own

        return approved_launches(book, sources)

    def approved(found: FoundServer) -> bool:
        return known()(found)

    return approved


def merged(read: Iterable[EntryOutcome], approved: IsApproved) -> Servers:
    """Later entries win, also refused ones: a server that its last layer spoiled is not run as an earlier one had it.

    But what a workspace spoils is its own: the user's server of the same name goes on.
    """
    found: dict[str, FoundServer] = {}
    refused: dict[str, RefusedServer] = {}
    waiting: dict[str, FoundServer] = {}
    for name, outcome in read:
        if isinstance(outcome, FoundServer) and outcome.must_wait and not approved(outcome):
            waiting[name] = outcome  # until approved it changes nothing, not even a server of the same name
            continue
        if isinstance(outcome, RefusedServer) and outcome.is_local and _is_of_user(found.get(name)):
            refused[f"{name} ({outcome.file})"] = msgspec.structs.replace(outcome, own=name)
            continue
        earlier = found.pop(name, None) or waiting.get(name)
        waiting.pop(name, None)
        refused.pop(name, None)
        if isinstance(outcome, RefusedServer):
            refused[name] = outcome
        else:
            found[name] = _beside(earlier, _switched_off(earlier, outcome))
    return Servers(found, refused, waiting)


def is_there_already(waiting: FoundServer, servers: Servers) -> bool:
    """Whether a server of this name runs that starts the same: the user has taken it over from the workspace."""
    used = servers.found.get(waiting.spec.name)
    return used is not None and _started(used) == _started(waiting)


def _started(found: FoundServer) -> tuple[str, tuple[str, ...], str]:
    return found.spec.command, found.spec.args, found.spec.url


def _is_of_user(found: FoundServer | None) -> bool:
    return found is not None and found.scope is not Scope.WORKSPACE


def _switched_off(earlier: FoundServer | None, later: FoundServer) -> FoundServer:
    """The earlier server, disabled, if the later entry only says `enabled = false`."""
    if earlier is None or later.spec.enabled or later.spec.command or later.spec.url:
        return later
    return FoundServer(msgspec.structs.replace(earlier.spec, enabled=False), later.origin, later.scope)


def _beside(earlier: FoundServer | None, later: FoundServer) -> FoundServer:
    """The later server, noting an earlier one from the same folder: two files there are hardly meant to clash."""
    if earlier is None or {earlier.scope, later.scope} != {Scope.USER}:
        return later
    first, second = earlier.origin.file, later.origin.file
    if first == second or dirname(first) != dirname(second):
        return later
    return msgspec.structs.replace(later, instead_of=earlier.origin)


def named_twice(found: FoundServer) -> InvalidConfig | None:
    if found.instead_of is None:
        return None
    return InvalidConfig(
        f"{found.origin}: {found.instead_of.file} describes a server {found.spec.name} too, and is ignored",
        hint="remove one of the two files, or give one another name",
    )


def waits(name: str, found: FoundServer) -> InvalidConfig:
    """The error that says why a workspace server does not run, and how to approve it."""
    from clawft.config.launch_approval import grant_command  # few wait

    return InvalidConfig(
        f"{found.origin}: {name} comes from the workspace and waits for approval to start {_in_a_line(found.spec)}",
        hint=grant_command(name, found),
    )


def _in_a_line(spec: UpstreamSpec) -> str:
    """The launch, short enough for the log: in a workspace it may be as long as its file."""
    kept = sum(1 for end in accumulate(len(word) + 1 for word in spec.args) if end <= LINE_CHARS)
    brief = msgspec.structs.replace(spec, command=spec.command[:LINE_CHARS], args=spec.args[:kept])
    shown = launch_line(brief)
    return shown[:LINE_CHARS] + (" …" if brief != spec or len(shown) > LINE_CHARS else "")


def launch_line(spec: UpstreamSpec) -> str:
    """The command or address of a server, as one line for the person who approves it."""
    return read_command([spec.command, *spec.args]) if spec.command else read_url(spec.url)


def carried(before: Servers, now: Servers, approved: IsApproved) -> Servers:
    """The servers after a change of files: those that cannot be read any more stay as they were.

    Workspace servers stay only if they are approved: breaking the file must not keep what was revoked.
    """
    broken = {refused.file for refused in now.refused.values()}
    kept = {
        name: found
        for name, found in before.found.items()
        if name not in now.found
        and (name in now.refused or found.origin.file in broken)
        and (not found.must_wait or approved(found))
    }
    return Servers({**now.found, **kept}, now.refused, now.waiting)
