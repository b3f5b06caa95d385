"""Commands and URLs are found wherever they hide in the arguments."""

import json
import re
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.model import Deny
from clawft.policy import command, url_values
from clawft.policy.arguments import UNJUDGEABLE, commands, search_arguments, suspicious, urls
from clawft.policy.command.rules import RULES
from clawft.policy.command_values import COMMAND_KEYS, LIST_KEYS
from clawft.policy.search import MAX_DEPTH, MAX_URLS, MAX_VALUES
from clawft.policy.url_values import urls_of
from tests.requirements import requirement


@requirement("GUARD-03", "GUARD-05")
@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"command": "ls -la"}, [("command", "ls -la")]),
        ({"Cmd": "ls"}, [("Cmd", "ls")]),
        ({"shell-command": "ls"}, [("shell-command", "ls")]),
        ({"cmd": ["rm", "-rf", "a b"]}, [("cmd", "rm -rf 'a b'")]),
        ({"cmd": ["cd /", "ls"]}, [("cmd", "'cd /' ls"), ("cmd[0]", "cd /"), ("cmd[1]", "ls")]),
        ({"commands": ["a b", "rm -rf /"]}, [("commands[0]", "a b"), ("commands[1]", "rm -rf /")]),
        ({"commands": ["rm", "/"]}, [("commands", "rm /"), ("commands[0]", "rm"), ("commands[1]", "/")]),
        ({"commands": [["rm", "-rf", "/"]]}, [("commands[0]", "rm -rf /")]),
        ({"command": "rm", "Args": "-rf /"}, [("command", "rm"), ("command", "rm -rf /")]),
        ({"argv": ["sh", "-c"], "args": [["ls"], "-l"]}, [("argv", "sh -c"), ("argv", "sh -c ls -l")]),
        ({"command": {"line": "ls", "description": "`rm -rf /`"}}, [("command.line", "ls")]),
        ({"command": {"program": "rm", "args": ["/"]}}, [("command.program", "rm"), ("command.program", "rm /")]),
        ({"script": {"steps": [{"then": ["ls", "-l"]}]}}, [("script.steps[0].then", "ls -l")]),
        ({"command": "rm", "args": ["-rf", "/"]}, [("command", "rm"), ("command", "rm -rf /")]),
        ({"steps": [{"run": "make"}]}, [("steps[0].run", "make")]),
        ({"cmdline": "ls"}, [("cmdline", "ls")]),
        ({"script": "a\nb"}, [("script", "a\nb")]),
        ({"command": 3, "text": "rm -rf /", "path": "command"}, []),
        ({"command": []}, []),
    ],
)
def test_commands(arguments: dict[str, Any], found: list[tuple[str, str]]) -> None:
    assert commands(arguments) == found


@requirement("GUARD-04", "GUARD-05")
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("https://example.com/a b", ["https://example.com/a b"]),
        ("  HTTP://x/ ", ["HTTP://x/"]),
        ("//host/x", ["//host/x"]),
        ("file:///etc/passwd", []),
        ("postgres://db.internal/x", []),
        ("gopher://127.0.0.1/x", ["gopher://127.0.0.1/x"]),
        ("http:\\\\127.0.0.1", ["http:\\\\127.0.0.1"]),
        ("http:127.0.0.1", ["http:127.0.0.1"]),
        ("\x01http://x/", ["http://x/"]),
        ("view-source:http://127.0.0.1/", ["http://127.0.0.1/"]),
        ("JAR:feed:http://127.0.0.1/x!/y", ["http://127.0.0.1/x!/y"]),
        ("view-source:about:blank", []),
        ("h\tttp://127.0.0.1/x", ["http://127.0.0.1"]),
        ("https://a.example/\nand more text", ["https://a.example/", "https://a.example"]),
        ("https://127.0.\n0.1/", ["https://127.0.", "https://127.0.0.1"]),
        ("see https://example.com", []),
        ("\u00a0http://x/\u3000", ["http://x/"]),
        ("\ufeff\u2003http:127.0.0.1\u2028", ["http:127.0.0.1"]),
        ("<http://x/>", ["http://x/"]),
        ("'\u200bhttp://[::1]'", ["http://[::1]"]),
        ('http://127.0.0.1"', ["http://127.0.0.1"]),
        ("<URL:http://127.0.0.1/>", ["http://127.0.0.1/"]),
        ("<http://localhost:3000/docs> has the manual", []),
        ('"http://localhost:3000/" is our server', []),
        ("unix:///run/docker.sock", []),
        ("localhost:8080/x", []),
        ("// a comment", []),
        ("http: the protocol", []),
        ("http://localhost is our server", []),
        ("a//b", []),
        ("", []),
    ],
)
def test_urls(value: str, found: list[str]) -> None:
    assert urls({"deep": [{"x": value}]}) == [("deep[0].x", url) for url in found]


