"""What one child may touch, decided from the setting and the folders around it. Pure: nothing is looked up here.

Bounds are a list of rules over paths, and the deepest rule wins: `hide ~/.clawft` and `write ~/.clawft/sandbox/github`
together leave the one folder open in the closed one. Each means of the machine turns the same rules into its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from clawft.policy.secret_places import SECRETS

PathAccess = Literal["hide", "empty", "read", "write", "stay", "near", "link", "bare"]
"""What a child finds at a path.

| access | what is there |
|---|---|
| hide | nothing |
| empty | a private, writable, empty folder |
| read, write | what is really there |
| stay | the same as around it, but it cannot be moved away |
| near | in a hidden folder: what is really there, to be read, if it still is |
| link | in a hidden folder: a link, as it is |
| bare | in a hidden folder: an empty folder of this name |
"""

ANY_HOST = "*"

MOVED = (
    "AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AZURE_CONFIG_DIR BOTO_CONFIG CLOUDSDK_CONFIG DOCKER_CONFIG "
    "GH_CONFIG_DIR GNUPGHOME GOOGLE_APPLICATION_CREDENTIALS HF_TOKEN_PATH HISTFILE KUBECONFIG NETRC "
    "PASSWORD_STORE_DIR PGPASSFILE SOPS_AGE_KEY_FILE SSH_AUTH_SOCK TF_CLI_CONFIG_FILE XAUTHORITY"
).split()
"""Variables of ours that say where secrets lie, if not where they usually do."""

DECIDING = (
    ".git/hooks .git/config .git/config.worktree .git/commondir .clawft .mcp.json .husky .vscode/tasks.json "
    ".vscode/settings.json .vscode/launch.json .vscode/mcp.json .cursor/mcp.json .cursor/hooks.json "
    ".claude/settings.json .claude/settings.local.json .claude/hooks .gemini/settings.json .codex/config.toml "
    ".zed/settings.json .zed/tasks.json .kiro/settings/mcp.json .roo/mcp.json .qwen/settings.json .amazonq/mcp.json "
    ".junie/mcp/mcp.json .trae/mcp.json .windsurf/mcp.json .continue/mcpServers opencode.json opencode.jsonc "
    ".devcontainer .devcontainer.json .idea/workspace.xml .idea/runConfigurations"
).split()
"""In the workspace: what decides which programs run later, and outside of any sandbox."""

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - where the system keeps them; a child gets its own in their place
SYSTEM = tuple(f"/{name}" for name in "bin boot dev etc lib lib64 proc run sbin sys usr var/lib".split())
HOMES = ("/home", "/root")
"""Where people have theirs."""
RUNNING = "/run"
"""Sockets of other programs: whoever reaches a session bus or a container daemon has left every sandbox."""
NAME_LOOKUP = (
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/run/nscd",
    "/run/current-system",
    "/run/opengl-driver",
)
"""Read even so: without the first four no name is resolved; the others are where one system keeps its programs."""


class SandboxTable(Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody allows a server, as it is written: paths below the workspace, `~`, or absolute; hosts."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    require: bool = False


class PathRule(Struct, frozen=True):
    path: str
    access: PathAccess


class FoldersAround(Struct, frozen=True):
    """The folders a setting speaks about. All absolute, no symlinks in them."""

    home: str
    state: str
    """Our own folder, with everybody's tokens in it."""
    workspace: str
    cwd: str
    own: str
    """What the child may fill as it likes: its cache."""
    program: tuple[str, ...] = ()
    """Where the program lies."""
    named: tuple[str, ...] = ()
    """Folders its command line names: what it was told to work on."""
    kept: tuple[str, ...] = tuple(DECIDING)
    """What of the workspace it may read only."""
    secrets: tuple[str, ...] = SECRETS
    """Names below the home folder; those that are there, where somebody has looked."""
    moved: tuple[str, ...] = ()
    """Secrets that lie elsewhere."""
    of_system: tuple[str, ...] = ()
    """Secrets of the machine that the child could open, as it runs for root."""


class Bounds(Struct, frozen=True):
    rules: tuple[PathRule, ...]
    """Shallow before deep."""
    network: tuple[str, ...] = (ANY_HOST,)
    """Hosts; `*` is any."""
    required: bool = False
    """Rather not start at all than without."""
    own: str = ""
    workspace: str = ""
    """Where links are not followed: a server may have put them there."""
    home: str = ""
    """The home of whoever a child runs for, if it runs so long that new secrets may appear there; else empty."""

    @property
    def any_host(self) -> bool:
        return ANY_HOST in self.network

    @property
    def some_hosts(self) -> bool:
        return bool(self.network) and not self.any_host


def bounds_of(setting: str | SandboxTable, around: FoldersAround) -> Bounds | None:
    """None: no bounds at all."""
    if setting == "off":
        return None
    if isinstance(setting, SandboxTable):
        read, write = _absolute(setting.read, around), _absolute(setting.write, around)
        return _closed(around, (*_named(around), *read), write, setting.network, setting.require)
    if setting == "strict":
        return _closed(around, (), _work(around), (), required=False)
    return _open(around, required=setting == "require")


def _open(around: FoldersAround, *, required: bool) -> Bounds:
    """Everything may be read but secrets, the home folder too wherever it lies; written is the workspace."""
    rules = _rules(around, (), (around.home,), _work(around))
    return Bounds(rules, required=required, own=around.own, workspace=around.workspace)


