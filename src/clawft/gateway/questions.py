"""Questions of the stateless era: a tool asks, the caller is answered with `input_required` and calls again.

Nothing is remembered between the two calls. What was answered so far travels in `requestState`: signed, expiring, and
bound to the caller and to the very call it belongs to. Only that it was used is remembered, if it has allowed a thing.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Raw, Struct

from clawft.errors import BadParams, ProtocolFailure
from clawft.model import Caller, Kind, Question, Reply, RunEnded
from clawft.wire.visible import make_visible

if TYPE_CHECKING:  # loaded with the first answer to a question
    from clawft.gateway.spent_states import SpentStates

LIFETIME_SECONDS = 600.0
MAX_STATE_BYTES = 256 * 1024
NONCE_BYTES = 12

Answers = Mapping[str, Mapping[str, Any]]


class TaskDetached(RunEnded):
    """Raised when a call goes on as a task, where it is run again."""


class _State(Struct):
    answers: dict[str, dict[str, Any]]
    expires: float
    principal: str
    digest: str
    asked: list[str] = []
    """The questions that were open when the state was sealed."""
    carry: bytes = b""
    """The state that the run that ended here left for the next."""
    proof: str = ""
    """With which rights it began, where servers are called in people's names."""
    nonce: bytes = b""


def _allows_nothing() -> bool:
    return False


class AnswersSoFar(Struct, frozen=True):
    """The answers so far, and which questions the caller was asked."""

    answers: Answers = {}
    asked: frozenset[str] = frozenset()
    carry: bytes = b""
    spend: Callable[[], bool] = _allows_nothing
    """Takes the right to allow something from the state; False if it had none left."""


OURS = "weft_"
"""Keys of questions that the house itself asks, about what a tool may do."""


def given(raw: Mapping[str, Raw], opened: AnswersSoFar) -> Answers:
    """Known and new answers. One to a question of ours counts only if we have asked: nobody allows itself a thing.

    Where something is carried the new ones answer whoever carries it, and nobody else.
    """
    if opened.carry:
        return opened.answers
    new = read_answers(raw)
    asked = {key: answer for key, answer in new.items() if not key.startswith(OURS) or key in opened.asked}
    return {**opened.answers, **asked}


class Seal:
    """Signs and reads `requestState`."""

    def __init__(self, key: bytes, lifetime: float = LIFETIME_SECONDS) -> None:
        self._key = key
        self._lifetime = lifetime

    @cached_property
    def _spent(self) -> SpentStates:
        from clawft.gateway.spent_states import SpentStates  # loaded with the first answer to a question

        return SpentStates()

    def close(
        self, answers: Answers, caller: Caller, digest: str, asked: Iterable[str] = (), carry: bytes = b""
    ) -> str:
        """Raises ProtocolFailure if what a server wants kept is more than a caller can be asked to carry."""
        known = {key: dict(answer) for key, answer in answers.items()}
        state = _State(
            known,
            time.time() + self._lifetime,
            caller.principal,
            digest,
            list(asked),
            carry,
            caller.proof,
            os.urandom(NONCE_BYTES),
        )
        body = msgspec.json.encode(state)
        sealed = base64.urlsafe_b64encode(self._sign(body) + body).decode()
        if len(sealed) > MAX_STATE_BYTES:
            raise ProtocolFailure(f"the state of this call has {len(sealed)} bytes; {MAX_STATE_BYTES} can be carried")
        return sealed

    def open(self, state: str, caller: Caller, digest: str) -> AnswersSoFar:
        """The content of the state. Raises BadParams if altered, late, another caller's or another call's."""
        read = self._read(state)
        if read is None:
            raise BadParams("requestState is not one of ours, or was altered")
        if read.expires < time.time():
            raise BadParams("requestState has expired", hint="call again without it")
        if (read.principal, read.proof, read.digest) != (caller.principal, caller.proof, digest):
            raise BadParams("requestState belongs to another call")
        spend = partial(self._spent.spend, read.nonce, read.principal, read.expires)
        return AnswersSoFar(read.answers, frozenset(read.asked), read.carry, spend)

    def _read(self, state: str) -> _State | None:
        if len(state) > MAX_STATE_BYTES:
            return None
        try:
            raw = base64.b64decode(state.encode(), altchars=b"-_", validate=True)
        except ValueError:
            return None
        from hmac import compare_digest  # loads OpenSSL; only who asks needs it

        signature, body = raw[:32], raw[32:]
        if not compare_digest(signature, self._sign(body)):
            return None
        return msgspec.json.decode(body, type=_State)

    def _sign(self, body: bytes) -> bytes:
        import hmac  # loads OpenSSL; only who asks needs it

        return hmac.digest(self._key, body, "sha256")


def digest_of(method: str, name: str, arguments: bytes) -> str:
    """The digest of all that a retry must have in common with the call it continues."""
    try:
        canonical = msgspec.json.encode(msgspec.json.decode(arguments or b"{}"), order="sorted")
    except msgspec.DecodeError:  # a number beyond what we read: then the retry must spell it the same way
        canonical = arguments
    import hashlib  # loads OpenSSL; only who asks needs it

    return hashlib.sha256(b"\0".join((method.encode(), name.encode(), canonical))).hexdigest()[:32]


def input_required(questions: Mapping[str, Question], state: str) -> Reply:
    requests = {key: {"method": q.method, "params": dict(q.params)} for key, q in questions.items()}
    payload = msgspec.json.encode({"inputRequests": requests, "requestState": state})
    return Reply(make_visible(payload), kind=Kind.INPUT_REQUIRED)


def read_answers(raw: Mapping[str, Raw]) -> Answers:
    """The `inputResponses` that are objects; anything else counts as not answered."""
    answers: dict[str, Mapping[str, Any]] = {}
    for key, value in raw.items():
        try:
            answer: object = msgspec.json.decode(value)
        except msgspec.DecodeError:
            continue
        if isinstance(answer, dict):
            answers[key] = cast("dict[str, Any]", answer)
    return answers
