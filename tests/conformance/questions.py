"""Tools that ask the caller back: as server requests in the handshake era, as `input_required` in the stateless one."""

from collections.abc import Mapping
from typing import Any

import msgspec

from clawft.errors import ExecutionFailed
from clawft.model import Capabilities, Question
from clawft.provider.context import ToolContext
from clawft.provider.function import tool

SAMPLE_TOKENS = 100
GREETING_TOKENS = 50

Properties = Mapping[str, Mapping[str, Any]]

STRING = {"type": "string"}
BOOLEAN = {"type": "boolean"}

DEFAULTS: Properties = {
    "name": {"type": "string", "description": "User name", "default": "John Doe"},
    "age": {"type": "integer", "description": "User age", "default": 30},
    "score": {"type": "number", "description": "User score", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "description": "Verification status", "default": True},
}


def titled(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in pairs]


CHOICES = titled(("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option"))
ENUMS: Properties = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": CHOICES},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": CHOICES}},
}


def schema(properties: Properties, required: list[str] | None = None) -> dict[str, Any]:
    """A form with these fields; all of them required unless said otherwise."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties) if required is None else required,
    }


def form(message: str, properties: Properties, required: list[str] | None = None) -> Question:
    return Question(
        "elicitation/create",
        {"mode": "form", "message": message, "requestedSchema": schema(properties, required)},
    )


def prompt_for_model(text: str) -> list[Mapping[str, Any]]:
    return [{"role": "user", "content": {"type": "text", "text": text}}]


def said(answer: Mapping[str, Any]) -> str:
    """The text of a sampled message, whose content is one block or a list of them."""
    content = answer.get("content")
    first = content[0] if isinstance(content, list) and content else content  # pyright: ignore[reportUnknownVariableType]  # JSON from outside: shape tested on the next line
    return str(first.get("text", "")) if isinstance(first, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # any JSON


def outcome(answer: Mapping[str, Any]) -> str:
    content = msgspec.json.encode(answer.get("content", {})).decode()
    return f"action={answer.get('action')}, content={content}"


async def field(ctx: ToolContext, key: str, message: str, name: str) -> str:
    """Ask for one string; a caller who declines gets an error result."""
    answer = await ctx.elicit(key, message, schema({name: STRING}))
    if answer is None or not isinstance(answer.get(name), str):
        raise ExecutionFailed(f"no {name} was given", hint="accept the form and fill it in")
    return str(answer[name])


# ── handshake era ────────────────────────────────────────────────────────────────────────────────────────────────────


@tool(name="test_sampling")
async def sampling(prompt: str, ctx: ToolContext) -> str:
    """Put a prompt to the caller's model."""
    answer = await ctx.sample("sampling", prompt_for_model(prompt), SAMPLE_TOKENS)
    return f"LLM response: {said(answer)}"


@tool(name="test_elicitation")
async def elicitation(message: str, ctx: ToolContext) -> str:
    """Ask the person for a user name and an address."""
    fields: Properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = (await ctx.ask({"elicitation": form(message, fields)}))["elicitation"]
    return f"User response: {outcome(answer)}"


@tool(name="test_elicitation_sep1034_defaults")
async def elicitation_defaults(ctx: ToolContext) -> str:
    """Ask with a form whose fields all have defaults."""
    answer = (await ctx.ask({"defaults": form("Please review your details", DEFAULTS, [])}))["defaults"]
    return f"Elicitation completed: {outcome(answer)}"


@tool(name="test_elicitation_sep1330_enums")
async def elicitation_enums(ctx: ToolContext) -> str:
    """Ask with a form that has every kind of choice."""
    answer = (await ctx.ask({"enums": form("Please choose", ENUMS, [])}))["enums"]
    return f"Elicitation completed: {outcome(answer)}"


# ── stateless era ────────────────────────────────────────────────────────────────────────────────────────────────────