@requirement("GUARD-04", "GUARD-05")
@pytest.mark.parametrize("text", [r"/\d+/", r"/\bfoo\b/i", r"\\server\share\x", r"\\d\\w", r"/\w"])
def test_a_pattern_or_a_path_of_windows_is_no_url_but_where_one_is_asked_for(text: str) -> None:
    assert urls({"pattern": text, "path": text}) == []
    assert urls({"url": text}) == [("url", text)]


@requirement("GUARD-04", "GUARD-05")
@pytest.mark.parametrize("text", [r"/\127.0.0.1/x", r"\\10.0.0.1\c$", r"\/localhost:80", r"\/[::1]/"])
def test_behind_backslashes_an_address_is_one_everywhere(text: str) -> None:
    assert urls({"text": text}) == [("text", text)]


@requirement("GUARD-04", "GUARD-05")
def test_a_file_is_judged_where_it_would_be_fetched_and_not_where_it_names_a_resource() -> None:
    file = "file:///etc/passwd"
    assert urls({"url": file, "pageUrl": file, "uri": file}) == [("url", file), ("pageUrl", file)]


@requirement("GUARD-04", "GUARD-05")
@pytest.mark.parametrize(
    "url", ["unix:///run/x.sock", "http+unix://%2Fx/", "tcp://h:1", "smb://h/c$", "sftp://h/", "telnet://h"]
)
def test_what_a_fetching_program_would_open_is_judged_where_a_url_is_asked_for(url: str) -> None:
    assert urls({"url": url, "hook_url": url, "endpoint": url}) == [("url", url), ("hook_url", url), ("endpoint", url)]
    assert urls({"uri": url, "text": url}) == []


@requirement("GUARD-04", "GUARD-05")
@pytest.mark.parametrize("key", ["url", "URL", "uri", "href", "endpoint", "base_url", "urls"])
@pytest.mark.parametrize(
    "address",
    [
        *(
            "169.254.169.254/latest",
            "localhost:8080/x",
            "localhost",
            "127.1",
            "0x7f.1/x",
            "[::1]:80/x",
            "2130706433:80",
        ),
        *(
            "metadata.google.internal/computeMetadata",
            "\uff11\uff12\uff17.0.0.1/x",
            "\u00a0127.0.0.1",
            "user@127.0.0.1/x",
        ),
    ],
)
def test_an_address_without_its_scheme_is_judged_where_one_is_asked_for(key: str, address: str) -> None:
    arguments = {key: [address]}
    assert urls(arguments) == [(f"{key}[0]", f"//{address.strip()}")]
    assert suspicious(json.dumps(arguments, ensure_ascii=False).encode())
    assert urls({"host": address, "text": address}) == []


@requirement("GUARD-04", "GUARD-05")
@pytest.mark.parametrize(
    "value",
    [
        *(
            "readme.md",
            "/v1/users",
            "users/10/comments",
            "42/edit",
            "2130706433",
            "metadata/schema.json",
            "metadata.json",
        ),
        *("urn:isbn:0451450523", "mailto:a@b.c", "data:text/plain,x", "note:123", "git@10.0.0.1:x.git", "C:\\x"),
        *("postgres://localhost/x", "redis://127.0.0.1", "ssh://git@10.0.0.1/x", "s3://bucket/x", "example.org/x", ""),
    ],
)
def test_what_only_names_something_is_no_address(value: str) -> None:
    assert urls({"url": value, "uri": value, "href": value, "endpoint": value}) == []


@requirement("GUARD-05")
@pytest.mark.parametrize(
    "arguments",
    [
        {"a": [0] * (MAX_VALUES + 1)},
        {"a": ["http://x/"] * (MAX_URLS + 1)},
        {"command": "x" * 300_000},
        {"a": json.loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))},
    ],
    ids=["many", "urls", "text", "deep"],
)
def test_what_lies_beyond_the_bounds_is_refused(arguments: dict[str, Any]) -> None:
    assert not search_arguments(arguments).complete
    assert commands(arguments)[-1][1] == UNJUDGEABLE
    everything_allowed = command.CommandPolicy(allow=tuple(rule.name for rule in RULES))
    assert isinstance(command.decide(UNJUDGEABLE, everything_allowed), Deny)


