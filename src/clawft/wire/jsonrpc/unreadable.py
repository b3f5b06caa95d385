"""Handles messages that cannot be read. One may have been the answer to a request: that has failed, as no better one
will follow.

Loaded with the first of it: few servers write what is no message.
"""

from __future__ import annotations

from collections.abc import Sequence

from clawft.errors import MessageTooLong, UnreadableAnswer, WireError
from clawft.wire.correlate import OpenAnswers
from clawft.wire.jsonrpc import writing
from clawft.wire.jsonrpc.batches import unread_answers
from clawft.wire.jsonrpc.likely import is_likely_call, likely_answer, likely_request
from clawft.wire.jsonrpc.messages import Failure, Response
from clawft.wire.jsonrpc.salvage import read_salvaged

Waiting = OpenAnswers[Response | Failure]


def fail_long(head: bytes, waiting: Waiting, error: MessageTooLong) -> None:
    """Whoever waits for what begins like this; where that cannot be told, all: it may be the answer to any of them."""
    answered = likely_answer(head)
    if answered:
        waiting.fail(answered, error)
    elif not is_likely_call(head):
        waiting.fail_all(error)


def salvage(message: bytes, waiting: Waiting) -> bool:
    """Save what can be read of a list that somebody waits for; returns whether they got it."""
    answer = read_salvaged(message)
    return answer is not None and waiting.fill(answer.id, answer)


def fail_answered(message: bytes, members: Sequence[bytes], waiting: Waiting, wrong: WireError) -> None:
    """`members` are what it consists of, where it is an array."""
    for each in members or (message,):
        answered = likely_answer(each)
        if answered:
            waiting.fail(answered, UnreadableAnswer(f"the answer is not a message: {wrong}"))
    if not members and (why := unread_answers(message)):
        waiting.fail_all(UnreadableAnswer(f"the answer cannot be read: {why}"))


def refusal_of(message: bytes, wrong: WireError) -> bytes | None:
    """The refusal for whoever meant it as a request."""
    asked = None if likely_answer(message) else likely_request(message)
    return writing.failure(asked, wrong.code, str(wrong)) if asked else None
