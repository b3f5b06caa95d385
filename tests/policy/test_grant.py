"""Who may see which tool."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.model import Grant
from clawft.policy.globs import may_match
from clawft.policy.grant import may_see_some, visible
from tests.requirements import requirement

Globs = tuple[str, ...]
STATUS = ("git__status", "mcp:git__status", "git_status", "status")


@requirement("GUARD-06")
def test_everything_is_visible_by_default() -> None:
    assert visible(STATUS, Grant())


@requirement("GUARD-06", "T-7.10")
def test_an_allow_list_leaves_just_what_it_names() -> None:
    grant = Grant(allow=("read_file", "write_file"))
    tools = [("file__read", "read_file"), ("file__write", "write_file"), ("shell__exec", "exec_shell")]
    assert [names[0] for names in tools if visible(names, grant)] == ["file__read", "file__write"]


@requirement("GUARD-06")
@pytest.mark.parametrize("glob", ["git__status", "git_*", "mcp:git__*", "stat?s", "[sg]tatus", "*"])
def test_any_accepted_name_may_be_meant(glob: str) -> None:
    assert visible(STATUS, Grant(allow=(glob,)))
    assert not visible(STATUS, Grant(deny=(glob,)))


@requirement("GUARD-06")
@pytest.mark.parametrize("glob", ["delete_*", "delete_repo", "*_repo"])
def test_a_bare_name_hides_the_tools_of_all_servers_and_shows_none(glob: str) -> None:
    names = ("hub__delete_repo", "mcp:hub__delete_repo", "mcp__hub__delete_repo", "mcp:hub:delete_repo")
    assert not visible(names, Grant(deny=(glob,)))
    assert visible(names, Grant(allow=(glob,))) is glob.startswith("*")
    assert visible(names, Grant(deny=("repo", "delete", "hub", "")))


@requirement("GUARD-06")
@pytest.mark.parametrize("glob", ["GIT__status", "git", "atus", "status?", ""])
def test_a_glob_covers_the_whole_name_and_its_case(glob: str) -> None:
    assert not visible(STATUS, Grant(allow=(glob,)))


@requirement("GUARD-06")
def test_deny_wins() -> None:
    assert not visible(STATUS, Grant(allow=("git__status",), deny=("git_*",)))


@requirement("GUARD-06")
def test_an_empty_allow_list_shows_nothing() -> None:
    assert not visible(STATUS, Grant(allow=()))


globs = st.lists(st.text("ab*?[]!_", max_size=8), max_size=4).map(tuple)
names = st.lists(st.text("ab_", max_size=8), min_size=1, max_size=4)


@requirement("GUARD-06")
@given(names, globs, globs)
def test_more_denials_never_show_more(tool: list[str], allow: tuple[str, ...], deny: tuple[str, ...]) -> None:
    if visible(tool, Grant(allow, deny)):
        assert visible(tool, Grant(allow))
        assert visible(tool, Grant((*allow, "x"), deny))


@requirement("GUARD-06")
def test_a_hostile_glob_is_decided_quickly() -> None:
    started = time.process_time()
    assert not visible(["a" * 64], Grant(allow=("*a" * 40 + "b",)))
    assert not may_match("*a" * 100 + "b", "a" * 64)
    assert time.process_time() - started < 1


@requirement("GUARD-06")
@given(st.text("ab", max_size=6))
def test_a_strangers_glob_matches_what_it_spells(text: str) -> None:
    assert may_match(text, text)
    assert may_match("*", text)
    assert may_match("?" * len(text), text)
    assert not may_match(text + "?", text)


@requirement("GUARD-06")
@pytest.mark.parametrize(
    ("allow", "deny", "some"),
    [
        (("*",), (), True),
        (("crm__*",), (), True),
        (("crm__read",), (), True),
        (("c*__read",), (), True),
        (("mcp:crm:*",), (), True),
        (("[ab]*",), (), True),
        (("git__*", "crmx__*", "crm"), (), False),
        ((), (), False),
        (("crm__*",), ("crm__*",), False),
        (("crm__*",), ("*",), False),
        (("crm__*",), ("crm__write*",), True),
        (("crm__*",), ("crm__?", "crm__[!x]", "crm__*x"), True),
    ],
)
def test_whether_anything_of_a_server_could_be_seen(allow: Globs, deny: Globs, some: bool) -> None:
    heads = ("crm__", "mcp__crm__", "mcp:crm__", "mcp:crm:")
    assert may_see_some(heads, Grant(allow, deny)) is some


@requirement("GUARD-06")
@given(st.text("ab_", max_size=8), globs, globs)
def test_what_can_be_seen_is_never_held_impossible(name: str, allow: Globs, deny: Globs) -> None:
    if visible([f"b__{name}"], Grant(allow, deny)):
        assert may_see_some(["b__"], Grant(allow, deny))