@tool(name="test_input_required_result_elicitation")
async def asks_a_person(ctx: ToolContext) -> str:
    """Ask for a name, then greet."""
    return f"Hello, {await field(ctx, 'user_name', 'What is your name?', 'name')}!"


@tool(name="test_input_required_result_sampling")
async def asks_a_model(ctx: ToolContext) -> str:
    """Ask the caller's model for a capital."""
    answer = await ctx.sample("capital_question", prompt_for_model("What is the capital of France?"), SAMPLE_TOKENS)
    return f"LLM response: {said(answer)}"


@tool(name="test_input_required_result_list_roots")
async def asks_for_roots(ctx: ToolContext) -> str:
    """Ask for the caller's folders and name them."""
    roots = await ctx.roots("client_roots")
    return f"Roots: {', '.join(str(root.get('uri')) for root in roots)}"


@tool(name="test_input_required_result_request_state")
async def keeps_state(ctx: ToolContext) -> str:
    """Ask to confirm; the state travels with the question."""
    answer = await ctx.elicit("confirm", "Please confirm", schema({"ok": BOOLEAN}))
    return f"state-ok: {answer}"


@tool(name="test_input_required_result_tampered_state")
async def guards_state(ctx: ToolContext) -> str:
    """Ask to confirm; a changed state must never get this far."""
    answer = await ctx.elicit("confirm", "Please confirm", schema({"ok": BOOLEAN}))
    return f"state-ok: {answer}"


@tool(name="test_input_required_result_multiple_inputs")
async def asks_everyone(ctx: ToolContext) -> str:
    """Ask the person, the model and the client in one go."""
    answers = await ctx.ask(
        {
            "user_name": form("What is your name?", {"name": STRING}),
            "greeting": Question(
                "sampling/createMessage",
                {"messages": prompt_for_model("Generate a greeting"), "maxTokens": GREETING_TOKENS},
            ),
            "client_roots": Question("roots/list"),
        }
    )
    return f"{said(answers['greeting'])} {outcome(answers['user_name'])} {len(answers['client_roots']['roots'])} roots"


@tool(name="test_input_required_result_multi_round")
async def asks_twice(ctx: ToolContext) -> str:
    """Ask for a name, then for a colour."""
    name = await field(ctx, "step1", "Step 1: What is your name?", "name")
    color = await field(ctx, "step2", "Step 2: What is your favorite color?", "color")
    return f"{name} likes {color}"


def askable(capabilities: Capabilities) -> dict[str, Question]:
    """One question of each kind that such a caller can answer."""
    kinds = (
        ("elicited", capabilities.elicit_form, form("What is your name?", {"name": STRING})),
        (
            "sampled",
            capabilities.sampling,
            Question("sampling/createMessage", {"messages": prompt_for_model("Say hello"), "maxTokens": SAMPLE_TOKENS}),
        ),
        ("listed", capabilities.roots, Question("roots/list")),
    )
    return {key: question for key, possible, question in kinds if possible}


@tool(name="test_input_required_result_capabilities")
async def asks_what_is_possible(ctx: ToolContext) -> str:
    """Ask only what the caller declared it can answer."""
    questions = askable(ctx.caller.capabilities)
    answers: Mapping[str, Mapping[str, Any]] = await ctx.ask(questions) if questions else {}
    return f"Answered: {', '.join(sorted(answers)) or 'nothing'}"


@tool(name="test_streaming_elicitation")
async def streams_a_question(ctx: ToolContext) -> str:
    """Report progress, then ask: in the stateless era the stream must carry the question as a result, not a request."""
    ctx.progress(1, 2, "about to ask")
    answer = await ctx.elicit("confirm", "Go on?", schema({"ok": BOOLEAN}))
    return "declined" if answer is None else "confirmed"


TOOLS = (
    sampling,
    elicitation,
    elicitation_defaults,
    elicitation_enums,
    asks_a_person,
    asks_a_model,
    asks_for_roots,
    keeps_state,
    guards_state,
    asks_everyone,
    asks_twice,
    asks_what_is_possible,
    streams_a_question,
)
