"""TOML with lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import ConfigUnparsable
from clawft.store.document import leaves, parse
from tests.requirements import requirement

TEXT = b'''# a comment
[tools]
allow = [
  "file__*",   # = not a key
]
"deny" = ["x"]

[gateway]
instructions = """
[audit]
values = true
"""
page_size = 10

[security]
command_policy = { allow = ["privilege"] }
url_policy.allow_hosts = ["a"]
'''


@requirement("CONF-13", "CONF-22")
@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("tools",), 2),
        (("tools", "allow"), 3),
        (("tools", "deny"), 6),
        (("gateway", "instructions"), 9),
        (("gateway", "page_size"), 13),
        (("security", "command_policy", "allow"), 16),
        (("security", "url_policy", "allow_hosts"), 17),
    ],
)
def test_every_path_knows_its_line(path: tuple[str, ...], line: int) -> None:
    assert parse(TEXT, "f").line_of(path) == line


@requirement("CONF-13")
def test_text_inside_a_long_string_is_no_key() -> None:
    assert ("audit", "values") not in parse(TEXT, "f").lines


@requirement("CONF-13")
def test_lines_end_where_toml_ends_them() -> None:
    """A mark some editors begin with is no text, and what only Unicode calls a line end is none."""
    text = "\ufeff# a\u2028b\x85c\r\n[tools]\r\ndeny = ['\x85']\r\n"
    document = parse(text.encode(), "f")
    assert (document.tables, document.line_of(("tools", "deny"))) == ({"tools": {"deny": ["\x85"]}}, 3)


@requirement("CONF-12")
@pytest.mark.parametrize(
    ("content", "line"),
    [(b"a = 1\nb = = 2\n", 2), (b"[tools]\nallow = [\n", 3), (b"a = 1\nb = '\xff'\n", 2), (b"a=1\na=2\n", 2)],
)
def test_broken_toml_names_file_and_line(content: bytes, line: int) -> None:
    with pytest.raises(ConfigUnparsable, match=rf"^my\.toml:{line}: ") as broken:
        parse(content, "my.toml")
    assert broken.value.hint


@requirement("CONF-12")
def test_deep_nesting_is_broken_toml_and_no_crash() -> None:
    with pytest.raises(ConfigUnparsable):
        parse(b"a = " + b"[" * 100_000, "f")


@requirement("CONF-12")
@given(st.binary(max_size=200))
def test_any_bytes_are_a_document_or_an_error_with_a_line(content: bytes) -> None:
    try:
        said = f"{parse(content, 'f').file}:"
    except ConfigUnparsable as broken:
        said = broken.message
    assert said.startswith("f:")


@requirement("CONF-13")
def test_open_tables_are_not_entered() -> None:
    tables = parse(b"[mcp_servers.x]\nanything = 1\n[tools]\ndeny = []\n[web]\n", "f").tables
    assert list(leaves(tables, frozenset({"mcp_servers"}))) == [(("tools", "deny"), []), (("web",), {})]


# ── files that are made to be costly ─────────────────────────────────────────────────────────────────────────────────

LONG = b"a." * 10_000 + b"b = 1\n"


@requirement("CONF-06")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\n" + LONG, "f:2: a key has more than 64 parts"),
        (b"[" + b"a . " * 10_000 + b"a]", "f:1: a key has more than 64 parts"),
        (b'"\\".\\"".' * 10_000 + b"a = 1", "f:1: a key has more than 64 parts"),
        (b"'x'." * 10_000 + b"a = 1", "f:1: a key has more than 64 parts"),
        (b'x = {y = """\n"\n""", ' + LONG.strip() + b"}", "f:3: a key has more than 64 parts"),
        (b"# it's\n" + LONG, "f:2: a key has more than 64 parts"),
        (b"x = '''\n\"'''\n" + LONG, "f:3: a key has more than 64 parts"),
        (b"\nx = -" + b"9" * 5_000, "f:2: a number has more than 4000 digits"),
        (b"x = [1, " + b"9_9" * 2_000 + b"]", "f:1: a number has more than 4000 digits"),
    ],
)
def test_what_tomllib_would_choke_on_is_refused_by_its_line(content: bytes, said: str) -> None:
    with pytest.raises(ConfigUnparsable) as wrong:
        parse(content, "f")
    assert wrong.value.message == said


@requirement("CONF-06")
@pytest.mark.parametrize("quote", [b'"', b"'", b'"""', b"'''"])
def test_texts_may_have_as_many_dots_and_digits_as_they_like(quote: bytes) -> None:
    content = b"x = " + quote + b"a." * 1_000 + b"9" * 5_000 + quote + b"  # " + LONG
    assert parse(content, "f").tables == {"x": "a." * 1_000 + "9" * 5_000}
