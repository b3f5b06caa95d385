"""Tools that only show something: text, media, logs, progress, schemas."""

import asyncio
from collections.abc import Mapping
from typing import Any

from clawft.errors import ExecutionFailed
from clawft.model import CallToolResult, Capabilities
from clawft.provider.context import ToolContext
from clawft.provider.function import tool

STEP_S = 0.05
"""The suite asks for messages "about 50 ms apart"."""
HANG_UP_RETRY_MS = 500
AFTER_HANG_UP_S = 0.5
"""The suite reconnects at once and waits 5 s: long enough for its GET to come before the result."""

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
"""One red pixel."""
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
"""One silent sample, 8 kHz mono."""

SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
REGION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "description": "Where to look", "x-mcp-header": "Region"}},
}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def image_block() -> dict[str, Any]:
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def resource_block(uri: str, mime_type: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


@tool(name="test_simple_text")
async def simple_text() -> str:
    """Answer with one text block."""
    return "This is a simple text response for testing."


@tool(name="test_image_content")
async def image_content() -> CallToolResult:
    """Answer with one image."""
    return CallToolResult(content=[image_block()])


@tool(name="test_audio_content")
async def audio_content() -> CallToolResult:
    """Answer with one sound."""
    return CallToolResult(content=[{"type": "audio", "data": WAV, "mimeType": "audio/wav"}])


@tool(name="test_embedded_resource")
async def embedded_resource() -> CallToolResult:
    """Answer with one embedded resource."""
    block = resource_block("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return CallToolResult(content=[block])


@tool(name="test_multiple_content_types")
async def multiple_content_types() -> CallToolResult:
    """Answer with text, an image and an embedded resource."""
    return CallToolResult(
        content=[
            text_block("Multiple content types test:"),
            image_block(),
            resource_block("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]
    )


@tool(name="test_tool_with_logging")
async def tool_with_logging(ctx: ToolContext) -> str:
    """Send three log messages while running."""
    ctx.log("info", "Tool execution started")
    await asyncio.sleep(STEP_S)
    ctx.log("info", "Tool processing data")
    await asyncio.sleep(STEP_S)
    ctx.log("info", "Tool execution completed")
    return "Tool with logging executed successfully"


@tool(name="test_logging_tool")
async def logging_tool(ctx: ToolContext) -> str:
    """Log at once and answer at once: the caller who set no level must not see it (the suite waits 500 ms in all)."""
    ctx.log("info", "test_logging_tool was called")
    ctx.log("error", "test_logging_tool is done")
    return "Logged twice"


@tool(name="test_tool_with_progress")
async def tool_with_progress(ctx: ToolContext) -> str:
    """Report progress 0, 50 and 100 of 100 while running."""
    ctx.progress(0, 100)
    await asyncio.sleep(STEP_S)
    ctx.progress(50, 100)
    await asyncio.sleep(STEP_S)
    ctx.progress(100, 100)
    return "Tool with progress executed successfully"


@tool(name="test_error_handling")
async def error_handling() -> str:
    """Always fail."""
    raise ExecutionFailed("This tool intentionally returns an error for testing")


@tool(name="test_reconnection")
async def reconnection(ctx: ToolContext) -> str:
    """Let the caller go in the middle of the call; it finds the result when it comes back."""
    ctx.talk.hang_up(HANG_UP_RETRY_MS)
    await asyncio.sleep(AFTER_HANG_UP_S)
    return "Reconnection test completed"


@tool(name="json_schema_2020_12_tool", input_schema=SCHEMA_2020_12)
async def json_schema_2020_12(arguments: Mapping[str, Any]) -> str:
    """Tool with JSON Schema 2020-12 features."""
    return f"Got {', '.join(sorted(arguments))}"


@tool(name="test_x_mcp_header", input_schema=REGION_SCHEMA)
async def x_mcp_header(region: str = "") -> str:
    """Take an argument that HTTP callers mirror in a header."""
    return f"Region: {region}"


@tool(name="test_missing_capability", needs=Capabilities(sampling=True))
async def missing_capability() -> str:
    """Work only for callers that declared sampling."""
    return "The caller declared sampling"


TOOLS = (
    simple_text,
    image_content,
    audio_content,
    embedded_resource,
    multiple_content_types,
    tool_with_logging,
    logging_tool,
    tool_with_progress,
    error_handling,
    reconnection,
    json_schema_2020_12,
    x_mcp_header,
    missing_capability,
)
