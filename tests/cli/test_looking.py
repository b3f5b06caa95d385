"""Commands that only look: resources, prompts, audit, policy, doctor."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from clawft.cli.policy.explain import ASKS_ITSELF
from tests.requirements import requirement

pytestmark = pytest.mark.slow  # processes that take their time

TINY = Path(__file__).parents[1] / "servers" / "tiny.py"

# ── resources and prompts ────────────────────────────────────────────────────────────────────────────────────────────


@requirement("AGENT-14", "RES-14")
def test_resources_are_listed_and_read(run: Any, workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello")
    listed = run("resources", "list", "--json").json
    assert "workspace:///a.txt" in [resource["uri"] for resource in listed["resources"]]
    assert listed["resourceTemplates"]
    assert run("resources", "read", "workspace:///a.txt").out == "hello\n"
    contents = run("resources", "read", "workspace:///a.txt", "--json").json["contents"]
    assert contents[0]["text"] == "hello"


@requirement("AGENT-14")
def test_a_missing_resource_says_where_to_look(run: Any) -> None:
    done = run("resources", "read", "nothing://here")
    assert done.code == 1
    assert done.err == "weft: resource not found: nothing://here\nhint: weft resources list\n"


@requirement("GUARD-06", "GUARD-07")
@pytest.mark.parametrize("words", ["resources read workspace:///a.txt", "prompts get weft__explain_file path=a.txt"])
def test_who_may_not_read_files_does_not_read_them_in_another_way(run: Any, workspace: Path, words: str) -> None:
    (workspace / "a.txt").write_text("hello\n")
    for rules in (("--deny", "file__*"), ("--deny", "read_file"), ("--allow", "weft__*")):
        done = run(*words.split(), *rules)
        assert (done.code, done.out) == (1, ""), rules
        assert "hello" not in done.err
        assert "workspace:///" not in run("resources", "list", "--json", *rules).out
    assert "hello" in run(*words.split(), "--allow", "file__read", "--allow", "weft__explain_file").out


@requirement("GUARD-10")
def test_what_is_read_beside_the_tools_leaves_its_line(run: Any, workspace: Path) -> None:
    (workspace / "a.txt").write_text("hello\n")
    assert run("resources", "read", "workspace:///a.txt").code == 0
    assert run("resources", "read", "nothing://here").code == 1
    assert run("prompts", "get", "weft__explain_file", "path=a.txt").code == 0
    told = [(line["tool"], line["outcome"]) for line in run("audit", "tail", "--json").json_lines]
    assert told == [
        ("resources/read", "ok"),
        ("resources/read", "failed:ResourceNotFound"),
        ("prompts/get weft__explain_file", "ok"),
    ]


@requirement("RES-07", "AGENT-14")
def test_prompts_are_listed_and_filled_in(run: Any, workspace: Path) -> None:
    (workspace / "a.txt").write_text("some text")
    prompts = run("prompts", "list", "--json").json["prompts"]
    assert "weft__explain_file" in [prompt["name"] for prompt in prompts]
    done = run("prompts", "get", "weft__explain_file", "path=a.txt")
    assert done.out.startswith("user:\n")
    assert "some text" in done.out
    assert run("prompts", "get", "weft__explain_file", "path=a.txt", "--json").json["messages"]


@requirement("RES-07", "AGENT-14")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["weft__explain_file"], 2, "needs path\nhint: weft prompts get weft__explain_file path=…\n"),
        (["weft__explain_fil", "path=a"], 1, "did you mean weft__explain_file?"),
        (["weft__explain_file", "pat=a"], 2, "did you mean 'path'?"),
    ],
)
def test_a_prompt_says_what_is_missing(run: Any, words: list[str], code: int, said: str) -> None:
    done = run("prompts", "get", *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


# ── audit ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-11", "AGENT-14")
def test_the_audit_tells_shows_and_verifies(run: Any) -> None:
    assert run("audit", "tail", "--json").out == ""
    assert run("audit", "verify", "--json").json == {"ok": True, "lines": 0, "dropped": 0}
    run("tools", "call", "memory__list")
    run("tools", "call", "memory__recall", "key=x")
    lines = run("audit", "tail", "-n", "1", "--json").json_lines
    assert [line["tool"] for line in lines] == ["memory__recall"]
    assert run("audit", "show", lines[0]["id"], "--json").json == lines[0]
    assert run("audit", "verify").out == "2 lines, none was changed\n"
    assert "memory__list" in run("audit", "tail").out


@requirement("AGENT-14")
@pytest.mark.parametrize("count", ["0", "-1", "many", "100001"])
def test_a_wrong_number_of_lines_is_wrong_usage(run: Any, count: str) -> None:
    run("tools", "call", "memory__list")
    done = run("audit", "tail", "-n", count)
    assert (done.code, done.out) == (2, "")
    assert "hint: weft audit tail --help" in done.err


@requirement("GUARD-11")
def test_a_touched_line_is_found(run: Any, home: Path) -> None:
    run("tools", "call", "memory__list")
    run("tools", "call", "memory__list")
    journal = home / "audit" / "audit.jsonl"
    journal.write_text(journal.read_text().replace("memory__list", "memory__lost", 1))
    done = run("audit", "verify")
    assert (done.code, done.out) == (1, "")
    assert "audit.jsonl:1: " in done.err
    assert "\nhint: " in done.err
    assert run("audit", "verify", "--json").json["line"] == 1
    assert done.err.endswith(f"then end every weft, move {home}/audit away, and keep it\n")
    assert "audit.jsonl:1: " in run("doctor").out
    journal.write_bytes(b"\xff nonsense\n" + journal.read_bytes())
    assert run("audit", "tail").code == 0
    (home / "audit").rename(home / "audit-old")
    run("tools", "call", "memory__list")
    assert run("audit", "verify").out == "1 line, none was changed\n"


@requirement("AGENT-14")
def test_an_unknown_line_says_where_to_look(run: Any) -> None:
    done = run("audit", "show", "nope")
    assert (done.code, done.err) == (1, "weft: no line has the id nope\nhint: weft audit tail\n")


@requirement("AGENT-14", "MGR-19")
def test_for_what_is_ours_no_server_is_started_and_for_a_prompt_its_own(run: Any, workspace: Path) -> None:
    """These would leave a sign."""
    for name in ("one", "two"):
        command = ("/bin/sh", "-c", f"touch {workspace}/started-{name}; exec {sys.executable} {TINY}")
        assert run("servers", "add", name, "--trust", "--", *command).code == 0
    (workspace / "a.txt").write_text("hello\n")
    assert run("resources", "read", "workspace:///a.txt").out == "hello\n"
    assert run("prompts", "get", "weft__explain_file", "path=a.txt").code == 0
    assert list(workspace.glob("started-*")) == []
    assert run("prompts", "get", "one__hello").code == 0
    assert [path.name for path in workspace.glob("started-*")] == ["started-one"]


# ── policy ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("GUARD-13", "GUARD-03")
def test_a_command_is_explained_rule_by_rule(run: Any) -> None:
    found = run("policy", "explain", "shell__exec", "command=rm -rf /", "--json").json
    assert (found["verdict"], found["rule"]) == ("deny", "destroy-root")
    assert "security.command_policy.allow" in found["hint"]
    rules = {each["rule"]: each["verdict"] for each in found["looked"]}
    assert rules["tools.allow"] == "allow"
    assert rules["destroy-root"] == "deny"
    assert rules["fork-bomb"] == "allow"
    assert run("policy", "explain", "shell__exec", "command=ls -la", "--json").json["verdict"] == "allow"
    assert run("policy", "explain", "shell__exec", "command=sudo ls", "--json").json["verdict"] == "ask"


@requirement("GUARD-03", "AGENT-14")
def test_a_tool_that_asks_by_itself_is_explained_so(run: Any) -> None:
    found = run("policy", "explain", "git__push", "--json").json["looked"]
    assert [each["reason"] for each in found if each["at"] == "the tool itself"] == [
        'asks before it sends anything, unless git.allow has "push"'
    ]
    assert "asks where the folder is not on your list" in run("policy", "explain", "cargo__test").out
    assert "the tool itself" not in run("policy", "explain", "git__status").out


@requirement("GUARD-03")
def test_the_tools_that_ask_by_themselves_are_there(run: Any) -> None:
    assert set(ASKS_ITSELF) <= {tool["name"] for tool in run("tools", "list", "--json").json["tools"]}


@requirement("GUARD-13", "GUARD-04")
def test_a_name_is_explained_with_what_it_was_found_to_stand_for(run: Any) -> None:
    found = run("policy", "explain", "web__fetch", "url=http://nobody.invalid/x", "--json").json["looked"]
    assert {each["rule"]: each["reason"] for each in found}["url-address"] == (
        "no address was found for nobody.invalid, so there is none to check"
    )


@requirement("GUARD-13")
def test_an_address_that_is_only_named_is_explained_as_it_is_judged(run: Any) -> None:
    told = ("client_id=me", "client_secret=", "scopes:=[]", "redirect_uri=http://127.0.0.1:9/back")
    assert run("policy", "explain", "oauth2__authorize", *told, "--json").json["verdict"] == "allow"


@requirement("GUARD-13")
def test_the_words_of_a_rule_are_true_for_whoever_writes(run: Any) -> None:
    found = run("policy", "explain", "shell__exec", "command=rm ~/.netrc", "--json").json
    assert found["reason"].startswith("it would read or change private keys or credentials")


@requirement("GUARD-13", "GUARD-04")
def test_an_address_is_explained(run: Any) -> None:
    done = run("policy", "explain", "web__fetch", "url=http://127.0.0.1/x")
    assert done.code == 0
    assert done.out.startswith("deny  web__fetch: ")
    assert "url-address" in done.out
    assert "security.url_policy.allow_hosts" in done.out


@requirement("GUARD-13", "GUARD-14")
def test_the_configuration_changes_the_verdict(run: Any, home: Path) -> None:
    (home / "config.toml").write_text('[security.url_policy]\nallow_hosts = ["127.0.0.1"]\n')
    assert run("policy", "explain", "web__fetch", "url=http://127.0.0.1/x", "--json").json["verdict"] == "allow"


@requirement("GUARD-13", "GUARD-06")
def test_permission_names_the_glob(run: Any) -> None:
    denied = run("policy", "explain", "file__read", "path=x", "--deny", "file__*", "--json").json
    assert (denied["verdict"], denied["rule"], denied["reason"]) == ("deny", "tools.deny", "'file__*' hides it")
    unlisted = run("policy", "explain", "file__read", "path=x", "--allow", "web__*", "--json").json
    assert (unlisted["verdict"], unlisted["rule"]) == ("deny", "tools.allow")


# ── doctor ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def findings(done: Any, what: str) -> list[tuple[str, str]]:
    return [(each["level"], each["said"]) for each in done.json["findings"] if each["what"] == what]


@requirement("AGENT-14")
def test_a_healthy_house(run: Any) -> None:
    done = run("doctor", "--json")
    assert (done.code, done.json["ok"]) == (0, True)
    assert findings(done, "python")[0][0] == "ok"
    assert "web__search is not offered" in findings(done, "web search")[0][1]
    assert {each["level"] for each in done.json["findings"]} == {"ok", "warn"}
    assert all(each["hint"] for each in done.json["findings"] if each["level"] != "ok")


@requirement("AGENT-14")
def test_open_doors_are_found(run: Any, home: Path) -> None:
    home.chmod(0o755)
    token = home / "gateway.token"
    token.write_text("secret")
    token.chmod(0o644)
    config = home / "config.toml"
    config.write_text("")
    config.chmod(0o666)
    done = run("doctor", "--json")
    assert done.code == 1
    said = findings(done, "home")
    assert [level for level, _ in said] == ["warn", "fail", "fail"]
    assert any(str(token) in text for _, text in said)
    assert any(str(config) in text for _, text in said)
    assert f"chmod 600 {token}" in run("doctor").out
    assert token.stat().st_mode & 0o777 == 0o644, "a doctor looks, it does not operate"


@requirement("AGENT-14")
def test_a_home_is_closed_to_others_whoever_makes_it(run: Any, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    assert "open to other users" not in run("doctor", CLAWFT_HOME=str(fresh)).out
    assert fresh.stat().st_mode & 0o777 == 0o700


@requirement("AGENT-14")
def test_a_home_that_cannot_be_made_is_a_finding_and_names_the_way_out(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    nowhere = {"CLAWFT_HOME": str(tmp_path / "file" / "home")}
    done = run("doctor", "--json", **nowhere)
    assert done.code == 1
    assert "cannot be created" in findings(done, "home")[0][1]
    assert "export CLAWFT_HOME=DIR" in next(each["hint"] for each in done.json["findings"] if each["what"] == "home")


@requirement("AGENT-14", "CONF-13")
def test_a_wrong_configuration_is_a_finding_and_no_crash(run: Any, home: Path) -> None:
    (home / "config.toml").write_text("[tools]\nalow = []\n")
    done = run("doctor", "--json")
    assert done.code == 1
    assert "config.toml:2: unknown key 'tools.alow'" in findings(done, "config")[0][1]
    assert run("doctor", "--agent", "../x").code == 1
    assert run("doctor", "--workspace", "missing").code == 1


@requirement("AGENT-14", "PROV-10")
def test_shortened_names_and_broken_providers_are_reported(run: Any, tmp_path: Path) -> None:
    package = tmp_path / "package"
    metadata = package / "strange-1.0.dist-info"
    metadata.mkdir(parents=True)
    (package / "strange_tools.py").write_text(
        "from clawft.provider.function import FunctionProvider, tool\n"
        "from clawft.store.memory import MemoryStore\n"
        "@tool(name='x' * 80)\n"
        "def long_one() -> str:\n"
        "    'Long.'\n"
        "    return ''\n"
        "def provider(workspace):\n"
        "    made = FunctionProvider('strange', workspace=workspace, store=MemoryStore())\n"
        "    made.add(long_one)\n"
        "    return made\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[clawft.providers]\nstrange = strange_tools:provider\nbroken = no_such_module:provider\n"
    )
    paths = os.pathsep.join(filter(None, (str(package), os.environ.get("PYTHONPATH", ""))))
    done = run("doctor", "--json", PYTHONPATH=paths)
    assert done.code == 1
    assert any(said.startswith(f"strange__{'x' * 80} is offered as ") for _, said in findings(done, "tools"))
    assert findings(done, "provider")[0][0] == "fail"
    assert "no_such_module" in findings(done, "provider")[0][1]
    assert done.err == ""
    listed = run("tools", "list", PYTHONPATH=paths)
    assert listed.code == 0
    assert listed.err.startswith("weft: provider broken: ")
