"""Questions of stateless servers: a result that asks, answered with the same request and the answers in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import UNSET

from clawft.errors import ExecutionFailed, ProtocolFailure
from clawft.model import Call, Question
from clawft.provider import carried
from clawft.provider.asking import Roots
from clawft.provider.questions import ROOTS, cannot, read_question
from clawft.upstream.peer import Wanted, read_wanted
from clawft.upstream.session import MAX_ROUNDS
from clawft.upstream.spec import UpstreamSpec
from clawft.wire.asking import can_answer

MAX_AT_ONCE = 64
"""Questions in one result."""

Send = Callable[[Mapping[str, Any]], Awaitable[bytes]]
"""Makes the request again with these members besides its own; gives the bare result."""


async def complete(spec: UpstreamSpec, call: Call, wanted: Wanted, send: Send, roots: Roots) -> bytes:
    """Ask the agent and send its answers for as long as the server wants to know something.

    Where the agent answers with a later request this raises InputRequired, and is called again then.
    """
    for _ in range(MAX_ROUNDS):
        result = await send(await answers(spec, call, wanted, roots, carried.encode(carried.Round(wanted))))
        more = read_wanted(result)
        if more is None:
            return result
        wanted = more
    raise ProtocolFailure(f"the server still asks after {MAX_ROUNDS} rounds")


async def answers(spec: UpstreamSpec, call: Call, wanted: Wanted, roots: Roots, carry: bytes) -> dict[str, Any]:
    """As members of the next request. What the agent has no folders for, the house answers.

    `carry` is what the next run needs, where the agent answers with a later request.
    """
    if len(wanted.input_requests) > MAX_AT_ONCE:
        raise ProtocolFailure(f"the server asks {len(wanted.input_requests)} questions at once; {MAX_AT_ONCE} at most")
    questions = {
        key: read_question(spec, asked.method, bytes(asked.params), call.caller)
        for key, asked in wanted.input_requests.items()
    }
    house = [key for key, question in questions.items() if _is_ours(call, question)]
    theirs = {key: question for key, question in questions.items() if key not in house}
    for question in theirs.values():
        if not can_answer(call.caller.capabilities, question):
            raise ExecutionFailed(f"{spec.name} asks, but {cannot(question)}")
    responses: dict[str, Mapping[str, Any]] = {key: {"roots": roots()} for key in house}
    if theirs:
        given = await call.talk.ask(theirs, carry)
        responses |= {key: given[key] for key in theirs if key in given}
    state = {} if wanted.request_state is UNSET else {"requestState": wanted.request_state}
    return {**state, "inputResponses": responses} if responses else state


def _is_ours(call: Call, question: Question) -> bool:
    return question.method == ROOTS and not call.caller.capabilities.roots
