"""`weft agent` and `weft serve-model`, as a person starts them: no key, no network, real servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.requirements import requirement
from tests.servers.weft import is_gone, outliving

pytestmark = pytest.mark.slow  # processes that take their time

SERVERS = Path(__file__).parents[2] / "servers"
PATIENCE_S = 30.0
ECHO = """
[[turns]]
text = "I will ask."
calls = [{ tool = "echo__echo", input = { text = "hi" }, expect = "hi" }]
[[turns]]
text = "It works."
"""


def servers(**named: list[str]) -> str:
    """`--mcp-config` as JSON text: each a script of tests/servers with its options."""
    return json.dumps({"mcpServers": {name: _server(words) for name, words in named.items()}})


def _server(words: list[str]) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / words[0]), *words[1:]]}


def script(workspace: Path, text: str) -> str:
    file = workspace / "scenario.toml"
    file.write_text(text)
    return str(file)


def events(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


# ── a run ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("AGENT-05", "AGENT-08", "AGENT-09", "AGENT-10", "AGENT-13", "S4-CLI-01", "S4-CLI-04", "AC-10")
def test_a_scenario_runs_with_a_real_server_and_prints(run: Any, workspace: Path) -> None:
    config = servers(echo=["echo.py"])
    done = run("agent", "--print", "-p", "try", "--scenario", script(workspace, ECHO), "--mcp-config", config)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "I will ask."
    assert lines[1].startswith('[tool] echo__echo {"text":"hi"} → ok: ')
    assert '"text": "hi"' in lines[1]
    assert lines[2:] == ["It works."]
    assert "2 turns, 1 tool call" in done.err


@requirement("AGENT-10")
def test_a_name_that_a_model_makes_up_does_nothing_to_the_terminal(run: Any, workspace: Path) -> None:
    made_up = '[[turns]]\ncalls = [{ tool = "wipe\\u001b[2J" }]\n[[turns]]\ntext = "done"\n'
    done = run("agent", "-p", "go", "--scenario", script(workspace, made_up))
    assert done.out.startswith("[tool] wipe⟨U+001B⟩[2J {} → not_found: "), done.out


@requirement("AGENT-08")
def test_a_task_with_bytes_that_are_no_text_is_a_task(run: Any, workspace: Path) -> None:
    scenario = script(workspace, '[[turns]]\nwhen = "^go \ufffd$"\ntext = "went"\n')
    done = run("agent", "-p", os.fsdecode(b"go \xff"), "--scenario", scenario)
    assert (done.code, done.out) == (0, "went\n"), done.err


@requirement("AGENT-08")
@pytest.mark.parametrize("words", [("-p", "go"), ("-m", "go"), ("--print", "go"), ("--print", "-p", "go"), ()])
def test_a_task_is_given_in_any_way(run: Any, workspace: Path, words: tuple[str, ...]) -> None:
    scenario = script(workspace, '[[turns]]\nwhen = "^go$"\ntext = "went"\n')
    done = run("agent", *words, "--scenario", scenario, stdin="" if words else "go\n")
    assert (done.code, done.out) == (0, "went\n"), done.err


@requirement("AGENT-08", "AGENT-14")
def test_no_task_or_two_are_wrong_usage(run: Any) -> None:
    assert run("agent").code == 2
    assert run("agent", "-p", "a", "-m", "b").code == 2
    wrong = run("agent", "-p", "a", "--target", "nobody")
    assert wrong.code == 2


@requirement("AGENT-10", "S4-CLI-04")
def test_programs_get_one_object_per_event(run: Any, workspace: Path) -> None:
    config = servers(echo=["echo.py"])
    done = run("agent", "-p", "try", "--scenario", script(workspace, ECHO), "--mcp-config", config, "--json")
    told = events(done.out)
    kinds = [event["type"] for event in told if event["type"] != "text"]
    assert kinds == ["start", "answer", "tool_call", "tool_result", "answer", "end"]
    result = next(event for event in told if event["type"] == "tool_result")
    assert (result["name"], result["verdict"]) == ("echo__echo", "ok")
    assert told[-1]["state"] == "done"
    assert "".join(event["text"] for event in told if event["type"] == "text") == "I will ask.It works."


@requirement("AGENT-10", "S4-CLI-04")
def test_calls_are_told_in_the_order_they_were_made(run: Any, workspace: Path) -> None:
    """They run at once, and the first one takes longest."""
    calls = '{ tool = "shell__exec", input = { command = "sleep 0.3" } }, { tool = "nope" }, { tool = "file__list" }'
    made = ("-p", "x", "--scenario", script(workspace, f'[[turns]]\ncalls = [{calls}]\n[[turns]]\ntext = "done"\n'))
    names = ["shell__exec", "nope", "file__list"]
    lines = run("agent", *made).out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("[tool]")] == names
    told = json.loads(run("agent", *made, "--output-format", "json").out)
    assert [call["name"] for call in told["tool_calls"]] == names


def test_or_one_object_at_the_end(run: Any, workspace: Path) -> None:
    scenario = script(workspace, '[[turns]]\ntext = "done"\n')
    told = run("agent", "-p", "x", "--scenario", scenario, "--output-format", "json").json
    assert (told["result"], told["state"], told["is_error"]) == ("done", "done", False)
    assert run("agent", "-p", "x", "--scenario", scenario, "--quiet").out == "done\n"


@requirement("AGENT-09")
def test_a_result_the_scenario_did_not_expect_fails(run: Any, workspace: Path) -> None:
    config = servers(echo=["echo.py"])
    scenario = script(workspace, ECHO.replace('expect = "hi"', 'expect = "ho ho"'))
    done = run("agent", "-p", "try", "--scenario", scenario, "--mcp-config", config)
    assert done.code == 1
    assert "expected 'ho ho'" in done.err


@requirement("GUARD-05", "GUARD-10")
@pytest.mark.parametrize(("name", "words"), [("file__read", ("--deny", "file__*")), ("weft__made_up", ())])
def test_a_call_of_what_is_not_there_for_it_stands_in_the_audit(
    run: Any, workspace: Path, name: str, words: tuple[str, ...]
) -> None:
    told = script(workspace, f'[[turns]]\ncalls = [{{ tool = "{name}" }}]\n[[turns]]\ntext = "{{{{result}}}}"\n')
    assert f"tool not found: {name}" in run("agent", "-p", "go", "--scenario", told, "--print", *words).out
    (line,) = run("audit", "tail", "--json").json_lines
    assert (line["tool"], line["verdict"]) == (name, "hidden")


@requirement("AGENT-02", "S4-CLI-01")
@pytest.mark.parametrize(("mode", "verdict"), [("disabled", "error"), ("mock", "ok"), ("live", "not_found")])
def test_calls_are_disabled_scripted_or_real(run: Any, workspace: Path, mode: str, verdict: str) -> None:
    text = '[[turns]]\ncalls = [{ tool = "far__away" }]\n[[turns]]\ntext = "ok"\n[[mocks]]\ntool = "far__away"\n'
    scenario = script(workspace, f'mode = "{mode}"\n{text}')
    told = events(run("agent", "-p", "x", "--scenario", scenario, "--json").out)
    assert next(event["verdict"] for event in told if event["type"] == "tool_result") == verdict
    told = events(run("agent", "-p", "x", "--scenario", scenario, "--json", "--execution", "disabled").out)
    assert next(event["text"] for event in told if event["type"] == "tool_result").endswith("disabled in this run")


@requirement("AGENT-04", "AGENT-13", "NFR-004")
def test_a_server_that_dies_does_not_end_the_run(run: Any, workspace: Path) -> None:
    text = '[[turns]]\ncalls = [{ tool = "bad__echo" }, { tool = "good__echo" }]\n[[turns]]\ntext = "went on"\n'
    config = servers(bad=["echo.py", "--dies"], good=["echo.py"])
    done = run("agent", "-p", "x", "--scenario", script(workspace, text), "--mcp-config", config, "--json")
    told = events(done.out)
    verdicts = {event["name"]: event["verdict"] for event in told if event["type"] == "tool_result"}
    assert done.code == 0
    assert verdicts["good__echo"] == "ok"
    assert verdicts["bad__echo"] != "ok"


@requirement("AGENT-06", "S4-CLI-02")
def test_a_failing_server_is_fatal_only_in_strict_mode(run: Any, workspace: Path) -> None:
    scenario = script(workspace, '[[turns]]\ntext = "done"\n')
    config = servers(broken=["tiny.py", "--crash"])
    lenient = run("agent", "-p", "x", "--scenario", scenario, "--mcp-config", config)
    assert (lenient.code, lenient.out) == (0, "done\n")
    assert "broken" in lenient.err
    strict = run("agent", "-p", "x", "--scenario", scenario, "--mcp-config", config, "--strict-mcp-config")
    assert (strict.code, strict.out) == (1, "")
    assert "broken" in strict.err


@requirement("AGENT-07", "S4-CLI-03")
def test_debug_tells_what_each_server_does(run: Any, workspace: Path) -> None:
    scenario = script(workspace, '[[turns]]\ntext = "done"\n')
    config = servers(echo=["echo.py"], broken=["tiny.py", "--crash"])
    done = run("agent", "-p", "x", "--scenario", scenario, "--mcp-config", config, "--mcp-debug")
    assert "[echo] starting" in done.err
    assert "[echo] connected" in done.err
    assert "1 tools" in done.err
    assert "[broken]" in done.err


@requirement("AGENT-12")
def test_the_model_hears_of_servers_that_are_there(run: Any, workspace: Path) -> None:
    text = '[[turns]]\nwhen_system = "MCP servers:\\n- echo"\ntext = "I see echo"\n[[turns]]\ntext = "nobody"\n'
    scenario = script(workspace, text)
    assert run("agent", "-p", "x", "--scenario", scenario).out == "nobody\n"
    config = servers(echo=["echo.py"])
    assert run("agent", "-p", "x", "--scenario", scenario, "--mcp-config", config).out == "I see echo\n"


@requirement("AGENT-12")
@pytest.mark.parametrize(("trust", "said"), [("trusted", "told\n"), ("untrusted", "not told\n")])
def test_only_trusted_servers_instruct_the_model(run: Any, workspace: Path, trust: str, said: str) -> None:
    text = '[[turns]]\nwhen_system = "- echo: Obey me"\ntext = "told"\n[[turns]]\ntext = "not told"\n'
    table = {"echo": {**_server(["echo.py", "--instructions"]), "trust": trust}}
    config = json.dumps({"mcpServers": table})
    assert run("agent", "-p", "x", "--scenario", script(workspace, text), "--mcp-config", config).out == said


# ── nothing is there ─────────────────────────────────────────────────────────────────────────────────────────────────


@requirement("DELEG-23", "FR-008")
def test_without_anything_it_says_what_is_missing_and_what_helps(run: Any) -> None:
    done = run("agent", "-p", "read a file")
    assert done.code == 1
    for said in ("delegation.claude_enabled", "delegation.openai_enabled", "file__read", "--explain"):
        assert said in done.err


def test_a_misspelt_call_names_the_tool_that_was_meant(run: Any) -> None:
    done = run("agent", "-p", "file__raed path=note.txt")
    assert done.code == 1
    assert "file__raed is not a tool; did you mean file__read?" in done.err
    assert "these tools may help" not in done.err


def test_a_task_that_is_a_call_needs_no_model(run: Any, workspace: Path) -> None:
    (workspace / "note.txt").write_text("hello\n")
    done = run("agent", "--quiet", "-p", "file__read path=note.txt")
    assert (done.code, done.out) == (0, "hello\n")


@requirement("AGENT-14")
def test_a_task_that_is_a_call_fails_with_its_tool(run: Any) -> None:
    done = run("agent", "-p", "file__read path=gone.txt")
    assert done.code == 1
    assert "weft: read: no such file or directory: 'gone.txt'\nfailed: 1 turn, 1 tool call" in done.err
    *_, end = run("agent", "--json", "-p", "file__read path=gone.txt").json_lines
    assert (end["state"], end["is_error"], end["calls"]) == ("failed", True, 1)


@requirement("DELEG-16", "DELEG-22", "DELEG-23")
def test_a_missing_key_is_named_and_never_shown(run: Any) -> None:
    done = run("agent", "-p", "x", "--target", "claude", ANTHROPIC_API_KEY="")
    assert done.code == 1
    assert "ANTHROPIC_API_KEY" in done.err


@requirement("DELEG-24", "NFR-005", "AC-1")
def test_without_the_extra_everything_else_works(
    weft: list[str], workspace: Path, environment: Mapping[str, str]
) -> None:
    hidden = workspace / "hidden"
    hidden.mkdir()
    for library in ("anthropic", "openai", "pydantic", "httpx2"):
        (hidden / f"{library}.py").write_text("raise ImportError('not installed')")
    told = {**environment, "PYTHONPATH": str(hidden), "ANTHROPIC_API_KEY": "sk-secret-key-123"}

    def started(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*weft, *words], cwd=workspace, env=told, input="", capture_output=True, text=True, timeout=60, check=False
        )

    assert started("tools", "list").returncode == 0
    scenario = script(workspace, '[[turns]]\ntext = "done"\n')
    assert started("agent", "-p", "x", "--scenario", scenario).stdout == "done\n"
    asked = started("agent", "-p", "x", "--target", "claude")
    assert asked.returncode == 1
    assert "clawft[claude]" in asked.stderr
    assert "sk-secret-key-123" not in asked.stderr


@requirement("DELEG-08", "DELEG-11", "DELEG-09")
def test_explain_says_which_rule_decides_and_why(run: Any, home: Path) -> None:
    (home / "config.toml").write_text(
        '[delegation]\nrules = [{ pattern = "[", target = "claude" }, { pattern = "deploy", target = "claude" }]\n'
    )
    told = run("agent", "-p", "deploy it", "--explain", "--json").json
    assert (told["target"], told["rule"]) == ("local", 2)
    assert "not available" in told["reason"]
    assert "rule 1" in told["skipped"][0]
    shown = run("agent", "-p", "deploy it", "--explain")
    assert shown.code == 0
    assert "rule 2 ('deploy' → claude)" in shown.out


@requirement("DELEG-03", "DELEG-21")
def test_a_target_that_is_asked_for_has_the_tools_of_the_rule_for_the_task(run: Any, home: Path) -> None:
    rule = '{ pattern = "deploy", target = "claude", tools = ["git__*"] }'
    (home / "config.toml").write_text(f"[delegation]\nrules = [{rule}]\n")
    told = [run("agent", "-p", task, "--target", "claude", "--explain", "--json").json for task in ("deploy it", "x")]
    assert [(each["target"], each["tools"]) for each in told] == [("claude", ["git__*"]), ("claude", [])]


@requirement("DELEG-23", "DELEG-11")
def test_doctor_says_who_could_take_a_task(run: Any, home: Path) -> None:
    rules = 'rules = [{ pattern = "(", target = "claude" }]\n'
    (home / "config.toml").write_text(f"[delegation]\nclaude_enabled = true\nopenai_enabled = true\n{rules}")
    said = run("doctor", ANTHROPIC_API_KEY="sk-secret-key-123").out
    assert "claude can take tasks" in said
    assert "openai: delegation.openai_model names no model" in said
    assert "rule 1" in said
    assert "sk-secret-key-123" not in said


@requirement("DELEG-23", "DELEG-11", "FR-008")
def test_whoever_serves_is_warned_of_targets_and_rules_that_do_not_count(
    weft: list[str], workspace: Path, environment: dict[str, str], home: Path
) -> None:
    rules = 'rules = [{ pattern = "(", target = "claude" }]\n'
    (home / "config.toml").write_text(f"[delegation]\nclaude_enabled = true\n{rules}")
    env = {name: value for name, value in environment.items() if name != "ANTHROPIC_API_KEY"}
    pipe = subprocess.PIPE
    with subprocess.Popen([*weft, "mcp-server"], cwd=workspace, env=env, stdin=pipe, stderr=pipe, text=True) as serving:
        assert serving.stderr is not None
        told = [serving.stderr.readline() for _ in range(2)]
        serving.communicate(timeout=30)
    assert "delegation: claude: secret://env/ANTHROPIC_API_KEY is not there" in told[0]
    assert "delegation: rule 1 ('('): not a valid pattern" in told[1]
    assert serving.returncode == 0


@requirement("DELEG-24", "DELEG-20")
def test_the_tool_is_offered_only_where_a_target_is_configured(run: Any, home: Path) -> None:
    def names() -> set[str]:
        return {tool["name"] for tool in run("tools", "list", "--json").json["tools"]}

    assert "delegate__task" not in names()
    (home / "config.toml").write_text("[delegation]\nclaude_enabled = true\n")
    assert "delegate__task" in names()


# ── interrupted ──────────────────────────────────────────────────────────────────────────────────────────────────────

HOLD = """
[[turns]]
calls = [{ tool = "tiny__hold", input = { file = "FILE" } }]
[[turns]]
when = "interrupted"
text = "I see it was interrupted."
[[turns]]
text = "went through"
"""


@contextmanager
def holding(
    weft: list[str], workspace: Path, environment: Mapping[str, str]
) -> Generator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A run whose tool waits for a file, once it waits; and the processes below it."""
    scenario = script(workspace, HOLD.replace("FILE", str(workspace / "never")))
    argv = [*weft, "agent", "-p", "go", "--scenario", scenario, "--mcp-config", servers(tiny=["tiny.py"])]
    process = subprocess.Popen(
        argv, cwd=workspace, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        _wait_for(workspace / "never.waiting")
        yield process, psutil.Process(process.pid).children(recursive=True)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _wait_for(file: Path) -> None:
    waited = threading.Event()
    for _ in range(int(PATIENCE_S / 0.05)):
        if file.exists():
            return
        waited.wait(0.05)
    raise AssertionError(f"{file} is not there after {PATIENCE_S} s")


@requirement("AGENT-11", "AGENT-14", "S2-P2-09")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_cleanly_and_it_can_go_on(
    weft: list[str], workspace: Path, environment: Mapping[str, str], run: Any, number: int, code: int
) -> None:
    with holding(weft, workspace, environment) as (process, children):
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, said
    assert "Traceback" not in said
    assert said.count("hint: weft agent --resume ") == 1
    assert children
    assert all(is_gone(child) for child in children)
    again = run("agent", "--resume", "-p", "and?", "--scenario", str(workspace / "scenario.toml"))
    assert again.code == 0, again.err


@requirement("AGENT-11", "S2-P2-09")
def test_even_when_it_is_killed_the_transcript_is_whole(
    weft: list[str], workspace: Path, environment: Mapping[str, str], home: Path
) -> None:
    with holding(weft, workspace, environment) as (process, children):
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        assert outliving(children, PATIENCE_S) == []
    file = next((home / "agents" / "default" / "transcripts").iterdir())
    kinds = [json.loads(line)["type"] for line in file.read_text().splitlines()]
    assert kinds == ["start", "task", "answer"]


# ── the scripted API ─────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def served(weft: list[str], workspace: Path, environment: Mapping[str, str], text: str) -> Generator[str]:
    argv = [*weft, "serve-model", "--scenario", script(workspace, text), "--port", "0", "--json"]
    process = subprocess.Popen(argv, env=dict(environment), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0


@requirement("DELEG-13", "DELEG-14", "DELEG-21", "T-12.4", "AGENT-08")
def test_claude_and_others_work_against_the_scripted_api(
    weft: list[str], workspace: Path, environment: Mapping[str, str], run: Any, home: Path
) -> None:
    config = servers(echo=["echo.py"])
    with served(weft, workspace, environment, ECHO) as url:
        (home / "config.toml").write_text(
            f'[delegation]\nopenai_enabled = true\nopenai_model = "m"\nopenai_url = "{url}/v1"\n'
        )
        told = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-secret-key-123"}
        claude = run("agent", "-p", "try", "--target", "claude", "--mcp-config", config, **told)
        other = run("agent", "-p", "try", "--target", "openai", "--mcp-config", config)
        handed = run("tools", "call", "delegate__task", "task=try", "target=openai", "--mcp-config", config)
    for done in (claude, other):
        assert done.code == 0, done.err
        assert done.out.endswith("It works.\n")
    assert handed.json["output"].endswith("It works."), "the tools of the servers are there for it, too"
    assert "about $" in claude.err
    kept = "".join(file.read_text() for file in (home / "agents").rglob("*.jsonl"))
    assert "sk-secret-key-123" not in kept + claude.out + claude.err


def test_a_scenario_that_is_wrong_is_told_before_anything_starts(run: Any, workspace: Path) -> None:
    for command in (("serve-model",), ("agent", "-p", "x")):
        done = run(*command, "--scenario", script(workspace, "[[turns]]\nwhe = 1\n"))
        assert done.code == 2
        assert "whe" in done.err
        assert run(*command, "--scenario", "nowhere.toml").code == 2
