"""How tools are named, and every spelling that is accepted back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.catalog.names import MAX_NAME, RESERVED, NameForm, accepted, canonical, exported, fit, refuse_server
from clawft.model import Origin, Tool
from tests.requirements import requirement

GITHUB = Origin("mcp:github", server="github", trusted=False)
GIT = Origin("git")
EXPORTED = re.compile(r"[A-Za-z0-9_-]{1,64}")


def tool(name: str, alias: str = "") -> Tool:
    return Tool(name, b'{"name":""}', alias=alias)


@requirement("PROV-08", "F9b-A08", "F9a-A02")
@pytest.mark.parametrize(
    ("form", "outside", "inside"),
    [
        (NameForm.PLAIN, "github__create_issue", "git__status"),
        (NameForm.MCP, "mcp:github__create_issue", "git__status"),
        (NameForm.CLAUDE, "mcp__github__create_issue", "mcp__git__status"),
        (NameForm.BARE, "create_issue", "status"),
    ],
)
def test_the_four_forms(form: NameForm, outside: str, inside: str) -> None:
    assert exported(GITHUB, tool("create_issue"), form) == outside
    assert exported(GIT, tool("status"), form) == inside


@requirement("PROV-08")
def test_an_alias_is_the_bare_name() -> None:
    assert exported(Origin("file"), tool("read", alias="read_file"), NameForm.BARE) == "read_file"
    assert exported(Origin("file"), tool("read", alias="read_file"), NameForm.PLAIN) == "file__read"


@requirement("PROV-05", "T-7.5")
def test_the_name_inside_the_house() -> None:
    assert canonical(GITHUB, "create_issue") == "mcp:github__create_issue"
    assert canonical(GIT, "status") == "git__status"


@requirement("PROV-09")
def test_every_spelling_is_accepted() -> None:
    assert set(accepted(GITHUB, tool("create_issue"))) == {
        "github__create_issue",
        "mcp:github__create_issue",
        "mcp__github__create_issue",
        "mcp:github:create_issue",
    }


@requirement("PROV-10")
@pytest.mark.parametrize("form", list(NameForm))
def test_what_is_exported_is_also_accepted(form: NameForm) -> None:
    for name in ("create_issue", "with.dot", "ünïcode", "x" * 200, "a/b c"):
        name_seen = exported(GITHUB, tool(name), form)
        spellings = {*accepted(GITHUB, tool(name)), fit(name), f"mcp:{fit(f'github__{name}')}"}
        assert name_seen in spellings


@requirement("PROV-10")
def test_good_names_stay_as_they_are() -> None:
    for name in ("a", "A-b_9", "x" * MAX_NAME):
        assert fit(name) == name


@requirement("PROV-10")
def test_shortening_is_the_same_after_a_restart() -> None:
    """These are spelled out: a change of them would break every stored permission and approval."""
    assert fit("x" * 65) == "x" * 27 + "x" * 28 + "_9537c5fd"
    assert fit("a.b") == "a_b_2e7336dc"
    assert fit("") == "_e3b0c442"


@requirement("PROV-10")
@given(st.text(max_size=300))
def test_any_name_fits(name: str) -> None:
    assert EXPORTED.fullmatch(fit(name))
    assert fit(name) == fit(name)


@requirement("PROV-10", "PROV-18")
def test_ten_thousand_odd_names_stay_apart() -> None:
    odd = [f"{stem}{number}" for number in range(2500) for stem in ("tool.", "tool/", "工具", "x" * 70)]
    assert len(odd) == 10_000
    assert len({fit(name) for name in odd}) == 10_000
    same_ends = [f"{'a' * 40}{number:05d}{'b' * 40}" for number in range(2000)]
    assert len({fit(name) for name in same_ends}) == 2000


@requirement("PROV-11")
@pytest.mark.parametrize("name", sorted(RESERVED))
def test_the_namespaces_of_built_ins_are_reserved(name: str) -> None:
    assert name in str(refuse_server(name))
    assert "built-in" in str(refuse_server(name))


@requirement("PROV-11")
def test_all_namespaces_of_the_design_are_reserved() -> None:
    assert set("git cargo oauth2 rest ide file shell memory web delegate weft".split()) <= RESERVED


@requirement("PROV-06")
@pytest.mark.parametrize(
    "name", ["a__b", "__", "a__", "", " ", "a b", "-a", ".a", "_a", "a/b", "a:b", "é", "x" * 65, "a\n"]
)
def test_names_a_server_may_not_have(name: str) -> None:
    assert refuse_server(name)


@requirement("PROV-06")
@pytest.mark.parametrize("name", ["github", "a", "A.b-c_9", "x" * 64, "0"])
def test_names_a_server_may_have(name: str) -> None:
    assert refuse_server(name) is None


@requirement("PROV-06")
def test_no_server_is_called_like_the_beginning_of_all_names() -> None:
    assert "begins the names" in str(refuse_server("mcp"))
