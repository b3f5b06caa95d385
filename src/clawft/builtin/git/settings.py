"""The manifest, the settings and the bounds of the git family."""

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from clawft.provider.manifest import Manifest, Permissions

PEOPLE = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")

MANIFEST = Manifest(
    id="com.clawft.plugin-git",
    name="Git Operations",
    permissions=Permissions(
        filesystem=("$WORKSPACE",), network=("github.com", "gitlab.com", "bitbucket.org"), env_vars=PEOPLE
    ),
)
"""No shell: only git is started, with our own arguments around checked values."""


def nobody(repository: Path) -> bool:
    """Trusts no repository; the default."""
    return False


class Bounds(Struct, frozen=True):
    """All bounds of the family."""

    seconds: float = 60.0
    """Deadline of one git process on this machine."""
    network_seconds: float = 600.0
    """Deadline of clone, fetch and push."""
    turn_seconds: float = 60.0
    """How long a call waits for the lock on a repository."""
    memory_bytes: int = 4 * 1024 * 1024 * 1024
    """Memory of one git process in an untrusted repository: such a one can be made to exhaust it."""
    output_bytes: int = 8 * 1024 * 1024
    """Output of one run; more is an error, and never cut."""
    counts_bytes: int = 1024 * 1024
    """How much of a diff is read only for its counts; beyond that git counts."""
    error_bytes: int = 64 * 1024
    """How much of the end of git's stderr is kept."""
    page_bytes: int = 48 * 1024
    """Size of one page of a result: below the limit of results, so that the structured form arrives whole."""
    page_items: int = 1000
    """Most items of one page."""
    piece_bytes: int = 24 * 1024
    """A longer hunk is split."""
    line_chars: int = 8192
    """A longer line of a diff, a file or a blame is cut, with a note."""
    shown_lines: int = 20
    """Lines of the short text beside a structured result."""
    word_chars: int = 1024
    """Length of a revision, a name or an address."""
    message_chars: int = 64 * 1024
    """Length of the message of a commit, a tag or a stash."""
    told_chars: int = 600
    """How much of git's own message an error repeats."""
    side_chars: int = 8 * 1024
    """How much is shown of each version of a file in conflict."""
    paths: int = 1000
    """Paths named in one call."""
    entries: int = 100_000
    """Files of a `.git` folder that are checked before it is used."""
    small_file_bytes: int = 64 * 1024
    """Size of a file of `.git` that we read ourselves."""
    config_bytes: int = 4 * 1024 * 1024
    """Size of the configuration of an untrusted repository."""


BOUNDS = Bounds()
DRAFT = ".weft-"
"""The prefix of a folder or file that we are still filling; it is left out of commits."""


class GitSettings(Struct, frozen=True):
    trusted: Callable[[Path], bool] = nobody
    """Whether the user approved the programs this repository makes git start. Called in a thread with real paths: of
    the work tree, and of the `.git` folder if that lies elsewhere.
    """
    hosts: tuple[str, ...] = ()
    """Host globs besides the hosts of the manifest."""
    local: bool = True
    """Whether repositories inside the workspace may be cloned and fetched from."""
    granted: tuple[str, ...] = ()
    """The actions that may be done without asking: `push`, `force`."""
    variables: tuple[str, ...] = ()
    """Environment variables for git in trusted repositories besides those of the manifest, such as SSH_AUTH_SOCK."""
    sandbox: str = "auto"
    """The sandbox of git: `auto`, `strict` (no home), `require` or `off`."""
    bounds: Bounds = BOUNDS

    def manifest(self) -> Manifest:
        """The manifest with the user's additions."""
        granted = MANIFEST.permissions
        wider = msgspec.structs.replace(
            granted, network=(*granted.network, *self.hosts), env_vars=(*granted.env_vars, *self.variables)
        )
        return msgspec.structs.replace(MANIFEST, permissions=wider)
