"""What the server offers and the words of the protocol, as data."""

from typing import Any

Json = dict[str, Any]

STATELESS = "2026-07-28"
HANDSHAKE = "2025-11-25"
META = "io.modelcontextprotocol/"
TASKS = META + "tasks"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
PAGE = 5
FORM: Json = {
    "mode": "form",
    "message": "Name?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}


class Refused(Exception):
    """Answered as a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}


def text(said: str) -> Json:
    return {"content": [{"type": "text", "text": said}]}


def tool(name: str, **more: Any) -> Json:
    return {"name": name, "description": f"The tool {name}.", "inputSchema": {"type": "object"}, **more}


def tools(stateless: bool) -> list[Json]:
    plain = ("echo", "report", "hold", "marks", "say", "change", "touch", "seen", "blocks", "refuse", "finish", "fail")
    region = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    schema = {"type": "array"} if stateless else {"type": "object"}
    return [
        *map(tool, plain),
        tool("structured", outputSchema=schema, icons=[{"src": "data:image/png;base64,AAAA"}], title="Structured"),
        tool("where", inputSchema=region),
        tool("job", **({} if stateless else {"execution": {"taskSupport": "optional"}})),
        tool("long_job", **({} if stateless else {"execution": {"taskSupport": "required"}})),
    ]


RESOURCES: list[Json] = [
    {"uri": "matrix://note", "name": "note", "title": "A note"},
    {"uri": "matrix://public", "name": "public"},
    {"uri": "matrix://private", "name": "private"},
]
TEMPLATES: list[Json] = [{"uriTemplate": "matrix://page/{n}", "name": "page"}]
PROMPTS: list[Json] = [
    {"name": "greet", "description": "Greet.", "arguments": [{"name": "who", "title": "Who", "required": True}]},
    {"name": "listen", "description": "A link and a sound."},
]
LINK: Json = {"type": "resource_link", "uri": "matrix://note", "name": "note"}
SOUND: Json = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}


def messages(name: str, arguments: Json) -> Json:
    said = [LINK, SOUND] if name == "listen" else [{"type": "text", "text": f"Hello {arguments.get('who')}"}]
    return {"messages": [{"role": "user", "content": block} for block in said]}


def capabilities(stateless: bool) -> Json:
    shared: Json = {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True},
        "completions": {},
        "logging": {},
    }
    if stateless:
        return {**shared, "extensions": {TASKS: {}}}
    return {**shared, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
