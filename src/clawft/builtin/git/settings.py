"""What the family may do: its manifest, what the user adds to it, and its bounds."""

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
"""No shell: the one program we start is git, with arguments of ours around values that were checked."""


def nobody(repository: Path) -> bool:
    """The answer until somebody approved a repository."""
    return False


class Bounds(Struct, frozen=True):
    """One place for every number."""

    seconds: float = 60.0
    """Deadline of one git process on this machine."""
    network_seconds: float = 600.0
    """Deadline of clone, fetch and push."""
    turn_seconds: float = 60.0
    """How long a call waits for its turn to change a repository."""
    memory_bytes: int = 4 * 1024 * 1024 * 1024
    """What one git process may take where the repository is not trusted: one can be made to take all there is."""
    output_bytes: int = 8 * 1024 * 1024
    """What git may say in one run; more is an error, never a part of it."""
    counts_bytes: int = 1024 * 1024
    """Of a diff, what we read for its counts alone; where there is more, git counts."""
    error_bytes: int = 64 * 1024
    """Of what git says on stderr the last bytes are kept."""
    page_bytes: int = 48 * 1024
    """One page of a result: below the limit of results, so that the structured form arrives whole."""
    page_items: int = 1000
    """Most items of one page."""
    piece_bytes: int = 24 * 1024
    """A longer hunk is told in pieces."""
    line_chars: int = 8192
    """A longer line of a diff, a file or a blame is cut, and says so."""
    shown_lines: int = 20
    """Lines of the short text beside a structured result."""
    word_chars: int = 1024
    """A revision, a name, an address."""
    message_chars: int = 64 * 1024
    """The message of a commit, a tag or a stash."""
    told_chars: int = 600
    """Of git's own words in an error."""
    side_chars: int = 8 * 1024
    """Of each version of a file in conflict."""
    paths: int = 1000
    """Paths named in one call."""
    entries: int = 100_000
    """Files of a `.git` folder that are looked at before it is used."""
    small_file_bytes: int = 64 * 1024
    """A file of `.git` that we read ourselves."""
    settled_seconds: float = 2.0
    """A configuration changed less long ago is read again: its time stamp could hide a second change."""


BOUNDS = Bounds()
DRAFT = ".weft-"
"""How the name of a folder begins that we are still filling, as with files: it is no part of anybody's work."""


class GitSettings(Struct, frozen=True):
    trusted: Callable[[Path], bool] = nobody
    """Did the user approve what this repository makes git start? It is asked with real paths: of the work tree, and of
    the `.git` folder where that lies elsewhere. Asked from a worker thread."""
    hosts: tuple[str, ...] = ()
    """Hosts to reach besides those of the manifest; globs."""
    local: bool = True
    """Repositories inside the workspace may be cloned and fetched from."""
    granted: tuple[str, ...] = ()
    """What may be done without asking: `push`, `force`."""
    variables: tuple[str, ...] = ()
    """Environment variables git gets in trusted repositories besides those of the manifest, such as SSH_AUTH_SOCK."""
    sandbox: str = "auto"
    """What holds git: `auto`, `strict` (no home), `require` or `off`."""
    bounds: Bounds = BOUNDS

    def manifest(self) -> Manifest:
        """With what the user added."""
        granted = MANIFEST.permissions
        wider = msgspec.structs.replace(
            granted, network=(*granted.network, *self.hosts), env_vars=(*granted.env_vars, *self.variables)
        )
        return msgspec.structs.replace(MANIFEST, permissions=wider)
