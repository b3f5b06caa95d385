"""Handles error -32042 of 2025-11-25: a person must visit an address before the call can be made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from clawft.errors import URL_ELICITATION_REQUIRED, ExecutionFailed, JsonRpcFailure, UrlElicitationRequired
from clawft.model import Call, Era, Question
from clawft.provider.server.question import carried_state
from clawft.provider.server.question.questions import elicitation_id, is_web_address

MAX_URLS = 16


async def ask_for_urls(server: str, call: Call, error: JsonRpcFailure) -> None:
    """Ask in the agent's form: by the same error, or by a question; not at all if it supports neither."""
    wanted = _read(error.error_data)
    if not call.caller.capabilities.elicit_url or not wanted:
        return
    if call.caller.era is Era.HANDSHAKE:
        raise UrlElicitationRequired(f"{server}: {error.message}", [_named(server, each) for each in wanted])
    questions = {f"url_{number}": _question(server, each) for number, each in enumerate(wanted, 1)}
    _check(server, await call.talk.ask(questions, carried_state.encode(carried_state.RepeatedCall())))


def login_wanted(url: str) -> JsonRpcFailure:
    """An error like that of a server that asks for a login itself."""
    wanted = {"mode": "url", "url": url, "elicitationId": url, "message": "log in to it, then call again"}
    return JsonRpcFailure(URL_ELICITATION_REQUIRED, "it needs a login", {"elicitations": [wanted]})


async def consented(server: str, call: Call) -> None:
    """Raises ExecutionFailed unless the person agreed to go there."""
    _check(server, await call.talk.ask({}, carried_state.encode(carried_state.RepeatedCall())))


def _check(server: str, answers: Mapping[str, Mapping[str, Any]]) -> None:
    if any(answer.get("action") != "accept" for answer in answers.values()):
        raise ExecutionFailed(f"{server} needs the person to visit an address first, and they declined")


def _read(data: object) -> list[Mapping[str, Any]]:
    listed = cast("Mapping[str, object]", data).get("elicitations") if isinstance(data, dict) else None
    items = cast("list[object]", listed) if isinstance(listed, list) else []
    read = [cast("Mapping[str, Any]", item) for item in items[:MAX_URLS] if isinstance(item, dict)]
    return [item for item in read if is_web_address(item.get("url"))]


def _named(server: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    id = elicitation_id(server, str(wanted.get("elicitationId") or wanted["url"]))
    return {**wanted, "message": f"{server} asks: {wanted.get('message', '')}", "elicitationId": id}


def _question(server: str, wanted: Mapping[str, Any]) -> Question:
    message = f"{server} asks: {wanted.get('message', '')}"
    return Question("elicitation/create", {"mode": "url", "message": message, "url": wanted["url"]})
