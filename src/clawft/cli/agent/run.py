"""`weft agent`: what the task is, and whether it is done or only explained."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from clawft.cli.parser import Options, WrongUsage
from clawft.config.places import expanded

if TYPE_CHECKING:
    from clawft.delegate.scenario import Scenario

MAX_TASK_BYTES = 1024 * 1024


def run(options: Options) -> int:
    options.task = _task(options)
    options.more = _more(options)
    scenario = _scenario(options)
    if options.explain:
        from clawft.cli.agent.explain import explain  # a task that is none needs no house

        return explain(options)
    from clawft.cli.agent.work import work  # runs a house: an explanation does without it

    return work(options, scenario)


def _task(options: Options) -> str:
    texts = [text for text in (options.prompt, options.message, options.print) if text]
    if len(texts) > 1:
        raise WrongUsage("the task is given more than once", hint="use one of -p, -m and --print")
    if texts:
        return texts[0].encode(errors="surrogateescape").decode(errors="replace")
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
    given = {
        "delegation.max_turns": options.max_turns,
        "delegation.claude_model": options.model,
        "delegation.openai_model": options.model,
        f"delegation.{_SWITCHES.get(options.target, '')}": True if options.target in _SWITCHES else None,
    }
    return {key: value for key, value in given.items() if value is not None}


_SWITCHES = {"claude": "claude_enabled", "openai": "openai_enabled", "flow": "claude_flow_enabled"}


def _scenario(options: Options) -> Scenario | None:
    if not options.scenario:
        return None
    from clawft.delegate.scenario import read  # only for those who have one

    return read(expanded(options.scenario))
