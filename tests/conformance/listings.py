"""The resources and prompts of the suite, as tables and pure look-ups."""

from collections.abc import Mapping
from typing import Any

import msgspec

from clawft.model import Prompt, PromptArgument, Resource, ResourceContent, ResourceTemplate
from tests.conformance.content import PNG, image_block, resource_block, text_block

STATIC_TEXT = "test://static-text"
STATIC_BINARY = "test://static-binary"
WATCHED = "test://watched-resource"
TEMPLATE_START, TEMPLATE_END = "test://template/", "/data"

# The suite reads the first resource listed, so the first one is the plainest.
RESOURCES = (
    Resource(STATIC_TEXT, "static-text", description="A fixed text", mime_type="text/plain"),
    Resource(STATIC_BINARY, "static-binary", description="A fixed image", mime_type="image/png"),
    Resource(WATCHED, "watched-resource", description="A text to subscribe to", mime_type="text/plain"),
)
TEMPLATES = (
    ResourceTemplate(
        f"{TEMPLATE_START}{{id}}{TEMPLATE_END}",
        "template",
        description="A document by its id",
        mime_type="application/json",
    ),
)

FIXED: Mapping[str, ResourceContent] = {
    STATIC_TEXT: ResourceContent(
        STATIC_TEXT, mime_type="text/plain", text="This is the content of the static text resource."
    ),
    STATIC_BINARY: ResourceContent(STATIC_BINARY, mime_type="image/png", blob=PNG),
    WATCHED: ResourceContent(WATCHED, mime_type="text/plain", text="Watched resource content"),
}

ASKING_PROMPT = "test_input_required_result_prompt"
PROMPTS = (
    Prompt("test_simple_prompt", description="A prompt without arguments"),
    Prompt(
        "test_prompt_with_arguments",
        description="A prompt with two arguments",
        arguments=(
            PromptArgument("arg1", description="First test argument", required=True),
            PromptArgument("arg2", description="Second test argument", required=True),
        ),
    ),
    Prompt(
        "test_prompt_with_embedded_resource",
        description="A prompt that embeds a resource",
        arguments=(PromptArgument("resourceUri", description="URI of the resource to embed", required=True),),
    ),
    Prompt("test_prompt_with_image", description="A prompt with an image"),
    Prompt(ASKING_PROMPT, description="A prompt that asks for its context first"),
)
ADDED_PROMPT = Prompt("test_added_prompt", description="There after every other test_trigger_prompt_change")


def read(uri: str) -> list[ResourceContent] | None:
    """The contents behind a URI, or None for one we do not have."""
    if uri in FIXED:
        return [FIXED[uri]]
    if not (uri.startswith(TEMPLATE_START) and uri.endswith(TEMPLATE_END)):
        return None
    id = uri[len(TEMPLATE_START) : -len(TEMPLATE_END)]
    return [_document(uri, id)] if id and "/" not in id else None


def _document(uri: str, id: str) -> ResourceContent:
    text = msgspec.json.encode({"id": id, "templateTest": True, "data": f"Data for ID: {id}"}).decode()
    return ResourceContent(uri, mime_type="application/json", text=text)


def user(*blocks: Mapping[str, Any]) -> dict[str, Any]:
    """A prompt result: each block is one message of the user."""
    return {"messages": [{"role": "user", "content": block} for block in blocks]}


def fill(name: str, arguments: Mapping[str, str]) -> dict[str, Any] | None:
    """The messages of a prompt that needs nothing but its arguments; None for one we do not have."""
    match name:
        case "test_simple_prompt":
            return user(text_block("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            values = f"arg1='{arguments.get('arg1', '')}', arg2='{arguments.get('arg2', '')}'"
            return user(text_block(f"Prompt with arguments: {values}"))
        case "test_prompt_with_embedded_resource":
            uri = arguments.get("resourceUri", "")
            embedded = resource_block(uri, "text/plain", "Embedded resource content for testing.")
            return user(embedded, text_block("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return user(image_block(), text_block("Please analyze the image above."))
        case ADDED_PROMPT.name:
            return user(text_block("I was added while you watched"))
        case _:
            return None
