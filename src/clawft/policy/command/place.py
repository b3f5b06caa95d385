"""Finds the file or folder that a word of a command line names, by its text alone.

A place is a normalised path: `/…`, `~/…` (any home folder, however it is spelled) or relative, without dots and doubled
slashes. A trailing glob is dropped, as what happens to all contents of a folder counts as happening to the folder.
"""

import re
from collections.abc import Sequence
from typing import Literal

from clawft.policy.globs import is_glob, may_match
from clawft.policy.secret_places import CREDENTIALS, HARMLESS, SECRET_ANYWHERE

MAX_PLACE = 4096
WORKSPACE_DEPTH = 4
"""A path with this many leading `..` is taken to reach the root, as from `/home/me/work/project`."""

PlaceKind = Literal["root", "system", "home", "maybe-root", "other"]

_SYSTEM = frozenset(
    "bin boot dev etc home lib lib32 lib64 opt private proc root sbin srv sys usr var Applications Library System Users"
    " Volumes".split()
)
_DEEP_SYSTEM = frozenset({"/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin", "/usr/share", "/usr/local", "/var/lib"})
_HOMES = frozenset({"home", "Users"})
_MAYBE_EMPTY = re.compile(r"\$\{[^{}?]*\}|\$\(…\)")
_DISK = re.compile(r"/dev/(?:r?disk|sd|hd|vd|xvd|nvme|mmcblk|dm-|md|loop|nbd|zd|mapper/|k?mem$|port$|block/|root$)")

_COPIED = "|".join(re.escape(name).replace(r"\*", "[^/]*") for name in SECRET_ANYWHERE)
_SECRET = re.compile(rf"(?:^|/)(?:{_COPIED})$|^/etc/g?shadow-?$|^/proc/[^/]+/environ$")
_DEEPEST = max(name.count("/") for name in (*CREDENTIALS, *HARMLESS)) + 1
_FIRST = frozenset(name.partition("/")[0] for name in CREDENTIALS)
_BELOW = {first: [name.split("/")[1:] for name in CREDENTIALS if name.split("/")[0] == first] for first in _FIRST}
"""First part of a credential path → the remaining parts of each path that begins with it."""
_STARTUP = re.compile(
    r"~/(?:\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|kshrc|cshrc|tcshrc|login"
    r"|xprofile|xinitrc|xsession|pam_environment)|\.ssh/(?:authorized_keys2?|rc|config)|Library/LaunchAgents/.*"
    r"|\.config/(?:autostart|systemd/user|fish/conf\.d)(?:/.*)?|\.config/fish/config\.fish)"
    r"|/etc/(?:passwd|shadow|group|sudoers|profile|bash\.bashrc|crontab|rc\.local|ld\.so\.preload|ssh/sshd_config"
    r"|(?:sudoers\.d|profile\.d|pam\.d|cron\.[a-z]+|init\.d|systemd/system)/.*)|/var/spool/cron/.*"
    r"|/Library/Launch(?:Agents|Daemons)/.*"
)


def place(word: str, folder: str = "") -> str:
    """The normalised path of a word, for a command that runs in `folder` (itself a place, or "" if unknown)."""
    if len(word) > MAX_PLACE:
        return word
    path = word if not folder or word[:1] in ("/", "~", "$") else f"{folder}/{word}"
    top = path[:1] if path.startswith(("/", "~")) else ""
    parts: list[str] = []
    for part in path.split("/")[1 if top == "~" else 0 :]:
        top, parts = _step(top, parts, part)
    while parts and is_glob(parts[-1]) and not parts[-1].strip("*?.[]!^"):
        parts.pop()
    return _spelled(top, parts)


def _step(top: str, parts: list[str], part: str) -> tuple[str, list[str]]:
    if part in ("", "."):
        return top, parts
    if part != "..":
        parts.append(part)
    elif parts and parts[-1] != "..":
        parts.pop()
    elif top == "~":
        return "/", ["home"]
    elif not top:
        parts.append(part)
    return top, parts


def _spelled(top: str, parts: list[str]) -> str:
    if top == "/" and parts[:1] == ["proc"] and parts[2:3] == ["root"]:  # what a process takes for its root is ours
        return _spelled(top, parts[3:])
    if top == "/" and parts[:1] == ["root"]:
        return "/".join(["~", *parts[1:]])
    if top == "/" and len(parts) > 1 and parts[0] in _HOMES:
        return "/".join(["~", *parts[2:]])
    return "/".join(["~", *parts]) if top == "~" else top + "/".join(parts)


def without_unknown(word: str) -> str:
    """The word with every unknown part (`${NAME}`, the output of a command) taken as empty."""
    return _MAYBE_EMPTY.sub("", word) if "$" in word else word


def kind_of(word: str, folder: str = "") -> PlaceKind:
    """How much would be lost with this place."""
    at_least = without_unknown(word)
    if at_least != word:
        return "maybe-root" if at_least and _kind(at_least, folder) != "other" else "other"
    return _kind(word, folder)


def _kind(word: str, folder: str) -> PlaceKind:
    where = _from_root(place(word, folder))
    if where == "~":
        return "home"
    if not where.startswith("/"):
        return "other"
    first, _, rest = where[1:].partition("/")
    if not first or is_glob(first):
        return "root"
    return "system" if where in _DEEP_SYSTEM or (not rest and first in _SYSTEM) else "other"


def _from_root(where: str) -> str:
    steps = f"{where}/".split("/", WORKSPACE_DEPTH)
    return place("/" + steps[-1]) if steps[:-1] == [".."] * WORKSPACE_DEPTH else where


def is_disk(word: str, folder: str = "") -> bool:
    """Whether it is a block device or the memory itself, where writing destroys the contents."""
    where = place(word, folder)
    return where.startswith("/dev/") and (_DISK.match(where) is not None or is_glob(where))


def is_secret(word: str, folder: str = "") -> bool:
    """Whether it is a private key, a credential file, one of our own tokens, or a folder that holds them."""
    if word.endswith(".pub"):
        return False
    where = place(word, folder)
    return _SECRET.search(where) is not None or (where.startswith("~/") and _lets_in(where[2:].split("/")))


def is_startup(word: str, folder: str = "") -> bool:
    """Whether it is a file that runs something at login or on a schedule, or that says who may log in."""
    return _STARTUP.fullmatch(place(word, folder)) is not None


def _lets_in(parts: list[str]) -> bool:
    """Whether a path below a home folder is, or lies in, one that holds credentials and is not on the open list."""
    around = {"/".join(parts[:deep]) for deep in range(1, _DEEPEST + 1)}
    if parts[0][:1] != "." or not HARMLESS.isdisjoint(around):  # no glob matches a leading dot it lacks
        return False
    if any(map(is_glob, parts)):
        first, *rest = parts
        return any(_may_be_in(rest, each) for name, below in _BELOW.items() if may_match(first, name) for each in below)
    return not CREDENTIALS.isdisjoint(around)


def _may_be_in(parts: Sequence[str], folder: Sequence[str]) -> bool:
    return len(parts) >= len(folder) and all(map(may_match, parts, folder))
