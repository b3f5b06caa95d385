"""claude-flow as a target: the task is a tool call to its server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clawft.delegate import flow
from clawft.delegate.budget import RunEnd
from clawft.delegate.delegator import DelegateJob, Delegator, DelegatorHost
from clawft.delegate.events import CallEnded
from clawft.gateway.core import Gateway
from clawft.guard.result import ResultGuard
from clawft.model import Caller
from clawft.policy.delegation import DelegationConfig, DelegationRule, Target
from clawft.provider.function import FunctionProvider, tool
from clawft.store.cut_results import CutResults
from clawft.store.memory import MemoryStore
from tests.delegate.support import Listener
from tests.requirements import requirement


def made(*states: str) -> tuple[Gateway, list[dict[str, Any]]]:
    """A server with claude-flow's task tools, whose task goes through these states."""
    asked: list[dict[str, Any]] = []
    coming = iter(states)

    @tool
    async def task_create(type: str, description: str) -> str:
        """Create a new task."""
        asked.append({"type": type, "description": description})
        return json.dumps({"taskId": "task-1", "status": next(coming)})

    @tool
    async def task_status(taskId: str) -> str:  # noqa: N803 - as claude-flow calls it
        """Get task status."""
        return json.dumps({"taskId": taskId, "status": next(coming)})

    gateway = Gateway()
    provider = FunctionProvider("mcp:ruflo", [task_create, task_status], workspace=Path.cwd(), store=MemoryStore())
    gateway.register(provider, server="ruflo")
    return gateway, asked


def talkative(*records: str) -> Gateway:
    """Its records are longer than what a result may have."""

    coming = iter(records)

    @tool
    async def task_create(type: str, description: str) -> str:
        """Create a new task."""
        return next(coming)

    @tool
    async def task_status(taskId: str) -> str:  # noqa: N803 - as claude-flow calls it
        """Get task status."""
        return next(coming)

    gateway = Gateway([ResultGuard(CutResults(), limit=400)])
    provider = FunctionProvider("mcp:ruflo", [task_create, task_status], workspace=Path.cwd(), store=MemoryStore())
    gateway.register(provider, server="ruflo")
    return gateway


def delegator_of(gateway: Gateway, server: str = "ruflo") -> Delegator:
    config = DelegationConfig(
        claude_flow_enabled=True, claude_flow_server=server, rules=(DelegationRule("swarm", "flow"),)
    )
    return Delegator(config, DelegatorHost(gateway, lambda: None, lambda: (), Path.cwd()))


@requirement("DELEG-19", "DELEG-21", "T-12.5", "DELEG-08")
async def test_the_task_goes_to_the_server_and_its_record_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "POLL_SECONDS", 0.0)
    gateway, asked = made("in_progress", "in_progress", "completed")
    delegator = delegator_of(gateway)
    assert delegator.decide("send the swarm", Caller()).target is Target.FLOW
    listener = Listener()
    outcome = await delegator.run(DelegateJob("send the swarm", Caller(), listener.tell, listener.record, Target.FLOW))
    assert outcome.state is RunEnd.DONE
    assert json.loads(outcome.text)["status"] == "completed"
    assert asked == [{"type": "feature", "description": "send the swarm"}]
    assert [called.verdict for called in listener.of(CallEnded)] == ["ok"] * 3


@requirement("DELEG-19")
async def test_a_task_that_only_waits_there_is_handed_over() -> None:
    gateway, _ = made("pending")
    outcome = await delegator_of(gateway).run(
        DelegateJob("x", Caller(), Listener().tell, Listener().record, Target.FLOW)
    )
    assert (outcome.state, outcome.calls) == (RunEnd.DONE, 1)


async def test_a_failed_task_fails() -> None:
    gateway, _ = made("failed")
    outcome = await delegator_of(gateway).run(
        DelegateJob("x", Caller(), Listener().tell, Listener().record, Target.FLOW)
    )
    assert outcome.state is RunEnd.FAILED
    assert "failed" in outcome.reason


@requirement("DELEG-19")
@pytest.mark.parametrize(
    ("record", "state"),
    [
        ('{"taskId":"1","status":[]}', RunEnd.DONE),
        ('{"taskId":{},"status":{}}', RunEnd.DONE),
        ("The task was created.", RunEnd.DONE),
        ('{"a":' + "[" * 20_000, RunEnd.FAILED),
    ],
)
async def test_a_record_that_is_none_ends_the_task_and_not_the_run(record: str, state: RunEnd) -> None:
    @tool
    async def task_create(type: str, description: str) -> str:
        """Create a new task."""
        return record

    gateway = Gateway()
    provider = FunctionProvider("mcp:ruflo", [task_create], workspace=Path.cwd(), store=MemoryStore())
    gateway.register(provider, server="ruflo")
    outcome = await delegator_of(gateway).run(
        DelegateJob("x", Caller(), Listener().tell, Listener().record, Target.FLOW)
    )
    assert (outcome.state, outcome.text) == (state, record)


@requirement("DELEG-23")
def test_a_server_that_is_not_there_switches_the_target_off() -> None:
    gateway, _ = made()
    missing = delegator_of(gateway, "elsewhere").missing(Caller())
    assert "weft servers test elsewhere" in missing[Target.FLOW]
    assert delegator_of(gateway, "elsewhere").decide("swarm", Caller()).target is Target.LOCAL


LONG = "x" * 1_000
RUNS = {"taskId": "7", "status": "running"}


@requirement("DELEG-19")
@pytest.mark.parametrize(
    ("records", "state", "calls"),
    [
        (({**RUNS, "log": LONG}, {"status": "completed", "log": LONG}), RunEnd.DONE, 2),
        ((RUNS, {"status": "running"}, {"status": "failed", "log": LONG}), RunEnd.FAILED, 3),
        (({"log": LONG, **RUNS},), RunEnd.FAILED, 1),
        ((RUNS, {"log": LONG, "status": "running"}), RunEnd.FAILED, 2),
    ],
)
async def test_a_record_longer_than_a_result_is_not_taken_for_done(
    monkeypatch: pytest.MonkeyPatch, records: tuple[dict[str, Any], ...], state: RunEnd, calls: int
) -> None:
    monkeypatch.setattr(flow, "POLL_SECONDS", 0.0)
    gateway = talkative(*map(json.dumps, records))
    outcome = await delegator_of(gateway).run(
        DelegateJob("x", Caller(), Listener().tell, Listener().record, Target.FLOW)
    )
    assert (outcome.state, outcome.calls) == (state, calls)
    assert bool(outcome.reason) == (state is RunEnd.FAILED)
