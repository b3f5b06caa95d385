"""The tool `tag`: lists, makes and deletes tags."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.builtin.git import argument_checks
from clawft.builtin.git.identity import own_identity
from clawft.builtin.git.log import commit_of
from clawft.builtin.git.page import Cursor, Limit, NextCursor, counted, lines_of, offset_of, page
from clawft.builtin.git.reading import decoded, records, understood
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import InvalidArguments

Action = Literal["list", "create", "delete"]
FORMAT = "--format=%(refname:lstrip=2)%00%(objectname)%00%(*objectname)%00%(contents:subject)%00"
FIELDS = 4


class Tag(Struct, frozen=True, omit_defaults=True):
    name: str
    oid: str
    """The id of the commit."""
    message: str = ""
    """The tag's own message; lightweight tags have none."""


class TagResult(Struct, frozen=True, omit_defaults=True):
    result: list[Tag]
    next_cursor: NextCursor = None

    def text(self) -> str:
        lines = [f"{each.name} {each.oid[:12]}" for each in self.result]
        return lines_of(counted(len(lines), "tag"), lines, self.next_cursor)


@partial_tool(alias="git_tag", title="Git tags", destructive=True, open_world=False)
async def tag(
    git: Git,
    repo_path: RepoPath,
    action: Action = "list",
    name: Annotated[str, Meta(description="of the tag to make or delete; to list only names that contain it")] = "",
    revision: Annotated[str, Meta(description="what to tag")] = "HEAD",
    message: Annotated[str, Meta(description="makes an annotated tag")] = "",
    limit: Limit = 500,
    cursor: Cursor = "",
) -> TagResult:
    """List tags, make one or delete one. A tag that exists is never moved."""
    offset = offset_of(git.tool, cursor)
    if action == "list":
        wanted = argument_checks.word(git.tool, "name", name) if name else ""
    elif name:
        wanted = argument_checks.ref_name(git.tool, "name", name)
    else:
        raise InvalidArguments(f"{git.tool}: missing 'name'")
    begin = argument_checks.revision(git.tool, "revision", revision)
    checked = argument_checks.message(git.tool, message) if message else ""
    async with git.open(repo_path) as repo:
        if action == "create":
            async with repo.alone():
                await _create(repo, wanted, await commit_of(repo, begin), checked)
        elif action == "delete":
            async with repo.alone():
                await repo.ask("tag", "--delete", "--", wanted, write=True)
        found = await understood(parse_tags, await repo.ask("for-each-ref", FORMAT, "refs/tags/"))
    fits = [each for each in found if (wanted in each.name if action == "list" else wanted == each.name)]
    return TagResult(*page(fits, offset, limit))


async def _create(repo: Repo, name: str, commit: str, message: str) -> None:
    """Make the tag, signed if the user's configuration says so and the repository is trusted."""
    unsigned = [] if repo.trusted else ["--no-sign"]
    if not message:
        await repo.ask("tag", *unsigned, "--", name, commit, write=True)
        return
    args = ["tag", "--annotate", "--file=-", "--cleanup=whitespace", *unsigned, "--", name, commit]
    repo.check(await repo.attempt(*args, stdin=message.encode(), write=True, extra=await own_identity(repo)))


def parse_tags(said: bytes) -> list[Tag]:
    found = records(decoded(said).replace("\0\n", "\0"), FIELDS)
    return [Tag(name, commit or oid, subject if commit else "") for name, oid, commit, subject in found]
