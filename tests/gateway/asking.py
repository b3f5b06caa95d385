"""Tools that ask back, for the tests of both eras."""

import json
from typing import Any

from clawft.gateway.core import Gateway
from clawft.model import Call, Capabilities, Question, Reply
from tests.gateway.support import Demo, serving

FORM: dict[str, Any] = {
    "mode": "form",
    "message": "Who\u202e are you?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
CAN_FILL: dict[str, Any] = {"elicitation": {}}
ADA = {"action": "accept", "content": {"name": "ada"}}


async def greet(call: Call) -> Reply:
    answer = (await call.talk.ask({"who": Question("elicitation/create", FORM)}))["who"]
    name = answer["content"]["name"] if answer["action"] == "accept" else answer["action"]
    return Reply.text(f"hello {name}")


async def both(call: Call) -> Reply:
    answers = await call.talk.ask(
        {"who": Question("elicitation/create", FORM), "where": Question("roots/list")},
    )
    return Reply.text(json.dumps(answers, sort_keys=True))


async def stepwise(call: Call) -> Reply:
    first = (await call.talk.ask({"one": Question("elicitation/create", FORM)}))["one"]
    second = (await call.talk.ask({"two": Question("elicitation/create", FORM)}))["two"]
    return Reply.text(f"{first['content']['name']} {second['content']['name']}")


async def samples(call: Call) -> Reply:
    return Reply.text(str(await call.talk.ask({"s": Question("sampling/createMessage", {"messages": []})})))


def server(**options: Any) -> Gateway:
    demo = Demo().add("greet", greet).add("both", both).add("stepwise", stepwise).add("samples", samples)
    return serving(demo.add("needs", greet, needs=Capabilities(sampling=True)), **options)
