"""Disarms the configuration of an untrusted repository, which could make git start programs.

The configuration stays in force, but not the programs in it: fixed keys are overridden on every run, keys with a name
of the repository's own choosing are looked up and overridden by that name, and keys that cannot be made harmless are
refused by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Flag, auto

from msgspec import Struct

from clawft.builtin.trust import list_file
from clawft.errors import PermissionDenied

OWN_SCOPES = ("local", "worktree")


class GitWork(Flag):
    """The work a tool is about to do, besides looking at the repository."""

    LOOK = 0
    NETWORK = auto()
    MERGE = auto()


FIXED: Mapping[str, str] = {
    "checkout.workers": "1",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": ":",
    "core.askPass": "",
    "core.attributesFile": "/dev/null",
    "core.bigFileThreshold": "512m",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "commit.gpgSign": "false",
    "credential.helper": "",
    "diff.external": "",
    "diff.orderFile": "/dev/null",
    "fetch.recurseSubmodules": "false",
    "http.followRedirects": "false",
    "http.sslVerify": "true",
    "log.showSignature": "false",
    "mailmap.file": "/dev/null",
    "merge.verifySignatures": "false",
    "pack.threads": "0",
    "protocol.ext.allow": "never",
    "push.gpgSign": "false",
    "push.recurseSubmodules": "no",
    "sequence.editor": ":",
    "ssh.variant": "ssh",
    "submodule.recurse": "false",
    "tag.forceSignAnnotated": "false",
    "tag.gpgSign": "false",
}
"""Overrides in every untrusted repository, for keys that start programs, set how many, or make git hang."""

MAX_OVERRIDDEN_BYTES = 64 * 1024
"""Size of the names of overridden keys: they are passed in the environment, which has little room."""

NEVER = "$^"
"""A pattern that matches nothing. Others can take all memory when they are compiled."""

BY_NAME: Mapping[str, str] = {
    "filter.*.clean": "",
    "filter.*.smudge": "",
    "filter.*.process": "",
    "filter.*.required": "false",
    "diff.*.command": "",
    "diff.*.textconv": "",
    "diff.*.funcname": NEVER,
    "diff.*.xfuncname": NEVER,
    "credential.*.helper": "",
    "core.excludesfile": "/dev/null",
}
"""Overrides for such keys wherever the repository sets them."""

REFUSED: Mapping[str, GitWork] = {
    "include.path": GitWork.LOOK,
    "includeif.*.path": GitWork.LOOK,
    "hook.*": GitWork.LOOK,
    "core.alternaterefscommand": GitWork.NETWORK,
    "core.gitproxy": GitWork.NETWORK,
    "fetch.bundleuri": GitWork.NETWORK,
    "fetch.fsck.skiplist": GitWork.NETWORK,
    "http.*": GitWork.NETWORK,
    "remote.*.proxy": GitWork.NETWORK,
    "remote.*.proxyauthmethod": GitWork.NETWORK,
    "remote.*.receivepack": GitWork.NETWORK,
    "remote.*.uploadpack": GitWork.NETWORK,
    "remote.*.vcs": GitWork.NETWORK,
    "url.*.insteadof": GitWork.NETWORK,
    "url.*.pushinsteadof": GitWork.NETWORK,
    "branch.*.mergeoptions": GitWork.MERGE,
    "gpg.program": GitWork.MERGE,
    "gpg.*.program": GitWork.MERGE,
    "merge.*.driver": GitWork.MERGE,
    "pull.octopus": GitWork.MERGE,
    "pull.twohead": GitWork.MERGE,
}
"""Keys that cannot be made harmless, and the work that is refused then; LOOK means any."""

HARMLESS = frozenset({"http.postbuffer", "http.version", "http.lowspeedlimit", "http.lowspeedtime"})


class ConfigFindings(Struct, frozen=True):
    """The dangerous keys in a repository's own configuration."""

    overridden: Mapping[str, str]
    refused: Mapping[str, GitWork]


def read_listing(listing: bytes) -> list[str]:
    """The keys that the repository itself sets, from `git config --list -z --show-scope`."""
    words = listing.decode("utf-8", "surrogateescape").split("\0")
    pairs = zip(words[::2], words[1::2], strict=False)
    return [entry.partition("\n")[0] for scope, entry in pairs if scope in OWN_SCOPES]


def find(keys: Iterable[str]) -> ConfigFindings:
    overridden: dict[str, str] = {}
    refused: dict[str, GitWork] = {}
    for key in keys:
        for form in forms(key):
            if form in BY_NAME:
                overridden[key] = BY_NAME[form]
            elif form in REFUSED and key not in HARMLESS:
                refused[key] = REFUSED[form]
    return ConfigFindings(overridden, refused)


def forms(key: str) -> tuple[str, ...]:
    """The spellings under which our tables may list a key: itself, with any middle name, or its whole section."""
    section, _, rest = key.partition(".")
    name = rest.rpartition(".")[2]
    return key, f"{section}.*.{name}", f"{section}.*"


def check(tool: str, findings: ConfigFindings, work: GitWork) -> None:
    """Raises PermissionDenied for keys that would take effect in this work."""
    dangerous = [key for key, when in findings.refused.items() if when == GitWork.LOOK or when in work]
    if dangerous:
        raise untrusted(tool, f"its configuration has {_named(dangerous)}, which can start programs or lead elsewhere")
    if sum(map(len, findings.overridden)) > MAX_OVERRIDDEN_BYTES:
        many = _named(list(findings.overridden))
        raise untrusted(tool, f"its configuration has {many} that can start programs: too many to be switched off")


def untrusted(tool: str, reason: str) -> PermissionDenied:
    return PermissionDenied(
        tool,
        f"the repository is not trusted, and {reason}",
        hint=f"a person can look at .git/config and remove it there, or add the folder to the list {list_file()}",
    )


def _named(keys: Sequence[str], most: int = 5) -> str:
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    return ", ".join(f"'{key[:80]}'" for key in keys[:most]) + more
