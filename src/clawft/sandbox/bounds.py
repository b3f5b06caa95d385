"""Decides what one child may touch, from its sandbox setting and the folders around it. Pure: looks at no disk.

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
"""The state of a path as a child finds it.

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
"""Environment variables that name other places of secrets than the usual ones."""

AUTORUN_FILES = (
    ".git/hooks .git/config .git/config.worktree .git/commondir .clawft .mcp.json .husky .vscode/tasks.json "
    ".vscode/settings.json .vscode/launch.json .vscode/mcp.json .cursor/mcp.json .cursor/hooks.json "
    ".claude/settings.json .claude/settings.local.json .claude/hooks .gemini/settings.json .codex/config.toml "
    ".zed/settings.json .zed/tasks.json .kiro/settings/mcp.json .roo/mcp.json .qwen/settings.json .amazonq/mcp.json "
    ".junie/mcp/mcp.json .trae/mcp.json .windsurf/mcp.json .continue/mcpServers opencode.json opencode.jsonc "
    ".devcontainer .devcontainer.json .idea/workspace.xml .idea/runConfigurations .run .fleet/run.json "
    ".hg/hgrc .sl/config .jj/repo/config.toml .vs/tasks.vs.json .vs/launch.vs.json .theia/tasks.json "
    ".theia/launch.json .helix/languages.toml .helix/config.toml .kilocode/mcp.json .factory/mcp.json "
    ".amp/settings.json crush.json .crush.json"
).split()
"""Names in a workspace that decide which programs run later, outside of any sandbox."""

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - where the system keeps them; a child gets its own in their place
SYSTEM = tuple(f"/{name}" for name in "bin boot dev etc lib lib64 proc run sbin sys usr var/lib".split())
HOMES = ("/home", "/root")
"""Where people have their home folders."""
RUNNING = "/run"
"""Holds sockets of other programs: a child that reaches a session bus or a container daemon has left its sandbox."""
NAME_LOOKUP = (
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/run/nscd",
    "/run/current-system",
    "/run/opengl-driver",
)
"""Readable parts of it: the first four resolve host names; on one system the others hold programs."""


class SandboxTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The `sandbox` table of a server as written: paths below the workspace, `~`, or absolute; hosts."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    require: bool = False


class PathRule(Struct, frozen=True):
    path: str
    access: PathAccess


class FoldersAround(Struct, frozen=True):
    """The folders a setting refers to. All are absolute, without symlinks."""

    home: str
    state: str
    """Our own folder, with all tokens in it."""
    workspace: str
    cwd: str
    own: str
    """The child's private folder for caches."""
    program: tuple[str, ...] = ()
    """Folders the program lies in."""
    named: tuple[str, ...] = ()
    """Folders named on the command line, to work on."""
    kept: tuple[str, ...] = tuple(AUTORUN_FILES)
    """Names in the workspace that the child may only read."""
    weft: tuple[str, ...] = ()
    """Folders with our own program, which it may only read, too, wherever they lie."""
    secrets: tuple[str, ...] = SECRETS
    """Names of secrets below the home folder; only existing ones, where the disk was looked at."""
    moved: tuple[str, ...] = ()
    """Secrets that lie elsewhere."""
    of_system: tuple[str, ...] = ()
    """Secrets of the machine that the child could open, as it runs as root."""


class Bounds(Struct, frozen=True):
    rules: tuple[PathRule, ...]
    """Sorted from shallow to deep."""
    network: tuple[str, ...] = (ANY_HOST,)
    """Hosts; `*` is any."""
    required: bool = False
    """Fail to start if these bounds cannot be kept."""
    own: str = ""
    workspace: str = ""
    """Links in here are not followed: a server may have made them."""
    home: str = ""
    """The user's home folder, if the child runs so long that new secrets may appear there; else empty."""

    @property
    def any_host(self) -> bool:
        return ANY_HOST in self.network

    @property
    def some_hosts(self) -> bool:
        return bool(self.network) and not self.any_host


def bounds_of(setting: str | SandboxTable, around: FoldersAround) -> Bounds | None:
    """The bounds for a setting; None for no bounds."""
    if setting == "off":
        return None
    if isinstance(setting, SandboxTable):
        read, write = _absolute(setting.read, around), _absolute(setting.write, around)
        return _closed(around, (*_named(around), *read), write, setting.network, setting.require)
    if setting == "strict":
        return _closed(around, (), _work(around), (), required=False)
    return _open(around, required=setting == "require")


def _open(around: FoldersAround, *, required: bool) -> Bounds:
    """Reads everything but secrets, including the home folder wherever it lies; writes only the workspace."""
    rules = _rules(around, (), (around.home,), _work(around))
    return Bounds(rules, required=required, own=around.own, workspace=around.workspace)


def _closed(
    around: FoldersAround, read: tuple[str, ...], write: tuple[str, ...], network: tuple[str, ...], required: bool
) -> Bounds:
    """Reads the system's folders; of the home folder, the network and the rest only what is named."""
    rules = _rules(around, (*HOMES, around.home), read, write)
    return Bounds(rules, network, required, around.own, around.workspace)


def with_rules(bounds: Bounds, rules: Iterable[PathRule]) -> Bounds:
    """The bounds with further rules, which replace earlier ones for the same path."""
    of_path = {rule.path: rule for rule in (*bounds.rules, *rules)}
    return msgspec.structs.replace(bounds, rules=tuple(of_path[path] for path in sorted(of_path, key=by_depth)))


