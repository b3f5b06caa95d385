"""Specs as files that read back equal, and small changes to files people wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.config import jsonc
from clawft.config.entry import ServerEntry, read_foreign, read_own
from clawft.config.entry_rules import judge
from clawft.config.json_servers import foreign_servers
from clawft.config.load import SourceLine
from clawft.config.secrecy import looks_secret, variable_for
from clawft.config.server_text import to_json, to_toml, with_table, with_value, without_table
from clawft.errors import ConfigError, InvalidConfig
from clawft.store.document import parse
from clawft.upstream.spec import SandboxTable, ToolRules, UpstreamSpec
from tests.requirements import requirement

HERE = Path("/work space")

STDIO = UpstreamSpec(
    "git-hub.1",
    command="/usr/bin/x",
    args=("--a", 'say "hi"', "ünï\n\x7f"),
    env={"A": "secret://env/A", "B.C": "x = 1 # no comment"},
    cwd="/somewhere/else",
    timeout_ms=1,
    trust="trusted",
    required=True,
    isolation="per-session",
    sandbox=SandboxTable(read=("/a",)),
    tools=ToolRules(allow=("a*",), deny=("b",), timeout_ms={"long build": 9}),
    asks=("roots",),
    era="stateless",
)
HTTP = UpstreamSpec(
    "far", url="https://a.example/mcp?x=1", headers={"X-A": "b"}, cwd=str(HERE), enabled=False, sandbox="off"
)


def from_toml(text: str) -> UpstreamSpec:
    document = parse(text.encode(), "x.toml")
    told = read_own(document.tables, document, ())
    assert isinstance(told, ServerEntry), told
    return _judged(told.name, told)


def from_json(text: str) -> UpstreamSpec:
    ((name, entry),) = foreign_servers(jsonc.parse(text.encode(), "x.json"))[1].items()
    told = read_foreign(entry, SourceLine("x.json"), name)
    assert isinstance(told, ServerEntry), told
    return _judged(name, told)


def _judged(name: str, told: ServerEntry) -> UpstreamSpec:
    spec = judge(name, told, SourceLine("x"), workspace=HERE)
    assert isinstance(spec, UpstreamSpec), spec
    return spec


@requirement("CONF-04", "F9b-T07", "test_mcp_server_config_serde_stdio", "F9a-A08")
def test_a_command_survives_both_forms() -> None:
    assert from_toml(to_toml(STDIO)) == STDIO
    assert from_json(to_json(STDIO)) == STDIO


@requirement("CONF-04", "F9b-T07", "test_mcp_server_config_serde_http", "F9a-A08")
def test_an_address_survives_both_forms() -> None:
    assert from_toml(to_toml(HTTP)) == HTTP
    assert from_json(to_json(HTTP)) == HTTP


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0$"), max_size=12)
PROGRAMS = st.fixed_dictionaries(
    {
        "command": st.just("/bin/x"),
        "args": st.lists(TEXTS, max_size=3).map(tuple),
        "env": st.dictionaries(st.from_regex(r"[A-Z_]{1,5}", fullmatch=True), TEXTS, max_size=3),
    }
)
PLACES = st.fixed_dictionaries(
    {"url": st.just("https://x.example/mcp"), "headers": st.dictionaries(TEXTS, TEXTS, max_size=2)}
)


def spec_of(kind: dict[str, Any], **more: Any) -> UpstreamSpec:
    return UpstreamSpec(**kind, **more)


SPECS = st.builds(
    spec_of,
    kind=PROGRAMS | PLACES,
    name=st.from_regex(r"x[a-z0-9.-]{0,8}", fullmatch=True),
    cwd=st.just("/x"),
    enabled=st.booleans(),
    timeout_ms=st.integers(1, 86_400_000),
    trust=st.sampled_from(["trusted", "untrusted"]),
    tools=st.builds(ToolRules, timeout_ms=st.dictionaries(TEXTS, st.integers(1, 1000), max_size=2)),
)


@requirement("CONF-04")
@settings(max_examples=80, deadline=None)
@given(SPECS)
def test_any_spec_survives_both_forms(spec: UpstreamSpec) -> None:
    assert from_toml(to_toml(spec)) == spec
    assert from_json(to_json(spec)) == spec


# ── one change ───────────────────────────────────────────────────────────────────────────────────────────────────────

FILE = """# servers of mine
[mcp_servers.a]
url = "http://a"   # the first

[mcp_servers.b]
enabled = false

