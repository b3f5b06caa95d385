"""Finds the author and committer: from the call, the environment, or the configuration; never by a guess."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.git import argument_checks
from clawft.builtin.git.program import people
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Repo
from clawft.errors import ExecutionFailed

AuthorName = Annotated[str, Meta(description="else GIT_AUTHOR_NAME, else user.name of git")]
AuthorEmail = Annotated[str, Meta(description="else GIT_AUTHOR_EMAIL, else user.email of git")]


class IdentitySources(Struct, frozen=True):
    """The three sources, the first one winning."""

    given: Mapping[str, str]
    environ: Mapping[str, str]
    config: Mapping[str, str]


async def identity(repo: Repo, author_name: str = "", author_email: str = "") -> dict[str, str]:
    """The four variables git reads. Raises ExecutionFailed if a name is missing."""
    given = {"name": author_name, "email": author_email}
    given = {part: argument_checks.person(repo.tool, f"author_{part}", value) for part, value in given.items() if value}
    found = await _look(repo, given)
    if missing := _missing(found, "author_"):
        raise ExecutionFailed(
            f"{repo.tool}: nobody is named as author: {missing}",
            hint="give author_name and author_email, or set user.name and user.email of git",
        )
    return found


async def own_identity(repo: Repo) -> dict[str, str]:
    """The variables for a command without an author parameter. Raises ExecutionFailed if git knows nobody."""
    found = await _look(repo, {})
    if missing := _missing(found, "user."):
        raise ExecutionFailed(
            f"{repo.tool}: git does not know who you are: {missing}",
            hint="tell it once: git config user.name NAME, git config user.email EMAIL",
        )
    return found


async def identity_if_any(repo: Repo) -> dict[str, str]:
    """The variables as far as known, for a command that git can run without them."""
    return {variable: value for variable, value in (await _look(repo, {})).items() if value}


async def _look(repo: Repo, given: Mapping[str, str]) -> dict[str, str]:
    ran = await repo.attempt("config", "-z", "--get-regexp", r"^user\.(name|email)$", users_own=True)
    return resolve(IdentitySources(given, people(repo.tool), parse(ran.out)))


def _missing(found: Mapping[str, str], kind: str) -> str:
    missing = [f"no {kind}{part}" for part in ("name", "email") if not found.get(f"GIT_AUTHOR_{part.upper()}")]
    return " and ".join(missing)


def resolve(sources: IdentitySources) -> dict[str, str]:
    """The four variables; a committer that is not named is the author."""
    found: dict[str, str] = {}
    for part in ("name", "email"):
        own = sources.config.get(f"user.{part}", "")
        author, committer = f"GIT_AUTHOR_{part.upper()}", f"GIT_COMMITTER_{part.upper()}"
        found[author] = sources.given.get(part) or sources.environ.get(author) or own
        found[committer] = sources.environ.get(committer) or own or found[author]
    return found


def parse(said: bytes) -> dict[str, str]:
    """Parse `key\\nvalue\\0`; the last value wins, as in git."""
    pairs = (record.partition("\n") for record in decoded(said).split("\0") if record)
    return {key: value for key, _, value in pairs}
