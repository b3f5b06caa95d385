"""What a repository's own configuration would make git start, and what we do about each of it.

A repository that nobody approved keeps its configuration, but not the programs in it: fixed keys are set to something
harmless on every run, those with a name of the repository's own choosing are looked up and set by that name, and what
cannot be made harmless is refused, by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Flag, auto

from msgspec import Struct

from clawft.builtin.trust import list_file
from clawft.errors import PermissionDenied

OWN_SCOPES = ("local", "worktree")


class GitWork(Flag):
    """What a tool is about to do, besides looking at the repository."""

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
"""Set in every repository that is not trusted: what starts programs, how many it starts, what never ends."""

MAX_OVERRIDDEN_BYTES = 64 * 1024
"""Of names of keys that are set to something harmless: they travel in the environment, which has little room."""

NEVER = "$^"
"""A pattern that matches nothing. Others can be written so that reading them takes all memory there is."""

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
"""Set wherever the repository has such a key."""

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
"""Cannot be made harmless: refused when this kind of work is done; LOOK means always."""

HARMLESS = frozenset({"http.postbuffer", "http.version", "http.lowspeedlimit", "http.lowspeedtime"})


class ConfigFindings(Struct, frozen=True):
    """Keys of a repository's own configuration that matter."""

    overridden: Mapping[str, str]
    refused: Mapping[str, GitWork]


def read_listing(listing: bytes) -> list[str]:
    """Keys that the repository itself sets, from `git config --list -z --show-scope`."""
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
    """The spellings of a key in our tables: as it is, with any name in the middle, anything of its section."""
    section, _, rest = key.partition(".")
    name = rest.rpartition(".")[2]
    return key, f"{section}.*.{name}", f"{section}.*"


def check(tool: str, findings: ConfigFindings, work: GitWork) -> None:
    """Raise for what this work would start."""
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