@requirement("GUARD-05")
@pytest.mark.parametrize(
    "raw",
    [
        rb'{"u":"http:\/\/x"}',
        rb'{"u":"http\u003a//x"}',
        rb'{"\u0063ommand":"ls"}',
        rb'{"u":"//x"}',
        rb'{"u":"  Http:x"}',
        b'{"CMD":"ls"}',
        b'{"a":{"sh":"ls"}}',
    ],
)
def test_escapes_do_not_hide_anything(raw: bytes) -> None:
    assert suspicious(raw)


@requirement("GUARD-05")
@pytest.mark.parametrize("key", sorted(COMMAND_KEYS | LIST_KEYS))
def test_every_command_key_is_suspicious(key: str) -> None:
    for spelled in (key, key.upper(), key.title(), key.replace("_", "-")):
        assert commands({spelled: "ls"})
        assert suspicious(msgspec.json.encode({spelled: "ls"}))


@requirement("GUARD-05")
def test_ordinary_arguments_are_not_suspicious() -> None:
    raw = b'{"path":"src/main.py","line":12,"query":"find all of the things","flag":true}'
    assert not suspicious(raw)


keys = st.one_of(
    st.sampled_from(sorted(COMMAND_KEYS | LIST_KEYS | {"Command", "url", "args", "URI", "endpoint", "hrefs"})),
    st.text(max_size=8),
)
texts = st.one_of(
    st.text(max_size=20),
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["", " ", "\t", "h\n", "\u00a0", "\ufeff\u3000 ", "<", "'\u1680", "url:"]),
        st.sampled_from(["http:", "x://", "//", "\\\\", "127.0.0.1", "localhost", "[::1]"]),
        st.text(),
    ),
)
trees = st.dictionaries(
    keys,
    st.recursive(
        st.one_of(texts, st.integers(-5, 5), st.none(), st.booleans()),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
        max_leaves=8,
    ),
    max_size=4,
)


@requirement("GUARD-05")
@given(trees, st.booleans())
def test_the_quick_look_never_misses_what_the_long_one_finds(tree: dict[str, Any], ascii_only: bool) -> None:
    found = search_arguments(tree)
    for raw in (json.dumps(tree, ensure_ascii=ascii_only).encode(errors="replace"), _compact(tree)):
        if found.commands or found.urls:
            assert suspicious(raw)


def _compact(tree: dict[str, Any]) -> bytes:
    return json.dumps(tree, separators=(",", ":")).encode()


@requirement("GUARD-05")
def test_a_megabyte_is_searched_quickly() -> None:
    started = time.process_time()
    search_arguments({"a": "https://x/" + "\n" * 1_000_000, "b": "h" + "\t" * 1_000_000})
    search_arguments({"url": "<\u00a0" * 500_000, "uri": "1." * 500_000, "x": "url:" * 250_000})
    search_arguments({"command": {**{str(n): [] for n in range(40_000)}, "args": ["a b"] * 8_000}})
    search_arguments({"command": {**{str(n): "a" for n in range(40_000)}, "args": "b" * 1_000_000}})
    assert not suspicious(b'{"a":"' + "\u3042\u00a0".encode() * 200_000 + b'"}')
    assert not suspicious(b'{"a":"' + b'"c' * 100_000 + b'"}')
    assert time.process_time() - started < 2


# ── texts of many lines ──────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-04")
def test_a_text_of_many_lines_that_begins_like_no_url_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_values, "_BREAK", None)
    assert urls_of("content", "a line of text\n" * 1_000) == []
    with pytest.raises(AttributeError):  # so it would be seen
        urls_of("content", "http:\n" * 2)


torn = st.lists(
    st.one_of(
        st.sampled_from(["http", "https", "h", "t", "p", "s", ":", "/", "//", "\\", "\n", "\t", "\r", " ", "'", "("]),
        st.sampled_from(
            ["view-source:", "url:", "x+y.z-", "z" * 62, "\n" * 70, "a", "1", ".", "K", "\u200b", "\u2028"]
        ),
        st.text(max_size=3),
    ),
    max_size=14,
).map("".join)


@requirement("GUARD-04", "GUARD-05")
@settings(max_examples=1_000)
@given(st.sampled_from(["content", "url"]), torn)
def test_a_url_is_found_however_it_is_torn(name: str, value: str) -> None:
    """As if every text was joined first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(url_values, "_TORN_URL", re.compile(""))
        joined = urls_of(name, value)
    assert urls_of(name, value) == joined