def _work(around: FoldersAround) -> tuple[str, ...]:
    """The workspace and what the command line names, without a whole home folder, secrets, and folders of the system or
    of what decides about later runs.
    """
    kept = frozenset((*SYSTEM, *_secrets(around), *_autorun_files(around)))
    folders = (around.workspace, around.cwd, *around.named)
    free = (folder for folder in folders if kept.isdisjoint((folder, *_above(folder))))
    return tuple(folder for folder in free if may_be_opened(folder, around.home))


def _named(around: FoldersAround) -> tuple[str, ...]:
    """Folders the command line names, without secrets: a table has to name those itself."""
    secrets = frozenset(_secrets(around))
    return tuple(folder for folder in around.named if secrets.isdisjoint((folder, *_above(folder))))


def _autorun_files(around: FoldersAround) -> tuple[str, ...]:
    return tuple(f"{around.workspace}/{name}" for name in around.kept)


def _secrets(around: FoldersAround) -> tuple[str, ...]:
    moved = (path for path in around.moved if _may_be_hidden(path, around))
    return (*(f"{around.home}/{name}" for name in around.secrets), around.state, *moved, *around.of_system)


def _may_be_hidden(path: str, around: FoldersAround) -> bool:
    """Whether a path from a variable may be hidden: not if the system or the child needs it."""
    needed = (around.home, around.workspace, around.cwd, *around.program)
    return not any(is_within(path, each) for each in SYSTEM) and not any(is_within(each, path) for each in needed)


def may_be_opened(folder: str, home: str) -> bool:
    """Whether a folder may be opened whole: not if it is or holds the home folder, with all that runs at logins."""
    return folder != "/" and not is_within(home, folder)


def _rules(
    around: FoldersAround, hidden: Iterable[str], read: Sequence[str], write: Sequence[str]
) -> tuple[PathRule, ...]:
    """The rules in order. The later of two for one path counts; one that only repeats the one around it is left out."""
    above_weft = _above_weft(around)
    access: dict[str, PathAccess] = {"/": "read", **dict.fromkeys((*above_weft, *_staying(around)), "stay")}
    access.update(dict.fromkeys((RUNNING, *hidden), "hide"))
    access.update(dict.fromkeys(TEMPORARY, "empty"))
    access.update(dict.fromkeys((*NAME_LOOKUP, *around.program, *_cwd(around), *_autorun_files(around)), "read"))
    access.update(dict.fromkeys(_secrets(around), "hide"))
    access.update(dict.fromkeys(read, "read"))
    access.update(dict.fromkeys((*write, around.own), "write"))
    access.update(dict.fromkeys(around.weft, "read"))
    asked = frozenset(read)
    taken_back = frozenset((*_autorun_files(around), *around.weft, *above_weft))
    only_there = taken_back - {*around.program}
    rules: dict[str, PathAccess] = {}
    for path in sorted(filter(None, access), key=by_depth):
        here, outer = access[path], around_it(path, rules)
        depends = here == "read" or (here == "stay" and path in above_weft)
        counts = path in taken_back if outer == "write" else path not in only_there
        if here != outer and (not depends or path in asked or counts):
            rules[path] = here
    return tuple(PathRule(path, rules[path]) for path in rules)


def _above_weft(around: FoldersAround) -> frozenset[str]:
    """If one of these were moved away, a new one could be put in its place, with another program in it."""
    return frozenset(above for folder in around.weft for above in _above(folder)) - {"/"}


def around_it(path: str, known: Mapping[str, PathAccess]) -> PathAccess:
    """The access the rules give to the folder around a path."""
    while path != "/":
        path = path.rpartition("/")[0] or "/"
        found = known.get(path, "stay")
        if found != "stay":
            return found
    return "hide"


def _above(path: str) -> Iterator[str]:
    """The folders a path lies in, the innermost first."""
    while path not in ("", "/"):
        path = path.rpartition("/")[0]
        yield path or "/"


def _staying(around: FoldersAround) -> list[str]:
    """Folders with protected files in them: if one were moved away, a new one could be put in its place."""
    outer = dict.fromkeys(folder for name in around.kept for folder in _above(f"/{name}") if folder != "/")
    return [f"{around.workspace}{folder}" for folder in outer]


def _cwd(around: FoldersAround) -> tuple[str, ...]:
    return (around.cwd,) if may_be_opened(around.cwd, around.home) else ()


def by_depth(path: str) -> tuple[int, str]:
    return (path.count("/"), path) if path != "/" else (0, path)


def _absolute(paths: Iterable[str], around: FoldersAround) -> tuple[str, ...]:
    return tuple(expand(path, around.home, around.workspace) for path in paths)


def expand(path: str, home: str, workspace: str) -> str:
    """The absolute path of an entry: `~` is the home folder, relative paths are below the workspace; `..` is folded."""
    import posixpath  # the rules are of POSIX systems, also when read on Windows

    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return posixpath.normpath(posixpath.join(workspace, path))


def is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def access_to(path: str, rules: Iterable[PathRule]) -> PathAccess:
    """The access the rules give to a path; the deepest rule that covers it decides."""
    found: PathAccess = "hide"
    for rule in rules:  # shallow before deep
        if rule.access != "stay" and is_within(path, rule.path):
            found = rule.access
    return found