def _closed(
    around: FoldersAround, read: tuple[str, ...], write: tuple[str, ...], network: tuple[str, ...], required: bool
) -> Bounds:
    """No home and no network but what is named; the system's own folders may be read."""
    rules = _rules(around, (*HOMES, around.home), read, write)
    return Bounds(rules, network, required, around.own, around.workspace)


def with_rules(bounds: Bounds, rules: Iterable[PathRule]) -> Bounds:
    """The bounds with further rules, which count where there are others for a path already."""
    of_path = {rule.path: rule for rule in (*bounds.rules, *rules)}
    return msgspec.structs.replace(bounds, rules=tuple(of_path[path] for path in sorted(of_path, key=by_depth)))


def _work(around: FoldersAround) -> tuple[str, ...]:
    """The workspace, and what the command line names; never a whole home, a secret, a folder of the system or of what
    decides about later runs.
    """
    kept = frozenset((*SYSTEM, *_secrets(around), *_deciding(around)))
    folders = (around.workspace, around.cwd, *around.named)
    free = (folder for folder in folders if kept.isdisjoint((folder, *_above(folder))))
    return tuple(folder for folder in free if may_be_opened(folder, around.home))


def _named(around: FoldersAround) -> tuple[str, ...]:
    """What the command line names, but for secrets: those a table has to name itself."""
    secrets = frozenset(_secrets(around))
    return tuple(folder for folder in around.named if secrets.isdisjoint((folder, *_above(folder))))


def _deciding(around: FoldersAround) -> tuple[str, ...]:
    return tuple(f"{around.workspace}/{name}" for name in around.kept)


def _secrets(around: FoldersAround) -> tuple[str, ...]:
    moved = (path for path in around.moved if _may_be_hidden(path, around))
    return (*(f"{around.home}/{name}" for name in around.secrets), around.state, *moved, *around.of_system)


def _may_be_hidden(path: str, around: FoldersAround) -> bool:
    """A variable may say anything: nothing is hidden that is a part of the system or that the child works in."""
    needed = (around.home, around.workspace, around.cwd, *around.program)
    return not any(is_within(path, each) for each in SYSTEM) and not any(is_within(each, path) for each in needed)


def may_be_opened(folder: str, home: str) -> bool:
    """A workspace that is, or holds, the home folder would open everything that decides what runs at the next login."""
    return folder != "/" and not is_within(home, folder)


def _rules(
    around: FoldersAround, hidden: Iterable[str], read: Sequence[str], write: Sequence[str]
) -> tuple[PathRule, ...]:
    """Of two rules for one path the later counts. One that says what the rule around it says already is left out."""
    access: dict[str, PathAccess] = {"/": "read", **dict.fromkeys(_staying(around), "stay")}
    access.update(dict.fromkeys((RUNNING, *hidden), "hide"))
    access.update(dict.fromkeys(TEMPORARY, "empty"))
    access.update(dict.fromkeys((*NAME_LOOKUP, *around.program, *_cwd(around), *_deciding(around)), "read"))
    access.update(dict.fromkeys(_secrets(around), "hide"))
    access.update(dict.fromkeys(read, "read"))
    access.update(dict.fromkeys((*write, around.own), "write"))
    taken_back, asked = frozenset(_deciding(around)), frozenset(read)
    rules: dict[str, PathAccess] = {}
    for path in sorted(filter(None, access), key=by_depth):
        here, outer = access[path], around_it(path, rules)
        if here != outer and (here != "read" or path in asked or (outer == "write") == (path in taken_back)):
            rules[path] = here
    return tuple(PathRule(path, rules[path]) for path in rules)


def around_it(path: str, known: Mapping[str, PathAccess]) -> PathAccess:
    """What is said about the folder a path lies in."""
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        found = known.get(path, "stay")
        if found != "stay":
            return found
    return "hide"


def _above(path: str) -> Iterator[str]:
    """The folders a path lies in, the nearest first."""
    while path not in ("", "/"):
        path = path.rpartition("/")[0]
        yield path or "/"


def _staying(around: FoldersAround) -> list[str]:
    """Folders with something in them that is kept: moved away, they would make room for others."""
    outer = dict.fromkeys(folder for name in around.kept for folder in _above(f"/{name}") if folder != "/")
    return [f"{around.workspace}{folder}" for folder in outer]


def _cwd(around: FoldersAround) -> tuple[str, ...]:
    return (around.cwd,) if may_be_opened(around.cwd, around.home) else ()


def by_depth(path: str) -> tuple[int, str]:
    return (path.count("/"), path) if path != "/" else (0, path)


def _absolute(paths: Iterable[str], around: FoldersAround) -> tuple[str, ...]:
    return tuple(expand(path, around.home, around.workspace) for path in paths)


def expand(path: str, home: str, workspace: str) -> str:
    """`~` is the home folder; what is not absolute is below the workspace. Dots are folded."""
    import posixpath  # the rules are of POSIX systems, whoever reads them

    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return posixpath.normpath(posixpath.join(workspace, path))


def is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def access_to(path: str, rules: Iterable[PathRule]) -> PathAccess:
    """What the rules say about a path: the deepest that covers it."""
    found: PathAccess = "hide"
    for rule in rules:  # shallow before deep
        if rule.access != "stay" and is_within(path, rule.path):
            found = rule.access
    return found
