"""What text alone says about a path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.model import Allow, Deny
from clawft.policy import launch, path
from clawft.policy.path import inside
from tests.requirements import requirement


@requirement("FILE-03", "IDE-12", "F8-T10")
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "path-empty"),
        ("a\0b", "path-null-byte"),
        ("a/" * 3000, "path-too-long"),
        ("ü" * 128, "path-too-long"),
    ],
)
def test_unusable_paths_are_refused(text: str, rule: str) -> None:
    verdict = path.decide(text)
    assert isinstance(verdict, Deny)
    assert verdict.rule == rule
    assert verdict.hint


@requirement("FILE-03")
@pytest.mark.parametrize("text", ["src/main.py", ".", "/tmp/x", "~", "a b/ü.txt", "../up"])
def test_ordinary_paths_pass(text: str) -> None:
    assert isinstance(path.decide(text), Allow)


@requirement("FILE-03", "IDE-12")
@pytest.mark.parametrize("resolved", ["/base", "/base/", "/base/a", "/base/a/b.txt", "/base/..a"])
def test_the_root_and_what_lies_in_it_are_inside(resolved: str) -> None:
    assert inside(resolved, "/base")
    assert inside(resolved, "/base/")
    assert inside(resolved, "/")


@requirement("FILE-03", "IDE-12", "F8-T09", "F8-T11")
@pytest.mark.parametrize(
    "resolved",
    ["/base-evil", "/base2/a", "/", "/etc/passwd", "/base/../etc", "work/a", "", "/Base/a", "../../../etc/passwd"],
)
def test_siblings_parents_and_unresolved_text_are_outside(resolved: str) -> None:
    assert not inside(resolved, "/base")


@requirement("FILE-03")
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_gets_an_answer(one: str, other: str) -> None:
    assert path.decide(one) == path.decide(one)
    assert inside(one, other) in (True, False)
    assert not inside(f"/root{one}/../x", f"/root{one}")


@requirement("CONF-18", "F9a-A05")
@pytest.mark.parametrize("bad", ["a;b", "a|b", "a&b", "$HOME/x", "`x`", "a\nb", "../server", "/a/../b", "", "  "])
def test_a_program_with_shell_in_it_is_unsafe(bad: str) -> None:
    verdict = launch.decide(bad)
    assert isinstance(verdict, Deny)
    assert "unsafe" in verdict.reason


@requirement("CONF-18")
@pytest.mark.parametrize("good", ["/usr/local/bin/github-mcp", "npx", "/opt/my server/run", "C:\\tools\\x.exe"])
def test_a_plain_program_is_safe(good: str) -> None:
    assert isinstance(launch.decide(good), Allow)