[result]
limit = 5
"""


@requirement("MGR-19")
def test_a_switch_changes_one_line() -> None:
    off = with_value(FILE, "f", ("mcp_servers", "a"), "enabled", False)
    assert set(off.splitlines()) - set(FILE.splitlines()) == set()
    assert tomllib.loads(off)["mcp_servers"]["a"] == {"url": "http://a", "enabled": False}
    on = with_value(off, "f", ("mcp_servers", "a"), "enabled", True)
    assert "# the first" in on
    assert tomllib.loads(on)["mcp_servers"]["a"]["enabled"] is True


@requirement("MGR-19")
def test_a_file_with_a_mark_and_odd_line_ends_is_changed_in_the_right_line() -> None:
    text = "\ufeff# a\u2028b\n[mcp_servers.x]\nenabled = true\n"
    changed = with_value(text, "f", ("mcp_servers", "x"), "enabled", False)
    assert changed == "# a\u2028b\n[mcp_servers.x]\nenabled = false\n"


@requirement("MGR-19")
def test_a_table_comes_and_goes() -> None:
    more = with_table(FILE, "f", ("mcp_servers", "c.d"), {"enabled": False})
    assert tomllib.loads(more)["mcp_servers"]["c.d"] == {"enabled": False}
    less = without_table(FILE, "f", ("mcp_servers", "b"))
    assert tomllib.loads(less) == {"mcp_servers": {"a": {"url": "http://a"}}, "result": {"limit": 5}}
    assert with_table("", "f", ("mcp_servers", "x"), {"enabled": False}) == "[mcp_servers.x]\nenabled = false\n"


@requirement("MGR-19")
@pytest.mark.parametrize(
    "text",
    ['mcp_servers = { a = { url = "x" } }\n', 'mcp_servers.a.url = "x"\n', '[mcp_servers]\na = { url = "x" }\n'],
)
def test_what_cannot_be_changed_safely_is_left_to_the_person(text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"^f:\d+ cannot be changed safely"):
        with_value(text, "f", ("mcp_servers", "a"), "enabled", False)


# ── JSON of editors ──────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-10")
def test_comments_and_trailing_commas_are_forgiven_and_texts_left_alone() -> None:
    text = '\ufeff{\n // one\n "a": "http://x//y /* no */ ,}", /* two\n */ "b": [1, 2,],\n}'
    assert jsonc.parse(text.encode(), "f") == {"a": "http://x//y /* no */ ,}", "b": [1, 2]}


@requirement("CONF-12")
@pytest.mark.parametrize(
    ("text", "said"),
    [('{\n"a": nope}', "f:2: not valid JSON"), ('{"a":\n1', "f:2: not valid JSON"), ("[]", "f:1: a JSON")],
)
def test_a_mistake_has_its_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^{said}"):
        jsonc.parse(text.encode(), "f")


@requirement("CONF-22")
def test_the_line_of_a_server_in_json() -> None:
    content = msgspec.json.format(
        b'{"x":{"b":1},"mcpServers":{"a":{},"b":{"command":"y"},"\\u0063":{},"d":{}}}', indent=1
    )
    lines = [content.split(b"\n")[line - 1].strip() for line in jsonc.lines_of(content, "mcpServers", "abcd")]
    assert [line[:3] for line in lines] == [b'"a"', b'"b"', b'"mc', b'"d"'], (
        "one that is spelled otherwise is not found"
    )


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("CONF-14")
@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("GITHUB_TOKEN", "abcdefgh", True),
        ("X", "ghp_1234567890", True),
        ("X", "sk-ant-1", True),
        ("Authorization", "Bearer abc", True),
        ("OPENAI_API_KEY", "qwertyuiop", True),
        ("DATA", "f81d4fae7dec11d0a76500a0c91e6bf6", True),
        ("GITHUB_TOKEN", "secret://env/GITHUB_TOKEN", False),
        ("GITHUB_TOKEN", "${GITHUB_TOKEN}", False),
        ("Authorization", "Bearer ${TOKEN}", False),
        ("TOKEN_FILE", "/home/x/token", False),
        ("AUTH_URL", "https://login.example", False),
        ("USE_AUTH", "true", False),
        ("MAX_TOKENS", "4096", False),
        ("LOG_LEVEL", "debug", False),
        ("GITHUB_TOKEN", "", False),
    ],
)
def test_what_looks_like_a_secret(name: str, value: str, secret: bool) -> None:
    assert looks_secret(name, value) is secret


@requirement("CONF-14")
def test_the_variable_that_could_hold_it() -> None:
    assert variable_for("git-hub", "API_KEY") == "API_KEY"
    assert variable_for("git-hub", "X-Api-Key") == "GIT_HUB_X_API_KEY"
