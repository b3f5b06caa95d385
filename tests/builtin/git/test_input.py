"""Values from outside: one clear error for each bad one, and nothing on disk is another than before."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.git import MANIFEST, GitSettings, argument_checks
from clawft.builtin.git.address import RemoteAddress, check_address, read_address
from clawft.errors import ExecutionFailed, InvalidArguments, PermissionDenied, ToolError
from tests.builtin.git.plain import EMAIL, NAME, Tools, fingerprint, git
from tests.requirements import requirement

WHO = {"author_name": NAME, "author_email": EMAIL}
HUGE = "x" * 10_000_000
BAD = {"option": "--output=/tmp/x", "dash": "-x", "null": "a\0b", "line": "a\nb", "huge": HUGE}
PLACES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("log", "revision", {}),
    ("log", "path", {}),
    ("log", "cursor", {}),
    ("diff", "revision", {}),
    ("blame", "file_path", {}),
    ("blame", "revision", {"file_path": "a.txt"}),
    ("branch", "pattern", {}),
    ("show", "revision", {}),
    ("show", "file_path", {}),
    ("commit", "author_name", {"message": "m"}),
    ("commit", "author_email", {"message": "m"}),
    ("switch", "branch", {}),
    ("switch", "branch", {"create": True}),
    ("switch", "branch", {"detach": True}),
    ("switch", "start", {"branch": "n", "create": True}),
    ("restore", "source", {"paths": ["a.txt"]}),
    ("fetch", "remote", {}),
    ("fetch", "branch", {}),
    ("pull", "remote", {}),
    ("pull", "branch", {}),
    ("push", "remote", {}),
    ("push", "branch", {}),
    ("push", "tag", {}),
    ("push", "expected", {"force": True}),
    ("worktree", "path", {"action": "add"}),
    ("worktree", "path", {"action": "remove"}),
    ("worktree", "branch", {"action": "add", "path": "n"}),
    ("tag", "name", {"action": "create"}),
    ("tag", "name", {"action": "delete"}),
    ("tag", "revision", {"action": "create", "name": "n"}),
    ("status", "cursor", {}),
)


@requirement("GIT-10", "GIT-12")
@pytest.mark.parametrize("kind", BAD)
async def test_every_bad_value_is_one_clear_error(tools: Tools, repo: Path, kind: str) -> None:
    git(repo, "remote", "add", "origin", "https://github.com/x/y")
    before = fingerprint(repo.parent)
    for name, parameter, more in PLACES:
        if (kind, parameter, name) == ("line", "path", "log"):  # a name of a file that is not there
            continue
        with pytest.raises(ToolError) as refused:
            await tools(name, repo_path="r", **more, **{parameter: BAD[kind]})
        told = str(refused.value)
        assert told.startswith(f"{name}: "), (name, parameter, told)
        assert len(told) < 1000
    for name in ("status", "log", "branch"):
        with pytest.raises(ToolError) as refused:
            await tools(name, repo_path=BAD[kind])
        assert len(str(refused.value)) < 500
    assert fingerprint(repo.parent) == before


@requirement("GIT-10", "GIT-12")
@pytest.mark.parametrize("message", ["", " \n", "a\0b", HUGE])
async def test_bad_messages(tools: Tools, repo: Path, message: str) -> None:
    (repo / "new").write_text("")
    before = fingerprint(repo)
    with pytest.raises(InvalidArguments, match="'message'"):
        await tools("commit", repo_path="r", message=message, **WHO)
    assert fingerprint(repo) == before


@requirement("GIT-10")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("log", {"revision": "nope"}),
        ("diff", {"revision": "nope"}),
        ("diff", {"revision": "nope..HEAD"}),
        ("show", {"revision": "nope"}),
        ("blame", {"file_path": "a.txt", "revision": "nope"}),
        ("switch", {"branch": "nope"}),
        ("switch", {"branch": "n", "create": True, "start": "nope"}),
        ("restore", {"paths": ["a.txt"], "source": "nope"}),
        ("tag", {"action": "create", "name": "t", "revision": "nope"}),
        ("worktree", {"action": "add", "path": "n", "branch": "n", "start": "nope"}),
    ],
)
async def test_an_unknown_revision_is_named(tools: Tools, repo: Path, name: str, arguments: dict[str, Any]) -> None:
    before = fingerprint(repo.parent)
    with pytest.raises((InvalidArguments, ExecutionFailed), match=r"unknown revision '?nope"):
        await tools(name, repo_path="r", **arguments)
    assert fingerprint(repo.parent) == before


@requirement("GIT-12")
@pytest.mark.parametrize(
    ("url", "protocol", "host"),
    [
        ("https://github.com/a/b.git", "https", "github.com"),
        ("https://GitHub.com:443/a/b", "https", "GitHub.com"),
        ("ssh://git@gitlab.com/a/b", "ssh", "gitlab.com"),
        ("ssh://bitbucket.org:22/a/b", "ssh", "bitbucket.org"),
        ("git@github.com:a/b.git", "ssh", "github.com"),
        ("github.com:a/b.git", "ssh", "github.com"),
        ("some/folder", "file", ""),
        ("./with:colon", "file", ""),
        ("file:///w/r", "file", ""),
    ],
)
def test_addresses_that_may_be_used(url: str, protocol: str, host: str) -> None:
    found = read_address("clone", url)
    assert (found.protocol, found.host) == (protocol, host)
    check_address("clone", found, MANIFEST, local=True)


@requirement("GIT-12")
@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/x",
        "EXT::x",
        "fd::17/x",
        "testgit::x",
        "http://github.com/a/b",
        "git://github.com/a/b",
        "ftp://github.com/a",
        "https://user:token@github.com/a/b",
        "https://user@github.com/a/b",
        "https://github.com@evil.example/a",
        "https://github.com\\@evil.example/a",
        "https://github.com#@evil.example/a",
        "ssh://-oProxyCommand=evil/x",
        "ssh://git@-oProxyCommand=evil/x",
        "-oProxyCommand=evil:x",
        "git@github.com:-x",
        "ssh://git@github.com/-x/../--upload-pack=evil",
        "--upload-pack=evil",
        "https:///x",
        "https://",
        "c:evil",
        "https://evil.example/a/b",
        "https://github.com.evil.example/a",
        "https://github.com_a.evil.example/b",
        "ssh://github.com_a.evil.example/b",
        "ssh://git@github.com~a.evil.example/b",
        "ssh://github.comm/-a",
        "git@evil.example:a/b",
        "https://127.0.0.1/a",
        "https://github.com/a\nb",
        "",
    ],
)
async def test_addresses_that_may_not(tools: Tools, workspace: Path, url: str) -> None:
    with pytest.raises((PermissionDenied, InvalidArguments)):
        await tools("clone", url=url, target_path="x")
    assert list(workspace.iterdir()) == []


@requirement("GIT-12", "PLUG-04")
def test_a_refused_host_names_the_permission_and_the_user_may_add_it() -> None:
    address = RemoteAddress("https", "https://git.example/x", "git.example")
    with pytest.raises(PermissionDenied, match=r"may not use the network to reach 'git\.example'") as refused:
        check_address("clone", address, MANIFEST, local=True)
    assert refused.value.hint.endswith('config.toml, below [git]: hosts = ["git.example"]')
    with pytest.raises(PermissionDenied, match=r'hosts = \["\*\.known", "git\.example"\]'):
        check_address("clone", address, GitSettings(hosts=("*.known",)).manifest(), local=True)
    check_address("clone", address, GitSettings(hosts=("*.example",)).manifest(), local=True)


@requirement("GIT-12")
async def test_local_repositories_can_be_switched_off(workspace: Path, repo: Path) -> None:
    tools = Tools(workspace, GitSettings(local=False))
    with pytest.raises(PermissionDenied, match="on this machine are switched off"):
        await tools("clone", url="r", target_path="x")
    with pytest.raises(PermissionDenied, match="on this machine are switched off"):
        await tools("clone", url=f"file://{repo}", target_path="x")


@requirement("GIT-12")
async def test_a_remote_is_judged_by_where_it_leads(tools: Tools, trusting: Tools, repo: Path, tmp_path: Path) -> None:
    """By its name alone nobody can tell; in a trusted repository, neither."""
    for url in ("ext::sh -c evil", "https://evil.example/x", str(tmp_path), "../../own"):
        git(repo, "config", "remote.origin.url", url)
        for each in (tools, trusting):
            with pytest.raises((PermissionDenied, ExecutionFailed), match=r"^(fetch|push): "):
                await each("fetch", repo_path="r")
            with pytest.raises((PermissionDenied, ExecutionFailed), match=r"^push: "):
                await each("push", repo_path="r")
    git(repo, "config", "remote.origin.url", "https://github.com/x/y")
    git(repo, "config", "url.https://evil.example/.insteadOf", "https://github.com/")
    with pytest.raises(PermissionDenied, match=r"evil\.example"):
        await trusting("fetch", repo_path="r")
    with pytest.raises(InvalidArguments, match="there is no remote 'other'"):
        await trusting("fetch", repo_path="r", remote="other")


@requirement("GIT-12")
@given(st.text(max_size=40))
def test_what_passes_as_a_name_is_no_option_and_one_line(value: str) -> None:
    try:
        found = argument_checks.ref_name("t", "n", value)
    except InvalidArguments:
        return
    assert found == value
    assert not value.startswith("-")
    assert not {"\0", "\n", " ", "~", "^", ":", "?", "*", "[", "\\"} & set(value)
    assert ".." not in value


@requirement("GIT-12")
@given(st.text(alphabet="a./-.git\\", max_size=30))
def test_what_passes_as_a_path_stays_inside(value: str) -> None:
    try:
        found = argument_checks.path("t", "n", value)
    except ToolError:
        return
    assert not found.startswith(("/", "../"))
    assert ".." not in found.split("/")
    assert ".git" not in found.lower().split("/")
