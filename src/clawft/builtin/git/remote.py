"""The tools `fetch` and `push`. Git is asked where a remote leads, and that is judged before anything is sent."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from clawft.builtin.git import argument_checks
from clawft.builtin.git.address import check_address, read_address
from clawft.builtin.git.clone import local_source
from clawft.builtin.git.destructive_grant import ensure_granted
from clawft.builtin.git.failure import failed
from clawft.builtin.git.hostile_config import GitWork, untrusted
from clawft.builtin.git.page import counted, lines_of
from clawft.builtin.git.progress import GitProgress
from clawft.builtin.git.reading import decoded
from clawft.builtin.git.repo import Git, Repo, RepoPath
from clawft.builtin.git.run import GitOutput
from clawft.builtin.partial_tool import partial_tool
from clawft.errors import ExecutionFailed, InvalidArguments

RemoteName = Annotated[str, Meta(description="a remote by its name")]
FLAGS = {" ": "updated", "+": "forced", "-": "deleted", "*": "new", "!": "rejected", "=": "unchanged"}


class MovedRef(Struct, frozen=True):
    """A ref that is another one than before. None: not there."""

    ref: str
    old: str | None
    new: str | None


class FetchResult(Struct, frozen=True):
    remote: str
    updated: list[MovedRef]

    def text(self) -> str:
        lines = [f"{each.ref} {(each.old or 'new')[:12]} → {(each.new or 'gone')[:12]}" for each in self.updated]
        return lines_of(f"{self.remote}: {counted(len(lines), 'ref')} changed", lines, None)


class PushedRef(Struct, frozen=True):
    ref: str
    status: str
    """new, updated, forced, deleted or unchanged."""
    summary: str


class PushResult(Struct, frozen=True):
    remote: str
    refs: list[PushedRef]

    def text(self) -> str:
        return lines_of(f"pushed to {self.remote}", [f"{each.ref}: {each.status}" for each in self.refs], None)


@partial_tool(alias="git_fetch", title="Git fetch", destructive=False, idempotent=True)
async def fetch(
    git: Git,
    repo_path: RepoPath,
    remote: RemoteName = "origin",
    branch: Annotated[str, Meta(description="only this branch; all if left out")] = "",
    prune: Annotated[bool, Meta(description="forget branches that are gone on the remote")] = False,
) -> FetchResult:
    """Get new commits from a remote. Nothing that is checked out changes."""
    name = argument_checks.remote_name(git.tool, remote)
    refs = [f"refs/heads/{argument_checks.ref_name(git.tool, 'branch', branch)}"] if branch else []
    async with git.open(repo_path, GitWork.NETWORK) as repo, repo.alone("remotes"):
        before = await _refs(repo)
        await fetch_refs(repo, name, refs, ["--prune"] if prune else [])
        after = await _refs(repo)
    moved = [MovedRef(ref, before.get(ref), after.get(ref)) for ref in sorted(before.keys() | after.keys())]
    return FetchResult(name, [each for each in moved if each.old != each.new])


@partial_tool(alias="git_push", title="Git push", destructive=True)
async def push(
    git: Git,
    repo_path: RepoPath,
    remote: RemoteName = "origin",
    branch: Annotated[str, Meta(description="which branch, to the same name; the current one if left out")] = "",
    force: Annotated[bool, Meta(description="replace the remote's, but only if it is as last fetched")] = False,
    expected: Annotated[str, Meta(description="with force: only if the remote's branch is at this commit id")] = "",
    tag: Annotated[str, Meta(description="push this tag instead of a branch")] = "",
    set_upstream: Annotated[bool, Meta(description="remember the remote's branch as the one to follow")] = False,
) -> PushResult:
    """Send a branch or a tag to a remote. With `force` commits of the remote can be lost."""
    name = argument_checks.remote_name(git.tool, remote)
    ref = f"refs/tags/{argument_checks.ref_name(git.tool, 'tag', tag)}" if tag else ""
    if branch:
        ref = ref or f"refs/heads/{argument_checks.ref_name(git.tool, 'branch', branch)}"
    lease = argument_checks.full_id(git.tool, "expected", expected) if expected else ""
    if lease and not force:
        raise InvalidArguments(f"{git.tool}: 'expected' is for force=true")
    async with git.open(repo_path, GitWork.NETWORK) as repo:
        ref = ref or await current_branch(repo)
        how = [f"--force-with-lease={ref}{f':{lease}' if lease else ''}"] if force else []
        how += ["--set-upstream"] if set_upstream else []
        return PushResult(name, parse_push(git.tool, await _push(repo, name, ref, how, force=force)))


async def _ensure_may_push(git: Git, remote: str, ref: str, *, force: bool) -> None:
    await ensure_granted(git, "push", f"sends {ref} to '{remote}'")
    if force:
        await ensure_granted(git, "force", f"replaces {ref} of '{remote}', where commits can be lost")


async def fetch_refs(repo: Repo, remote: str, refs: list[str], how: list[str]) -> None:
    ran = await repo.attempt(
        "fetch",
        "--progress",
        "--no-recurse-submodules",
        "--no-prune-tags",
        *how,
        "--",
        remote,
        *refs,
        write=True,
        protocols=await protocols_of(repo, remote),
        listen=GitProgress(repo.git.ctx.progress).feed,
    )
    repo.check(ran)


async def _push(repo: Repo, remote: str, ref: str, how: list[str], *, force: bool) -> GitOutput:
    args = ["push", "--porcelain", "--progress", "--no-follow-tags", "--no-recurse-submodules", *how]
    if not repo.trusted:
        args += ["--no-verify", "--no-signed"]
    protocols = await protocols_of(repo, remote, pushing=True)
    await _ensure_may_push(repo.git, remote, ref, force=force)
    listen = GitProgress(repo.git.ctx.progress).feed
    args += ["--", remote, f"{ref}:{ref}"]
    async with repo.alone("remotes"):
        return await repo.attempt(*args, write=True, protocols=protocols, listen=listen)


async def protocols_of(repo: Repo, remote: str, *, pushing: bool = False) -> list[str]:
    """The protocols git may use with a remote, after all its addresses were judged."""
    ran = await repo.attempt("remote", "get-url", "--all", *(["--push"] if pushing else []), remote)
    if ran.code != 0:
        raise InvalidArguments(f"{repo.tool}: there is no remote '{remote}'", hint="see git config remote.<name>.url")
    git, protocols = repo.git, set[str]()
    for url in decoded(ran.out).splitlines():
        address = read_address(repo.tool, url)
        check_address(repo.tool, address, git.settings.manifest(), local=git.settings.local)
        if address.protocol == "file":
            source = await asyncio.to_thread(local_source, git, address, repo.place.top)
            if pushing and not (repo.trusted and await asyncio.to_thread(git.settings.trusted, source)):
                raise untrusted(repo.tool, f"a push to '{url}' would start that repository's hooks")
        protocols.add(address.protocol)
    return sorted(protocols)


async def current_branch(repo: Repo) -> str:
    ran = await repo.attempt("symbolic-ref", "--quiet", "HEAD")
    if ran.code != 0:
        raise ExecutionFailed(f"{repo.tool}: no branch is checked out", hint="name one, or git__switch to one")
    return decoded(ran.out).strip()


async def _refs(repo: Repo) -> dict[str, str]:
    listed = await repo.ask(
        "for-each-ref", "--format=%(refname) %(objectname) %(symref)", "refs/remotes/", "refs/tags/"
    )
    records = (line.split(" ") for line in decoded(listed).splitlines())
    return {ref: oid for ref, oid, alias in records if not alias}


def parse_push(tool: str, said: GitOutput) -> list[PushedRef]:
    """Parse `<flag>\\t<from>:<to>\\t<summary>`, from `git push --porcelain`. A rejected ref is an error."""
    lines = [line.split("\t") for line in decoded(said.out).splitlines() if "\t" in line]
    refs = [
        PushedRef(fields[1].rpartition(":")[2], FLAGS[fields[0]], fields[2]) for fields in lines if fields[0] in FLAGS
    ]
    rejected = [each.summary for each in refs if each.status == "rejected"]
    if said.code != 0 or rejected:
        raise failed(tool, GitOutput(said.code, b"", "\n".join([*rejected, said.err])))
    return refs
