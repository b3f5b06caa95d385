"""The tool `status`: what has changed in a repository, file by file."""

from collections.abc import Iterator

from msgspec import Struct

from clawft.builtin.file_names import escaped_bytes
from clawft.builtin.git.page import Cursor, Limit, NextCursor, lines_of, offset_of, page_of
from clawft.builtin.git.reading import decoded, understood
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.git.run import GitOutput
from clawft.builtin.partial_tool import partial_tool

UNTRACKED = "untracked"
CONFLICTED = "conflicted"
NO_FILE = b"000000"
"""The mode of a missing file."""
WORDS = {"M": "modified", "A": "added", "D": "deleted", "R": "renamed", "C": "added", "T": "typechange"}


class StatusEntry(Struct, frozen=True, omit_defaults=True):
    path: str
    status: str
    """One or two words: untracked, added, modified, deleted, renamed, typechange, conflicted."""
    staged: str = ""
    """The part of it that is staged for the next commit."""
    old_path: str | None = None


class StatusResult(Struct, frozen=True, omit_defaults=True):
    result: list[StatusEntry]
    branch: str | None = None
    """None if no branch is checked out."""
    head: str | None = None
    """None before the first commit."""
    upstream: str | None = None
    ahead: int = 0
    behind: int = 0
    total: int = 0
    next_cursor: NextCursor = None

    def text(self) -> str:
        where = f"on {self.branch}" if self.branch else f"detached at {(self.head or '')[:12]}"
        away = f", {self.ahead} ahead and {self.behind} behind {self.upstream}" if self.upstream else ""
        what = f"{self.total} changed" if self.total else "nothing changed"
        return lines_of(f"{where}{away}: {what}", [_line(each) for each in self.result], self.next_cursor)


class StatusRecord(Struct, frozen=True, gc=False):
    """One record of `git status`, with names as bytes. Small, as there may be a million."""

    path: bytes
    index: str
    worktree: str
    old_path: bytes | None = None
    gone: bool = False
    """Whether it is missing in the work tree."""

    @property
    def untracked(self) -> bool:
        return self.index == "?"

    @property
    def conflicted(self) -> bool:
        return self.index == "U"

    def words(self) -> str:
        if self.untracked:
            return UNTRACKED
        if self.conflicted:
            return CONFLICTED
        return ",".join(dict.fromkeys(WORDS[letter] for letter in (self.index, self.worktree) if letter in WORDS))


class StatusReading(Struct, frozen=True):
    """The parsed output of `git status`."""

    changes: list[StatusRecord]
    heads: dict[str, str]

    @property
    def head(self) -> str | None:
        oid = self.heads.get("branch.oid", "(initial)")
        return None if oid == "(initial)" else oid

    @property
    def branch(self) -> str | None:
        name = self.heads.get("branch.head", "(detached)")
        return None if name == "(detached)" else name


@partial_tool(alias="git_status", title="Git status", read_only=True, idempotent=True, open_world=False)
async def status(git: Git, repo_path: RepoPath, limit: Limit = 500, cursor: Cursor = "") -> StatusResult:
    """List what has changed in a repository: staged, not staged, untracked and conflicted files, and the branch.

    Paths are relative to the top of the repository.
    """
    offset = offset_of(git.tool, cursor)
    async with git.open(repo_path) as repo:
        read = await read_status(repo)
    shown, after = page_of(read.changes, _entry, offset, limit)
    ahead, behind = _distance(read.heads.get("branch.ab", ""))
    return StatusResult(
        shown, read.branch, read.head, read.heads.get("branch.upstream"), ahead, behind, len(read.changes), after
    )


async def read_status(repo: Repo, *, renames: bool = True) -> StatusReading:
    listed = await repo.ask(
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--untracked-files=all",
        "--find-renames" if renames else "--no-renames",
        f"--ignore-submodules={'none' if repo.trusted else 'dirty'}",
    )
    return await understood(parse_status, listed)


async def conflicts_after(repo: Repo, said: GitOutput) -> list[str]:
    """The files in conflict after a merge; none if it went well. Raises ExecutionFailed if it failed otherwise."""
    if said.code == 0:
        return []
    conflicts = [escaped_bytes(change.path) for change in (await read_status(repo)).changes if change.conflicted]
    if not conflicts:
        repo.check(said)
    return conflicts


def parse_status(said: bytes) -> StatusReading:
    """Parse `git status --porcelain=v2 -z --branch`."""
    changes: list[StatusRecord] = []
    heads: dict[str, str] = {}
    records = _records(said)
    for record in records:
        if record.startswith(b"# "):
            key, _, value = decoded(record[2:]).partition(" ")
            heads[key] = value
        elif record:
            changes.append(_change(record, records))
    return StatusReading(changes, heads)


def _records(said: bytes) -> Iterator[bytes]:
    """The records one by one, as a list of all would take as much memory again."""
    at = 0
    while at < len(said):
        end = said.index(b"\0", at)
        yield said[at:end]
        at = end + 1


def _change(record: bytes, following: Iterator[bytes]) -> StatusRecord:
    match record[:1]:
        case b"?":
            return StatusRecord(record[2:], "?", "?")
        case b"u":
            fields = record.split(b" ", 10)
            return StatusRecord(fields[10], "U", "U", gone=fields[6] == NO_FILE)
        case b"2":
            fields = record.split(b" ", 9)
            return _tracked(fields, fields[9], next(following))
        case _:
            fields = record.split(b" ", 8)
            return _tracked(fields, fields[8], None)


def _tracked(fields: list[bytes], path: bytes, old_path: bytes | None) -> StatusRecord:
    letters = fields[1].decode()
    return StatusRecord(path, letters[0], letters[1], old_path, gone=fields[5] == NO_FILE)


def _entry(change: StatusRecord) -> StatusEntry:
    old = None if change.old_path is None else escaped_bytes(change.old_path)
    staged = "" if change.untracked or change.conflicted else WORDS.get(change.index, "")
    return StatusEntry(escaped_bytes(change.path), change.words(), staged, old)


def _distance(told: str) -> tuple[int, int]:
    """Parse `+1 -2`: commits ahead and behind."""
    ahead, _, behind = told.partition(" ")
    return (int(ahead), -int(behind)) if behind else (0, 0)


def _line(entry: StatusEntry) -> str:
    came = f" (was {entry.old_path})" if entry.old_path else ""
    return f"{entry.status}: {entry.path}{came}"
