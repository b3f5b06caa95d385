"""Delegation of tasks: who could take one now, who gets it, and running it within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clawft.catalog.snapshot import CatalogEntry
from clawft.catalog.surface import Surface, SurfaceForm, searched_by
from clawft.delegate import rules, sdk
from clawft.delegate.budget import RunBounds
from clawft.delegate.events import Outcome, Tell
from clawft.delegate.executor import ExecutionContext, GatewayView, LiveExecutor, ToolExecutor
from clawft.delegate.flow import ClaudeFlow, entry_tool
from clawft.delegate.key import ApiKey, read_key
from clawft.delegate.local import LocalModel
from clawft.delegate.loop import Loop, Record
from clawft.delegate.prompt import ConnectedServer, system_prompt
from clawft.delegate.rules import Decision
from clawft.delegate.toolbox import filter_tools, spec_of
from clawft.delegate.turns import HistoryEntry, Model, TaskText
from clawft.error_words import nearest
from clawft.errors import ClawftError, DelegationFailed
from clawft.model import Caller, Capabilities, Era, Grant, LogLevel, Question, SilentTalk, Talk
from clawft.policy.delegation import DelegationConfig, Target

OWN_TOOLS = "delegate__*"
_depth: ContextVar[int] = ContextVar("delegation_depth", default=0)


class DelegatorHost(Struct, frozen=True):
    """The parts of the program that the delegator needs."""

    gateway: GatewayView
    offer_search: Callable[[], None]
    connected: Callable[[], Sequence[ConnectedServer]]
    workspace: Path


class DelegateJob(Struct, frozen=True):
    """One task to be done. `model` and `executor` replace those that the target would get."""

    task: str
    caller: Caller
    tell: Tell
    record: Record
    target: Target = Target.AUTO
    tools: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    """Globs of tools that a rule allows: `tools` can only narrow them."""
    history: Sequence[HistoryEntry] = ()
    model: Model | None = None
    executor: ToolExecutor | None = None
    talk: Talk = SilentTalk()
    asker: Talk | None = None
    """Answers questions of the delegate; None declines them."""
    why: str = ""
    """Why this target."""
    above: int = 0
    """How many delegates at other gateways already stand above this task."""


class Delegator:
    def __init__(self, config: DelegationConfig, host: DelegatorHost) -> None:
        self._config = config
        self._host = host
        self._bounds = RunBounds.of(config)

    # ── who ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def missing(self, caller: Caller) -> dict[Target, str]:
        """The reason for each target that cannot take a task now."""
        faults = {
            Target.CLAUDE: self._fault_of_claude(),
            Target.OPENAI: self._fault_of_openai(),
            Target.FLOW: self._fault_of_flow(caller),
        }
        return {target: fault for target, fault in faults.items() if fault}

    def decide(self, task: str, caller: Caller) -> Decision:
        lacking = self.missing(caller)
        return rules.decide(
            task,
            self._config,
            claude_ok=Target.CLAUDE not in lacking,
            flow_ok=Target.FLOW not in lacking,
            openai_ok=Target.OPENAI not in lacking,
        )

    def asked_for(self, task: str, target: Target, reason: str) -> Decision:
        """The decision for a target asked for by name: the rules only decide which tools it gets."""
        return Decision(
            target, reason, tools=rules.tools_of(task, target, self._config.rules), complexity=rules.complexity(task)
        )

    def warnings(self) -> Iterator[str]:
        """Targets that are switched on but cannot take tasks, and rules that cannot be used. Servers warn elsewhere."""
        config = self._config
        for target, is_on, fault in (
            (Target.CLAUDE, config.claude_enabled, self._fault_of_claude),
            (Target.OPENAI, config.openai_enabled, self._fault_of_openai),
        ):
            if is_on and (why := fault()):
                yield f"{target.value}: {why}"
        yield from rules.problems(config.rules)

    def _fault_of_claude(self) -> str:
        config = self._config
        if not config.claude_enabled:
            return _switched_off("claude_enabled")
        return _fault_of("anthropic", "claude", config.claude_key)

    def _fault_of_openai(self) -> str:
        config = self._config
        if not config.openai_enabled:
            return _switched_off("openai_enabled")
        if not config.openai_model:
            return "delegation.openai_model names no model"
        return _fault_of("openai", "openai", "" if config.openai_url else config.openai_key)

    def _fault_of_flow(self, caller: Caller) -> str:
        config = self._config
        if not config.claude_flow_enabled:
            return _switched_off("claude_flow_enabled")
        server = config.claude_flow_server
        if not server:
            return "delegation.claude_flow_server names no server"
        if self._host.gateway.tools.find_visible(entry_tool(server), caller) is None:
            return f"the server {server} is not connected (weft servers test {server})"
        return ""

    # ── the work ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self, job: DelegateJob) -> Outcome:
        """Run a job to its end, by the target it names. Raises DelegationFailed if that target cannot take it."""
        depth = max(_depth.get(), job.above)
        if depth >= self._config.max_depth:
            raise DelegationFailed(
                f"a delegate may not delegate again (depth {self._config.max_depth})",
                hint="do it with the tools you have, or raise delegation.max_depth",
            )
        lacking = {} if job.model else await asyncio.to_thread(self.missing, job.caller)
        if job.target in lacking:
            hint = "weft agent --explain -p TASK says who could take it"
            raise DelegationFailed(f"{job.target.value} is not available: {lacking[job.target]}", hint=hint)
        with _at_depth(depth + 1):
            context = ExecutionContext(self._delegate(job), DelegateTalk(job.talk, job.asker), depth + 1)
            if job.target is Target.FLOW and job.model is None:
                server = self._config.claude_flow_server
                return await ClaudeFlow(server, self._host.gateway, context, self._bounds, job.tell).run(job.task)
            model = job.model or await asyncio.to_thread(self._model, job, context, lacking)  # a library loads slowly
            return await self._looped(job, context, model)

    async def _looped(self, job: DelegateJob, context: ExecutionContext, model: Model) -> Outcome:
        try:
            executor = job.executor or LiveExecutor(self._host.gateway)
            loop = Loop(
                model,
                executor,
                context,
                self._bounds,
                tell=job.tell,
                record=job.record,
                prices=self._config.prices,
            )
            entries, searching = self._given(context.caller)
            system = system_prompt(str(self._host.workspace), self._host.connected(), searching=searching)
            task = TaskText(job.task)
            job.record(task)
            return await loop.run([*job.history, task], system, [spec_of(entry) for entry in entries])
        finally:
            await model.close()

    def _given(self, caller: Caller) -> tuple[list[CatalogEntry], bool]:
        """The tools listed to the delegate, and whether it must search for the others."""
        surface = Surface(SurfaceForm.AUTO, self._config.tool_tokens)
        entries = self._host.gateway.tools.visible(caller)
        if surface.searches(entries):
            self._host.offer_search()
            entries = self._host.gateway.tools.visible(caller)
        given = surface.listed(entries, lambda entry: False)
        return given, searched_by(given)

    def _model(self, job: DelegateJob, context: ExecutionContext, lacking: dict[Target, str]) -> Model:
        config = self._config
        match job.target:
            case Target.CLAUDE:
                from clawft.delegate.claude import Claude  # brings the vendor's library

                return Claude(config.claude_model, read_key(config.claude_key), config.claude_url)
            case Target.OPENAI:
                from clawft.delegate.openai import OpenAI  # brings the vendor's library

                return OpenAI(
                    config.openai_model, _key_or_none(config.openai_key, config.openai_url), config.openai_url
                )
            case _:
                return self._local(job, context.caller, lacking)

    def _local(self, job: DelegateJob, caller: Caller, lacking: dict[Target, str]) -> LocalModel:
        return LocalModel(
            lambda query, limit: self._host.gateway.tools.search(caller, query, limit),
            lambda name: self._host.gateway.tools.find_visible(name, caller) is not None,
            lambda name: nearest(name, [entry.name for entry in self._host.gateway.tools.visible(caller)]),
            job.why,
            {target.value: fault for target, fault in lacking.items()},
        )

    def _delegate(self, job: DelegateJob) -> Caller:
        """The delegate as a caller of its own, for guards and audit, with no more rights than the one who delegates."""
        parent = job.caller
        unwanted = self._config.excluded_tools
        if _depth.get() >= self._config.max_depth:
            unwanted = (*unwanted, OWN_TOOLS)
        allow = parent.grant.allow
        if job.tools or job.within:
            left = filter_tools(self._host.gateway.tools.visible(parent), job.within, unwanted)
            allow = tuple(entry.canonical for entry in filter_tools(left, job.tools, ()))
        return msgspec.structs.replace(
            parent,
            principal=f"{parent.principal}/{job.target.value if job.model is None else job.model.name}",
            client=f"delegate/{job.target.value}",
            era=Era.HANDSHAKE,
            revision=Caller().revision,
            capabilities=Capabilities(elicit_form=job.asker is not None),
            grant=Grant(allow, tuple(dict.fromkeys((*parent.grant.deny, *unwanted))), parent.grant.within),
        )


def _switched_off(key: str) -> str:
    return f"switched off: set delegation.{key} = true in config.toml"


@contextmanager
def _at_depth(depth: int) -> Generator[None]:
    mark = _depth.set(depth)
    try:
        yield
    finally:
        _depth.reset(mark)


def _fault_of(library: str, extra: str, key: str) -> str:
    if not sdk.is_installed(library):
        return str(sdk.missing(library, extra))
    try:
        read_key(key)
    except ClawftError as wrong:
        return str(wrong)
    return ""


def _key_or_none(reference: str, url: str) -> ApiKey:
    """The key; an empty one where it cannot be read and a server of the user's own is named, which may need none."""
    try:
        return read_key(reference)
    except ClawftError:
        if not url:
            raise
        return ApiKey("")


class DelegateTalk(SilentTalk):
    """Passes log messages on, and questions to the asker; without one, questions are declined."""

    def __init__(self, talk: Talk, asker: Talk | None) -> None:
        self._talk = talk
        self._asker = asker

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        self._talk.log(level, data, logger)

    async def ask(self, questions: Mapping[str, Question], carry: bytes = b"") -> Mapping[str, Mapping[str, Any]]:
        return await (super() if self._asker is None else self._asker).ask(questions)
