"""`weft agent`: one task, run with all tools behind all guards, by whoever the rules or the user choose."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clawft._version import __version__
from clawft.cli.house import with_app
from clawft.cli.parser import Options, Parser, Verb, WrongUsage, common_options
from clawft.cli.screen import print_fields, print_json
from clawft.config.places import agent_folder, expanded

if TYPE_CHECKING:  # help needs none of it
    from clawft.app import App
    from clawft.cli.agent_screen import RunScreen
    from clawft.delegate.desk import DelegateJob, Desk
    from clawft.delegate.events import Tell
    from clawft.delegate.executor import ToolExecutor
    from clawft.delegate.rules import Decision
    from clawft.delegate.scenario import Scenario
    from clawft.delegate.transcript import Transcript

TARGETS = ("auto", "local", "claude", "openai", "flow")
FORMATS = ("text", "json", "stream-json")
MODES = ("disabled", "mock", "live")
MAX_TASK_BYTES = 1024 * 1024
TERMINATED = 128 + signal.SIGTERM


def _options(parser: Parser) -> None:
    parser.add_argument("-p", "--prompt", metavar="TEXT", help="the task; also read from stdin")
    parser.add_argument("-m", "--message", metavar="TEXT", help="the same as -p")
    parser.add_argument("--print", metavar="TEXT", nargs="?", const="", help="print plainly; TEXT is the task if given")
    parser.add_argument("--target", metavar="WHO", choices=TARGETS, default="auto", help=", ".join(TARGETS))
    parser.add_argument("--explain", action="store_true", help="say who would get the task, and why; run nothing")
    parser.add_argument("--scenario", metavar="FILE", help="a scripted model instead of a real one; needs no network")
    parser.add_argument("--execution", metavar="MODE", choices=MODES, help=f"how tools are called: {', '.join(MODES)}")
    parser.add_argument("--model", metavar="NAME", help="another model than the configured one")
    parser.add_argument("--tools", metavar="GLOB", action="append", help="only these tools; may be repeated")
    parser.add_argument("--max-turns", metavar="N", type=int, help="at most N answers of the model")
    parser.add_argument("--resume", metavar="ID", nargs="?", const="last", help="go on with an earlier task")
    parser.add_argument("--output-format", metavar="FORM", choices=FORMATS, default="text", help=", ".join(FORMATS))
    parser.add_argument("--json", action="store_true", help="the same as --output-format stream-json")
    parser.add_argument("--quiet", action="store_true", help="print the answer only")
    common_options(parser)


def _run(options: Options) -> int:
    options.task = _task(options)
    options.more = _more(options)
    scenario = _scenario(options)
    if options.explain:
        return with_app(options, lambda app: _explain(app, options))
    return with_app(options, lambda app: _until_ended(app, options, scenario))


def _task(options: Options) -> str:
    told = [text for text in (options.prompt, options.message, options.print) if text]
    if len(told) > 1:
        raise WrongUsage("the task is given more than once", hint="use one of -p, -m and --print")
    if told:
        return told[0].encode(errors="surrogateescape").decode(errors="replace")
    if not sys.stdin.isatty():
        text = sys.stdin.buffer.read(MAX_TASK_BYTES + 1).decode("utf-8", "replace").strip()
        if len(text) > MAX_TASK_BYTES:
            raise WrongUsage(f"the task is longer than {MAX_TASK_BYTES} bytes", hint="name a file instead")
        if text:
            return text
    if options.resume:
        return "Go on."
    raise WrongUsage("there is no task", hint='weft agent -p "what is to be done"')


def _more(options: Options) -> dict[str, Any]:
    """Keys of the configuration that only this command sets. Who names a target by hand switches it on for this run."""
    told = {
        "delegation.max_turns": options.max_turns,
        "delegation.claude_model": options.model,
        "delegation.openai_model": options.model,
        f"delegation.{_SWITCHES.get(options.target, '')}": True if options.target in _SWITCHES else None,
    }
    return {key: value for key, value in told.items() if value is not None}


_SWITCHES = {"claude": "claude_enabled", "openai": "openai_enabled", "flow": "claude_flow_enabled"}


def _scenario(options: Options) -> Scenario | None:
    if not options.scenario:
        return None
    from clawft.delegate.scenario import read  # only for those who have one

    return read(expanded(options.scenario))


# ── explain ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _explain(app: App, options: Options) -> int:
    desk = app.desk
    decision, missing = _decided(desk, app, options), desk.missing(app.caller)
    if options.json:
        print_json(
            {
                "target": decision.target.value,
                "reason": decision.reason,
                "rule": decision.rule or None,
                "tools": decision.tools,
                "complexity": decision.complexity,
                "skipped": decision.skipped,
                "unavailable": {target.value: fault for target, fault in missing.items()},
            }
        )
        return 0
    print_fields(
        [
            ("target", decision.target.value),
            ("because", decision.reason),
            ("complexity", f"{decision.complexity:g} (below 0.3 simple, above 0.7 hard)"),
            ("tools", ", ".join(decision.tools)),
            *(("skipped", skipped) for skipped in decision.skipped),
            *(("unavailable", f"{target.value}: {fault}") for target, fault in missing.items()),
        ]
    )
    return 0


def _decided(desk: Desk, app: App, options: Options) -> Decision:
    """By the user, else by the rules; without a rule for it, whoever is there works for the person who asks."""
    from clawft.delegate.rules import Decision  # loaded with the desk
    from clawft.policy.delegation import Target

    if options.target != "auto":
        return desk.asked_for(options.task, Target(options.target), f"--target {options.target}")
    decision = desk.decide(options.task, app.caller)
    if decision.rule:
        return decision
    missing = desk.missing(app.caller)
    here = next((one for one in (Target.CLAUDE, Target.OPENAI) if one not in missing), Target.LOCAL)
    reason = "no rule matches" if here is Target.LOCAL else f"no rule matches, and {here.value} is there"
    return Decision(here, reason, complexity=decision.complexity, skipped=decision.skipped)


# ── run ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _until_ended(app: App, options: Options, scenario: Scenario | None) -> int:
    """Ctrl-C and SIGTERM cancel the run; servers are stopped and the transcript is whole in any case."""
    me = asyncio.current_task()
    terminated: list[int] = []

    def stop() -> None:
        terminated.append(TERMINATED)
        if me is not None:
            me.cancel()

    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    try:
        return await _work(app, options, scenario)
    except asyncio.CancelledError:
        if not terminated:
            raise
        return TERMINATED


async def _work(app: App, options: Options, scenario: Scenario | None) -> int:
    from clawft.cli.agent_screen import screen_for  # only where a task runs
    from clawft.delegate.transcript import Transcript, find, history_of
    from clawft.delegate.turns import mended

    decision = _decided(app.desk, app, options)
    folder = agent_folder(app.settings.home, app.settings.agent) / "transcripts"
    old = find(folder, options.resume) if options.resume else None
    transcript = Transcript(old) if old else Transcript.begin(folder, _about(app, options, decision))
    screen = screen_for(options, transcript.id)
    screen.begin("scenario" if scenario else decision.target.value, decision.reason, decision.skipped)
    try:
        job = _job(app, options, scenario, decision, screen, transcript)
        outcome = await app.desk.run(replace(job, history=mended(history_of(old)) if old else []))
    finally:
        transcript.close()
    return 0 if outcome.state.value == "done" else 1


def _about(app: App, options: Options, decision: Decision) -> dict[str, Any]:
    return {
        "target": decision.target.value,
        "scenario": options.scenario,
        "workspace": str(app.settings.workspace),
        "version": __version__,
    }


def _both(screen: RunScreen, transcript: Transcript) -> Tell:
    """What ends is kept before it is shown: nobody may be left to show it to."""
    from clawft.delegate.events import Outcome, RunEvent  # loaded with the desk

    def both(event: RunEvent) -> None:
        if isinstance(event, Outcome):
            transcript.keep(event)
        screen.show(event)

    return both


def _job(
    app: App, options: Options, scenario: Scenario | None, decision: Decision, screen: RunScreen, transcript: Transcript
) -> DelegateJob:
    from clawft.cli.screen.questions import AskingTalk, can_ask  # loaded with the desk
    from clawft.delegate.desk import DelegateJob
    from clawft.delegate.scripted_model import ScriptedModel

    return DelegateJob(
        options.task,
        app.caller,
        _both(screen, transcript),
        transcript.keep,
        decision.target,
        tuple(options.tools or ()) or decision.tools,
        model=ScriptedModel(scenario) if scenario else None,
        executor=_executor(app, options.execution, scenario),
        asker=AskingTalk("weft agent", screen) if can_ask() else None,
        why=decision.reason,
    )


def _executor(app: App, asked: str | None, scenario: Scenario | None) -> ToolExecutor:
    """By the command line, else as the scenario says; real calls where nobody says anything."""
    from clawft.delegate import executor  # loaded with the desk

    mode = executor.ExecutionMode(asked) if asked else scenario.mode if scenario else executor.ExecutionMode.LIVE
    match mode:
        case executor.ExecutionMode.DISABLED:
            return executor.DisabledExecutor()
        case executor.ExecutionMode.MOCK:
            return executor.MockExecutor(scenario.mocks if scenario else ())
        case executor.ExecutionMode.LIVE:
            return executor.LiveExecutor(app.gateway)


VERBS = {"": Verb("Run one task", _options, _run)}
