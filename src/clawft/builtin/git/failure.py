"""Turns messages of a failed git into errors that name the reason and what to do next."""

import re
from collections.abc import Sequence

from msgspec import Struct

from clawft.builtin.git.run import GitOutput
from clawft.builtin.git.settings import BOUNDS
from clawft.builtin.trust import list_file
from clawft.errors import ExecutionFailed


class KnownFailure(Struct, frozen=True):
    """The meaning of a message of git that matches `pattern`. `{0}` in the message is the first group."""

    pattern: str
    message: str
    hint: str = ""


_LIST = "$LIST"
"""Replaced by the path of the user's list of trusted folders."""
_UNSEEN = "git does not see '{0}' where it runs"
_OTHERS = "its sandbox hides secrets from it (git.sandbox); name the other paths"

_REASONS: Sequence[KnownFailure] = (
    KnownFailure(
        r"[Oo]ut of memory|annot allocate memory",
        "git needs more memory than it may take here",
        "look for what is made for that in the repository and its .git/config; in folders on your list "
        f"{_LIST} git takes what it likes",
    ),
    KnownFailure(r"your current branch '([^']*)' does not have any commits", "the branch '{0}' has no commits yet"),
    KnownFailure(
        r"unknown repository extensions? found:\s*(\S+)",
        "this git does not support '{0}', which the repository is made with",
        "a newer git does",
    ),
    KnownFailure(r"no such ref: HEAD", "the repository has no commits yet"),
    KnownFailure(
        r"usage: git diff",
        "the revision names no commit",
        "git__log names commits; git__show with file_path shows a file as it was",
    ),
    KnownFailure(
        r"(?:ambiguous argument|bad revision|invalid reference:|not a valid object name:?|invalid object name)"
        r" '?([^'\n]+)",
        "unknown revision '{0}'",
        "git__branch and git__log name what there is",
    ),
    KnownFailure(
        r"Needed a single revision|not a commit|unknown revision", "unknown revision", "git__log names commits"
    ),
    KnownFailure(r"error: (.*): does not exist and --remove not passed", _UNSEEN, _OTHERS),
    KnownFailure(
        r"no such path '?([^'\n]*?)'? in", "no file '{0}' in that revision", "paths start at the repository's top"
    ),
    KnownFailure(
        r"Unable to create '([^']*\.lock)': File exists",
        "another git is working here: '{0}' exists",
        "wait for it; if no git is running, remove the lock",
    ),
    KnownFailure(
        r"terminal prompts disabled|could not read Username|Authentication failed|Permission denied \(|Host key verif",
        "the server needs a login",
        f"your own credentials are used in folders on your list {_LIST}",
    ),
    KnownFailure(
        r"unable to update url base from redirection|redirect", "the server redirects elsewhere", "use the final URL"
    ),
    KnownFailure(r"transport '([^']*)' not allowed", "git may not use '{0}' here"),
    KnownFailure(
        r"Could not resolve host(?:name)?:? ([^\s:]*)",
        "the host '{0}' is not known",
        "check the address and the network",
    ),
    KnownFailure(
        r"unable to access '([^']*)': (?:CONNECT tunnel failed, response 50\d|Received HTTP code 50\d from proxy)",
        "'{0}' cannot be reached",
        "check the address and the network",
    ),
    KnownFailure(
        r"ssh: .*not found|cannot run ssh", "there is no ssh on this machine", "install it, or use an https address"
    ),
    KnownFailure(
        r"error: invalid path '([^']*)'",
        "'{0}' may not be written, and that commit has a file of this name",
        "it would lead outside, or into .git: git__show reads what is there",
    ),
    KnownFailure(
        r"would be overwritten by|Please commit your changes or stash",
        "local changes would be lost",
        "commit or stash them first (git__commit, git__stash)",
    ),
    KnownFailure(
        r"stale info", "the remote branch has moved since the last fetch", "git__fetch, look, then push again"
    ),
    KnownFailure(
        r"\(non-fast-forward\)|\(fetch first\)|Not possible to fast-forward|diverging branches",
        "the histories have diverged",
        "git__pull with ff_only=false merges them; git__push with force=true replaces the remote's",
    ),
    KnownFailure(r"refusing to merge unrelated histories", "the two histories have no commit in common"),
    KnownFailure(r"couldn't find remote ref ([^\s]*)", "the remote has no branch '{0}'"),
    KnownFailure(
        r"missing blob|promisor|lazy fetch", "objects are missing: the repository is a partial clone", "git__fetch"
    ),
    KnownFailure(
        r"Please tell me who you are|empty ident name", "nobody is named as author", "give author_name and author_email"
    ),
)


def failed(tool: str, said: GitOutput) -> ExecutionFailed:
    """The error for a run that did not end well."""
    for reason in _REASONS:
        if found := re.search(reason.pattern, said.err):
            return ExecutionFailed(
                f"{tool}: {reason.message.format(*found.groups())}", hint=reason.hint.replace(_LIST, str(list_file()))
            )
    return ExecutionFailed(f"{tool}: {_own_words(said.err) or f'git ended with {said.code}'}")


def unseen(tool: str, path: str) -> ExecutionFailed:
    """The error for a file that exists, but is hidden from git."""
    return ExecutionFailed(f"{tool}: {_UNSEEN.format(path)}", hint=_OTHERS)


def _own_words(err: str) -> str:
    """The lines that name the reason, without progress and advice."""
    lines = [line.strip() for line in err.replace("\r", "\n").split("\n")]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))] or [line for line in lines if line]
    reason = "; ".join(re.sub(r"^(?:fatal|error): ", "", line) for line in telling[:5])
    return reason if len(reason) <= BOUNDS.told_chars else f"{reason[: BOUNDS.told_chars]} …"
