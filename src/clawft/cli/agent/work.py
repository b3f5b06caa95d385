"""A task is done, until it has ended or somebody ends it."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

from msgspec.structs import replace

from clawft._version import __version__
from clawft.app import App
from clawft.cli.agent.explain import decided
from clawft.cli.agent.screen import RunScreen, screen_for
from clawft.cli.parser import Options
from clawft.cli.screen import tell
from clawft.cli.screen.questions import AskingTalk, can_ask
from clawft.cli.setup import with_app
from clawft.config.places import agent_folder
from clawft.delegate import executor
from clawft.delegate.delegator import DelegateJob
from clawft.delegate.events import Outcome, RunEvent, Tell
from clawft.delegate.executor import ToolExecutor
from clawft.delegate.rules import Decision
from clawft.delegate.scenario import Scenario
from clawft.delegate.scripted_model import ScriptedModel
from clawft.delegate.transcript import Transcript, find, history_of
from clawft.delegate.turns import mended

TERMINATED = 128 + signal.SIGTERM


def work(options: Options, scenario: Scenario | None) -> int:
    return with_app(options, lambda app: _until_ended(app, options, scenario))


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
    decision = decided(app.delegator, app, options)
    folder = agent_folder(app.settings.home, app.settings.agent) / "transcripts"
    old = find(folder, options.resume) if options.resume else None
    transcript = Transcript(old) if old else Transcript.begin(folder, _about(app, options, decision))
    screen = screen_for(options, transcript.id)
    screen.begin("scenario" if scenario else decision.target.value, decision.reason, decision.skipped)
    try:
        job = _job(app, options, scenario, decision, screen, transcript)
        outcome = await app.delegator.run(replace(job, history=mended(history_of(old)) if old else []))
    finally:
        transcript.close()
    if lost := app.editors.lost_with_us():
        tell(f"weft: not written, and gone with this command: the changes of {', '.join(lost)}")
    return 0 if outcome.state.value == "done" else 1


def _about(app: App, options: Options, decision: Decision) -> dict[str, Any]:
    return {
        "target": decision.target.value,
        "scenario": options.scenario,
        "workspace": str(app.settings.workspace),
        "version": __version__,
    }


def _both(screen: RunScreen, transcript: Transcript) -> Tell:
    """Shows each event. The outcome is kept first: nobody may be left to show it to."""

    def both(event: RunEvent) -> None:
        if isinstance(event, Outcome):
            transcript.keep(event)
        screen.show(event)

    return both


def _job(
    app: App, options: Options, scenario: Scenario | None, decision: Decision, screen: RunScreen, transcript: Transcript
) -> DelegateJob:
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
    mode = executor.ExecutionMode(asked) if asked else scenario.mode if scenario else executor.ExecutionMode.LIVE
    match mode:
        case executor.ExecutionMode.DISABLED:
            return executor.DisabledExecutor()
        case executor.ExecutionMode.MOCK:
            return executor.MockExecutor(scenario.mocks if scenario else ())
        case executor.ExecutionMode.LIVE:
            return executor.LiveExecutor(app.gateway)
