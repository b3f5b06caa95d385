"""What one child may touch, decided from the setting and the folders around it. Pure: nothing is looked up here.

Bounds are a list of rules over paths, and the deepest rule wins: `hide ~/.clawft` and `write ~/.clawft/sandbox/github`
together leave the one folder open in the closed one. Each means of the machine turns the same rules into its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

Access = Literal["hide", "empty", "read", "write"]
"""`empty`: a private, writable, empty folder in its place."""
Setting = Literal["auto", "off", "strict", "require"]

ANY_HOST = "*"

SECRETS = (
    ".ssh .aws .gnupg .azure .kube .docker .password-store .vault-token .terraform.d .netrc .git-credentials .pypirc "
    ".config/gcloud .config/gh .config/op .config/rclone .config/sops .config/containers .local/share/keyrings "
    ".claude/.credentials.json .codex/auth.json .mozilla .thunderbird .config/google-chrome .config/chromium "
    ".config/BraveSoftware .config/microsoft-edge .cargo/credentials.toml .cargo/credentials .config/git/credentials "
    ".bash_history .zsh_history .python_history .psql_history"
).split()
"""Below the home folder: what a server has no business with unless its table names it."""

DECIDING = (".git/hooks", ".git/config", ".clawft", ".mcp.json")
"""In the workspace: what decides which programs run later, and outside of any sandbox."""

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - where the system keeps them; a child gets its own in their place
SYSTEM = tuple(f"/{name}" for name in "bin boot dev etc lib lib64 proc run sbin sys usr var/lib".split())
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


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody allows a server, as it is written: paths below the workspace, `~`, or absolute; hosts."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    require: bool = False


class Rule(Struct, frozen=True):
    path: str
    access: Access


class Around(Struct, frozen=True):
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
    kept: tuple[str, ...] = DECIDING
    """What of the workspace it may read only."""


class Bounds(Struct, frozen=True):
    rules: tuple[Rule, ...]
    """Shallow before deep."""
    network: tuple[str, ...] = (ANY_HOST,)
    """Hosts; `*` is any."""
    required: bool = False
    """Rather not start at all than without."""
    own: str = ""

    @property
    def any_host(self) -> bool:
        return ANY_HOST in self.network

    @property
    def some_hosts(self) -> bool:
        return bool(self.network) and not self.any_host


def bounds_of(setting: str | Table, around: Around) -> Bounds | None:
    """None: no bounds at all."""
    if setting == "off":
        return None
    if isinstance(setting, Table):
        read, write = _absolute(setting.read, around), _absolute(setting.write, around)
        return _closed(around, (*around.named, *read), write, setting.network, setting.require)
    if setting == "strict":
        return _closed(around, _deciding(around), _work(around), (), required=False)
    return _open(around, required=setting == "require")


def _open(around: Around, *, required: bool) -> Bounds:
    """Everything may be read but secrets, the home folder too wherever it lies; written is the workspace."""
    return Bounds(
        _rules(around, (), (around.home, *_deciding(around)), _work(around)), required=required, own=around.own
    )


def _closed(
    around: Around, read: tuple[str, ...], write: tuple[str, ...], network: tuple[str, ...], required: bool
) -> Bounds:
    """No home and no network but what is named; the system's own folders may be read."""
    return Bounds(_rules(around, ("/home", "/root", around.home), read, write), network, required, around.own)


def with_rules(bounds: Bounds, rules: Iterable[Rule]) -> Bounds:
    """The same with further rules, which count where it has others for the same path."""
    of_path = {rule.path: rule for rule in (*bounds.rules, *rules)}
    return msgspec.structs.replace(bounds, rules=tuple(of_path[path] for path in sorted(of_path, key=_depth)))


def _work(around: Around) -> tuple[str, ...]:
    """The workspace, and what the command line names; never a whole home, a secret or a folder of the system."""
    folders = (around.workspace, around.cwd, *around.named)
    return tuple(folder for folder in folders if may_be_opened(folder, around.home) and not _is_kept(folder, around))


def _deciding(around: Around) -> tuple[str, ...]:
    return tuple(f"{around.workspace}/{name}" for name in around.kept)


def _is_kept(path: str, around: Around) -> bool:
    return not {path, *_above(path)}.isdisjoint((*SYSTEM, *_secrets(around)))


def _secrets(around: Around) -> tuple[str, ...]:
    return (*(f"{around.home}/{name}" for name in SECRETS), around.state)


def may_be_opened(folder: str, home: str) -> bool:
    """A workspace that is, or holds, the home folder would open everything that decides what runs at the next login."""
    return folder != "/" and not is_within(home, folder)


def _rules(around: Around, hidden: Iterable[str], read: Sequence[str], write: Sequence[str]) -> tuple[Rule, ...]:
    """Of two rules for one path the later counts. One that says what the rule around it says already is left out."""
    access: dict[str, Access] = {"/": "read"}
    access.update(dict.fromkeys((RUNNING, *hidden), "hide"))
    access.update(dict.fromkeys(TEMPORARY, "empty"))
    access.update(dict.fromkeys((*NAME_LOOKUP, *around.program, *_cwd(around)), "read"))
    access.update(dict.fromkeys(_secrets(around), "hide"))
    access.update(dict.fromkeys(read, "read"))
    access.update(dict.fromkeys((*write, around.own), "write"))
    rules: dict[str, Access] = {}
    for path in sorted(filter(None, access), key=_depth):
        around_it = _access_above(path, rules)
        told = path in read
        if around_it != access[path] and (told or access[path] != "read" or around_it != "write"):
            rules[path] = access[path]
    return tuple(Rule(path, wanted) for path, wanted in rules.items())


def _access_above(path: str, rules: Mapping[str, Access]) -> Access:
    """What holds for a path by the rules around it."""
    for folder in _above(path):
        if folder in rules:
            return rules[folder]
    return "hide"


def _above(path: str) -> Iterator[str]:
    """The folders a path lies in, the nearest first."""
    while path:
        path = path.rpartition("/")[0]
        yield path or "/"


def _cwd(around: Around) -> tuple[str, ...]:
    return (around.cwd,) if may_be_opened(around.cwd, around.home) else ()


def _depth(path: str) -> tuple[int, str]:
    return path.rstrip("/").count("/"), path


def _absolute(paths: Iterable[str], around: Around) -> tuple[str, ...]:
    return tuple(expand(path, around.home, around.workspace) for path in paths)


def expand(path: str, home: str, workspace: str) -> str:
    """`~` is the home folder; what is not absolute is below the workspace. Dots are folded."""
    import posixpath  # the rules are of POSIX systems, whoever reads them

    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return posixpath.normpath(posixpath.join(workspace, path))


def is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def access_to(path: str, rules: Iterable[Rule]) -> Access:
    """What the rules say about a path: the deepest that covers it."""
    found: Access = "hide"
    for rule in rules:  # shallow before deep
        if is_within(path, rule.path):
            found = rule.access
    return found
