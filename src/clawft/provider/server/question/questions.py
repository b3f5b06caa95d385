"""Turns a server's question into what its agent gets: with the server's name, in the agent's era. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, field

from clawft.errors import INVALID_PARAMS, METHOD_NOT_FOUND, JsonRpcFailure
from clawft.model import Caller, Era, Question
from clawft.upstream.spec import Asks, UpstreamSpec
from clawft.wire.answers import can_answer
from clawft.wire.meta import ASKING_SERVER, HOP, QUESTION_KEY
from clawft.wire.quoted_lines import quoted_as
from clawft.wire.shapes import flaw, members

QuestionMethod = Literal["elicitation/create", "sampling/createMessage", "roots/list"]

KINDS: Mapping[str, Asks] = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
ROOTS = "roots/list"
MAX_KEY_CHARS = 200
MAX_ASKED_BYTES = 64 * 1024
MAX_SAMPLING_BYTES = 4 * 1024 * 1024
"""Size of a request to a model."""

_params = msgspec.json.Decoder(dict[str, Any])


def read_question(spec: UpstreamSpec, method: str, params: bytes, agent: Caller, visit: str = "") -> Question:
    """The question. Raises JsonRpcFailure if the server may not ask it, or it is malformed.

    `visit` is used as the id of a visit to an address, if the server gives none.
    """
    kind = KINDS.get(method)
    if kind is None:
        raise JsonRpcFailure(METHOD_NOT_FOUND, f"{method[:100]} is not served here")
    if kind not in spec.asks:
        raise JsonRpcFailure(METHOD_NOT_FOUND, f"{method}: the configuration does not let {spec.name} ask that")
    most = MAX_SAMPLING_BYTES if kind == "sampling" else MAX_ASKED_BYTES
    if len(params) > most:
        raise JsonRpcFailure(
            INVALID_PARAMS, f"{method}: the question has {len(params)} bytes; at most {most} are allowed"
        )
    try:
        asked = _params.decode(_mended(kind, params or b"{}"))
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise JsonRpcFailure(INVALID_PARAMS, f"{method}: the question is malformed: {flaw(wrong)}") from None
    asked = without_hop(asked)
    if kind == "elicitation":
        _check_elicitation(asked)
        asked = _elicitation(spec.name, asked, agent, visit)
    elif kind == "sampling":
        asked = _sampling(asked, agent)
        asked = {**asked, "_meta": {**members(asked.get("_meta")), ASKING_SERVER: spec.name}}
    return Question(cast("QuestionMethod", method), asked)


def _mended(kind: Asks, params: bytes) -> bytes:
    from clawft.wire.questions import mended_elicitation, mended_sampling  # most servers never ask

    return {"elicitation": mended_elicitation, "sampling": mended_sampling}.get(kind, bytes)(params)


def _check_elicitation(params: Mapping[str, Any]) -> None:
    """Raises JsonRpcFailure for a question no person should be shown."""
    mode = params.get("mode", "form")
    if mode == "url":
        if not is_web_address(params.get("url")):
            raise JsonRpcFailure(INVALID_PARAMS, "a person is sent to http:// and https:// addresses only")
    elif mode != "form":
        raise JsonRpcFailure(INVALID_PARAMS, "a person is asked by a form, or sent to an address")


_WEB_ADDRESS = r"https?://[^\s/?#@\\]+([/?#][^\s\\]*)?"
"""Without a user name in front of the host, which could pass for it."""


def is_web_address(url: object) -> bool:
    """Whether a browser may be sent there: no script, no file, nothing in front of the host name."""
    return isinstance(url, str) and re.fullmatch(_WEB_ADDRESS, url, re.IGNORECASE) is not None


def without_hop(told: Mapping[str, Any]) -> dict[str, Any]:
    """A question or answer without metadata of the hop: progress tokens, and who asks, which we say ourselves."""
    meta = {key: value for key, value in members(told.get("_meta")).items() if key not in _HOP}
    rest = {key: value for key, value in told.items() if key != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


_HOP = HOP | {"progressToken", ASKING_SERVER}


def _elicitation(server: str, params: dict[str, Any], agent: Caller, visit: str) -> dict[str, Any]:
    """The question with the server's name in front. Schema, defaults and address stay untouched."""
    shown: dict[str, Any] = {
        "mode": "form",
        **params,
        "message": quoted_as(f"{server} asks:", str(params.get("message", ""))),
    }
    if shown["mode"] == "url":
        id = shown.pop("elicitationId", None)
        if agent.era is Era.HANDSHAKE:
            shown["elicitationId"] = elicitation_id(server, str(id or visit or shown.get("url")))
    return shown


def _sampling(params: dict[str, Any], agent: Caller) -> dict[str, Any]:
    """The request to a model. Without tool support it goes without tools, unless it requires or mentions them."""
    if agent.capabilities.sampling_tools:
        return params
    if members(params.get("toolChoice")).get("mode") == "required" or _tells_of_tools(params):
        raise JsonRpcFailure(METHOD_NOT_FOUND, "the calling agent has not declared that its model can use tools")
    return {key: value for key, value in params.items() if key not in _TOOLS}


_TOOLS = ("tools", "toolChoice")


def _tells_of_tools(params: Mapping[str, Any]) -> bool:
    blocks = (block for message in params.get("messages", ()) for block in _blocks(message.get("content")))
    return any(block.get("type") in ("tool_use", "tool_result") for block in blocks)


def _blocks(content: object) -> Sequence[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", content if isinstance(content, list) else [content])


def key_of(question: Question) -> str:
    """The tool's own key of its question, if a clawft behind us sent it."""
    key = members(question.params.get("_meta")).get(QUESTION_KEY)
    return key if isinstance(key, str) and 0 < len(key) <= MAX_KEY_CHARS else ""


def elicitation_id(server: str, id: str) -> str:
    """An id with the server's name, as those of two servers may be equal."""
    return f"{server}:{id}"


class _Visit(Struct):
    id: str = field(default="", name="elicitationId")


def read_visit(params: bytes) -> str:
    """The id of the visit that is done; empty if it is malformed."""
    try:
        return msgspec.json.decode(params, type=_Visit).id
    except msgspec.DecodeError:
        return ""


def refuse_unless_able(agent: Caller, question: Question) -> None:
    """Raises JsonRpcFailure, for the server to hear, if the agent has not said that it can answer this."""
    if not can_answer(agent.capabilities, question):
        raise JsonRpcFailure(METHOD_NOT_FOUND, cannot(question))


def cannot(question: Question) -> str:
    mode = " by URL" if question.params.get("mode") == "url" else ""
    return f"the calling agent has not declared that it can answer {question.method}{mode}"
