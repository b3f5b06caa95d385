"""Names of files that are no UTF-8: as they are told, they are understood."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.file_names import escaped_bytes, unescaped_bytes, unescaped_name
from clawft.wire.visible import visible_text
from tests.builtin.git.plain import EMAIL, NAME, Tools, git, save
from tests.requirements import requirement

WHO = {"author_name": NAME, "author_email": EMAIL}
RAW = b"caf\xe9.txt"
TOLD = "caf\\xe9.txt"
LITERAL = TOLD.encode()
"""A file whose name has these very letters: it may not be taken for the other."""


@pytest.fixture
def odd(repo: Path) -> bytes:
    """Both files in a commit, and changed since."""
    top = os.fsencode(repo)
    for content in ("1\n", "2\n"):
        for name in (RAW, LITERAL):
            Path(os.fsdecode(os.path.join(top, name))).write_text(content)
        if content == "1\n":
            save(repo, "odd")
    return top


def content(top: bytes, name: bytes) -> str:
    return Path(os.fsdecode(os.path.join(top, name))).read_text()


@requirement("GIT-10")
@given(
    st.binary(max_size=40)
    | st.text(alphabet="\\\\x5ce9é/", max_size=12).map(str.encode)
    | st.text(alphabet="⟨⟩U+27E80", max_size=24).map(str.encode)
    | st.sampled_from(["⟨U+202E⟩", "⟨U+27E8⟩", "⟨⟨U+002F⟩⟩", "\u202e", "\r", "⟨U+D800⟩", "⟨U+FFFFFF⟩"]).map(str.encode)
)
def test_a_name_leads_back_to_its_file(raw: bytes) -> None:
    assert unescaped_bytes(escaped_bytes(raw)) == raw
    assert os.fsencode(unescaped_name(escaped_bytes(raw))) == raw
    assert unescaped_bytes(visible_text(escaped_bytes(raw.replace(b"\0", b"")))[:400]) == raw.replace(b"\0", b"")


@requirement("GIT-10")
@given(st.text(alphabet=st.characters(exclude_characters="\\", codec="utf-8")))
def test_a_name_that_is_plain_is_told_as_it_is(name: str) -> None:
    assert escaped_bytes(name.encode()) == name
    assert escaped_bytes(b"back\\slash\\x41") == "back\\slash\\x41"


@requirement("FILE-03", "GIT-12")
@pytest.mark.parametrize("code", ["0000", "002E", "002F", "005C", "D800", "110000"])
def test_what_has_a_say_in_a_path_cannot_be_spelled(code: str) -> None:
    assert unescaped_name(f"⟨U+{code}⟩") == f"⟨U+{code}⟩"


@requirement("GIT-07", "GIT-08", "GIT-09")
@pytest.mark.slow
@pytest.mark.usefixtures("odd")
async def test_each_reading_tool_understands_what_another_told(tools: Tools) -> None:
    told = [each["path"] for each in (await tools("status", repo_path="r"))["result"]]
    assert sorted(told) == sorted([TOLD, "caf\\x5cxe9.txt"])
    for name in told:
        [entry] = (await tools("diff", repo_path="r", paths=[name]))["result"]
        assert (entry["old_file"], entry["new_file"]) == (name, name)
        assert (await tools("show", repo_path="r", file_path=name))["content"] == "1\n"
        assert [each["content"] for each in (await tools("blame", repo_path="r", file_path=name))["result"]] == ["2"]
        assert [each["message"] for each in (await tools("log", repo_path="r", path=name))["result"]] == ["odd"]
    page = await tools("diff", repo_path="r", limit=1)
    following = await tools("diff", repo_path="r", limit=1, cursor=page["next_cursor"])
    assert {page["result"][0]["new_file"], following["result"][0]["new_file"]} == set(told)


@requirement("GIT-04")
@pytest.mark.slow
async def test_each_changing_tool_understands_it_and_takes_no_other(tools: Tools, repo: Path, odd: bytes) -> None:
    assert await tools("add", repo_path="r", paths=[TOLD]) == {"paths": [TOLD]}
    assert git(repo, "diff", "--cached", "--name-only", "-z") == RAW + b"\0"
    assert await tools("restore", repo_path="r", paths=[TOLD], staged=True) == {"paths": [TOLD]}
    assert await tools("restore", repo_path="r", paths=[TOLD]) == {"paths": [TOLD]}
    assert (content(odd, RAW), content(odd, LITERAL)) == ("1\n", "2\n")
    await tools("commit", repo_path="r", message="literal", paths=["caf\\x5cxe9.txt"], **WHO)
    assert git(repo, "show", "--format=", "--name-only", "-z") == LITERAL + b"\0"


@requirement("GIT-12")
@pytest.mark.slow
async def test_conflicts_tell_such_names_too(tools: Tools, repo: Path, odd: bytes) -> None:
    git(repo, "switch", "--quiet", "--create", "side")
    save(repo, "side")
    git(repo, "switch", "--quiet", "main")
    for name in (RAW, LITERAL):
        Path(os.fsdecode(os.path.join(odd, name))).write_text("3\n")
    save(repo, "main")
    git(repo, "merge", "--quiet", "side", ok=False)
    told = [each["path"] for each in (await tools("conflicts", repo_path="r"))["result"]]
    assert sorted(told) == sorted([TOLD, "caf\\x5cxe9.txt"])
    assert await tools("add", repo_path="r", paths=told) == {"paths": told}


@requirement("GIT-10")
@pytest.mark.slow
async def test_a_repository_in_a_folder_of_such_a_name_is_found(tools: Tools, repo: Path) -> None:
    repo.rename(repo.with_name(os.fsdecode(b"r\xff")))
    assert (await tools("status", repo_path="r\\xff"))["branch"] == "main"
