"""`weft tools`: one catalog, one set of guards, for a person as for an agent."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from clawft.cli.tools.entries import first_sentence
from tests.requirements import requirement

TINY = Path(__file__).parents[2] / "servers" / "tiny.py"

pytestmark = pytest.mark.slow  # processes that take their time


@requirement("PROV-23", "AGENT-14")
def test_list_is_an_aligned_table_in_a_pipe(run: Any) -> None:
    done = run("tools", "list")
    assert (done.code, done.err) == (0, "")
    head, *rows = done.out.splitlines()
    column = head.index("WHAT IT DOES")
    assert all(row[column - 1] == " " and row[column] != " " for row in rows)
    assert "\t" not in done.out
    assert "\x1b" not in done.out
    assert any(row.startswith("file__read ") and "read-only" in row for row in rows)


@requirement("PROV-23", "AGENT-14")
def test_list_as_json_is_one_document(run: Any) -> None:
    tools = {tool["name"]: tool for tool in run("tools", "list", "--json").json["tools"]}
    assert tools["file__read"]["flags"] == ["read-only"]
    assert tools["file__read"]["tokens"] > 0
    members = {"name", "title", "description", "namespace", "server", "trusted", "flags", "tokens"}
    assert set(tools["file__read"]) == members


@requirement("AGENT-14", "GUARD-06")
def test_the_common_options_choose_tools_and_names(run: Any) -> None:
    def names(*options: str) -> list[str]:
        return [tool["name"] for tool in run("tools", "list", "--json", *options).json["tools"]]

    assert names("--allow", "file__read", "--allow", "memory__*", "--deny", "*__store") == [
        "file__read",
        "memory__recall",
        "memory__list",
        "memory__forget",
        "memory__search",
    ]
    assert names("--names", "claude", "--allow", "file__read") == ["mcp__file__read"]
    assert names("--no-builtin") == []


@requirement("AGENT-14")
def test_a_list_may_be_of_some_servers_families_or_names(run: Any) -> None:
    def names(*only: str) -> list[str]:
        return [tool["name"] for tool in run("tools", "list", "--json", *only).json["tools"]]

    assert names("file") == ["file__read", "file__write", "file__list", "file__search"]
    assert names("*__search", "weft") == [
        "file__search", "memory__search", "weft__read_result", "weft__list_resources", "weft__read_resource"
    ]  # fmt: skip
    assert names("fi*") == names("file")


@requirement("AGENT-14")
def test_a_list_of_a_name_that_nothing_has_is_an_error(run: Any) -> None:
    """Also beside one that there is, and as JSON, as a script would take an empty list for an answer."""
    for words in (["fiel"], ["fiel", "--json"], ["git", "fiel"]):
        nothing = run("tools", "list", *words)
        assert (nothing.code, nothing.out) == (1, "")
        assert nothing.err == "weft: no server, family or tool matches fiel\nhint: did you mean file?\n"
    assert run("tools", "list", "qqqq").err == "weft: no server, family or tool matches qqqq\nhint: weft tools list\n"
    found = run("tools", "list", "git", "--surface", "search")
    assert (found.code, "--surface full lists them" in found.err) == (1, True)


@requirement("AGENT-14")
def test_tools_about_all_servers_are_called_with_the_servers_there(run: Any) -> None:
    assert run("servers", "add", "one", "--trust", "--", sys.executable, str(TINY)).code == 0
    found = run("tools", "call", "weft__search_tools", "query=echo", "--surface", "search", "--json")
    assert "one__echo" in found.out
    through = ("tools", "call", "mcp__weft__call_tool", "name=one__echo", 'arguments:={"text": "a"}')
    assert run(*through, "--surface", "search").out == "tiny: a\n"
    assert '"server":"one"' in run("tools", "call", "weft__list_resources").out


@requirement("AGENT-14", "MGR-19")
def test_why_a_server_is_down_is_told_once_also_of_one_that_was_up(run: Any, workspace: Path) -> None:
    """Its tools are remembered, so the call is made."""
    script = workspace / "server.py"
    script.write_text(TINY.read_text())
    assert run("servers", "add", "one", "--trust", "--", sys.executable, str(script)).code == 0
    assert run("tools", "call", "one__echo", "text=a").out == "tiny: a\n"
    script.write_text("raise SystemExit('all is lost')")
    done = run("tools", "call", "one__echo", "text=a")
    assert (done.code, done.out, done.err.count("all is lost")) == (1, "", 1)
    assert done.err.endswith("weft: one__echo: one is not connected\nhint: weft servers test one\n")


@requirement("AGENT-14")
def test_a_tool_of_ours_that_is_not_always_there_says_when_it_is(run: Any, home: Path) -> None:
    asked = run("tools", "call", "web__search", "query=x")
    step = f'{home}/config.toml: [web] search_url = "https://…/search", a SearXNG'
    assert asked.err == f"weft: web__search is offered once a search engine is configured\nhint: {step}\n"
    assert "--explain" in run("tools", "show", "delegate__task").err
    hidden = run("tools", "show", "weft__call_tool")
    assert (hidden.code, hidden.err.endswith("hint: --surface search\n")) == (1, True)
    assert run("tools", "show", "weft__call_tool", "--surface", "search").code == 0


@requirement("AGENT-14", "PROV-06")
def test_a_name_that_several_servers_have_is_told_with_all_of_theirs(run: Any, home: Path) -> None:
    for name in ("one", "two"):
        assert run("servers", "add", name, "--", sys.executable, str(TINY)).code == 0
    for words in (["call", "echo", "text=a"], ["show", "echo"]):
        done = run("tools", *words)
        assert (done.code, done.out) == (1, "")
        assert "weft: several servers have a tool echo\nhint: use the full name: one__echo, two__echo\n" in done.err


@requirement("AGENT-14", "CONF-07")
def test_an_agent_has_its_own_list(run: Any, home: Path) -> None:
    (home / "agents" / "reader").mkdir(parents=True)
    (home / "agents" / "reader" / "config.toml").write_text('[tools]\nallow = ["file__read"]\n')
    assert len(run("tools", "list", "--json", "--agent", "reader").json["tools"]) == 1


@requirement("PROV-23")
def test_tokens_are_counted_and_summed(run: Any) -> None:
    head, *rows, total = run("tools", "list", "--tokens", "--allow", "file__*").out.splitlines()
    assert "TOKENS" in head
    assert int(total.split()[1]) == sum(int(row.split()[2]) for row in rows)


@requirement("PROV-23")
def test_search_ranks_names_before_descriptions(run: Any) -> None:
    found = [tool["name"] for tool in run("tools", "search", "--json", "write").json["tools"]]
    assert found[0] == "file__write"
    assert run("tools", "search", "--json", "file", "WRITE").json["tools"][0]["name"] == "file__write"
    nothing = run("tools", "search", "xyzzy")
    assert (nothing.code, nothing.out) == (0, "")
    assert "nothing found" in nothing.err


@requirement("PROV-23")
def test_show_tells_arguments_and_names(run: Any) -> None:
    done = run("tools", "show", "read_file")
    assert done.out.startswith("file__read")
    path = next(line for line in done.out.splitlines() if line.startswith("path"))
    assert path.split()[:3] == ["path", "string", "yes"]
    assert "mcp__file__read" in done.out
    assert "only files whose name or path matches" in run("tools", "show", "file__search").out  # though it may be null
    assert run("tools", "show", "file__read", "--json").json["inputSchema"]["required"] == ["path"]


@requirement("PROV-23")
@pytest.mark.parametrize("verb", ["show", "call"])
def test_an_unknown_tool_names_the_nearest(run: Any, verb: str) -> None:
    done = run("tools", verb, "file__raed")
    assert (done.code, done.out) == (1, "")
    assert done.err == "weft: unknown tool: file__raed\nhint: did you mean file__read?\n"


@requirement("PROV-23", "GUARD-07")
@pytest.mark.parametrize("verb", ["show", "call"])
def test_a_hidden_tool_is_an_unknown_tool(run: Any, verb: str) -> None:
    done = run("tools", verb, "shell__exec", "--deny", "shell__*")
    assert done.code == 1
    assert done.err.startswith("weft: unknown tool: shell__exec\n")


@requirement("PROV-23")
def test_call_prints_the_text(run: Any, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")
    done = run("tools", "call", "file__read", "path=a.txt", "limit=2")
    assert (done.code, done.out, done.err) == (0, "one\ntwo\n", "")


@requirement("PROV-23")
def test_call_with_json_arguments_and_json_result(run: Any, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one\ntwo\n")
    done = run("tools", "call", "file__read", "--json", "--args", '{"path": "a.txt", "limit": 9}', "limit:=1")
    assert done.json["content"][0]["text"] == "one\n"


@requirement("PROV-23")
def test_a_value_can_come_from_a_file_or_stdin(run: Any, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("a=b & 'c'\n")
    assert run("tools", "call", "file__write", "path=x", f"content=@{tmp_path}/long.txt").code == 0
    assert run("tools", "call", "file__write", "path=y", "content=@-", stdin="from stdin").code == 0
    assert (workspace / "x").read_text() == "a=b & 'c'\n"
    assert (workspace / "y").read_text() == "from stdin"


@requirement("PROV-23", "AGENT-14")
def test_a_long_result_is_whole_as_nobody_could_read_on(run: Any, workspace: Path) -> None:
    text = "a line of text\n" * 10_000
    (workspace / "long.txt").write_text(text)
    assert run("tools", "call", "file__read", "path=long.txt").out == text


@requirement("PROV-23", "AGENT-14")
def test_a_call_that_lacks_an_argument_says_where_they_are_listed(run: Any) -> None:
    done = run("tools", "call", "file__read")
    assert done.code == 2
    assert "file__read: missing 'path'" in done.err
    assert done.err.endswith("hint: weft tools show file__read\n")


@requirement("PROV-23", "AGENT-14")
def test_a_tool_that_fails_is_exit_1_with_its_text_on_stderr(run: Any) -> None:
    done = run("tools", "call", "file__read", "path=missing")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("weft: ")
    assert "missing" in done.err
    as_json = run("tools", "call", "file__read", "path=missing", "--json")
    assert (as_json.code, as_json.json["isError"]) == (1, True)


@requirement("PROV-23", "GUARD-03")
def test_a_call_is_guarded_and_audited_like_any_other(run: Any) -> None:
    done = run("tools", "call", "shell__exec", "command=rm -rf /")
    assert done.code == 1
    assert "destroy-root" in done.err
    run("tools", "call", "no__such")
    lines = run("audit", "tail", "--json").json_lines
    assert [(line["tool"], line["verdict"]) for line in lines] == [
        ("shell__exec", "deny:destroy-root"),
        ("no__such", "hidden"),
    ]


@requirement("PROV-23")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Reads e.g. a file. And more.", "Reads e.g. a file"),
        ("One line.", "One line"),
        ("First\nline goes on.\n\nSecond paragraph.", "First line goes on"),
        ("evil \x1b[31mred", "evil ⟨U+001B⟩[31mred"),
        ("", ""),
    ],
)
def test_the_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
