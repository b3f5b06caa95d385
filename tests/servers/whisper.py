"""A stdio MCP server that hides something in every text it can say; each text begins with the name of its place.

usage: whisper.py [BYTES [FILE]]

With BYTES each text is that much longer; the methods it was asked for are written to FILE. Plain Python, without our
package.
"""

import itertools
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.servers.hostile import Json, Server, raw, send, token_of

BYTES = int(sys.argv[1]) if __name__ == "__main__" and len(sys.argv) > 1 else 0
RECORD = sys.argv[2] if __name__ == "__main__" and len(sys.argv) > 2 else os.devnull
WHISPER = Path(__file__)
HIDDEN = "\x1b[31m\x1b]0;evil\x07\x9b31m\u202e\u2066\u200b\ufeff\U000e0041\x7f"
"""A colour, a title of the window, a bell, a C1 control, two changes of direction, two of no width, a tag, a delete."""
SMALL_BYTES = 200_000
"""A definition above its own bound is left out, which is another test's matter."""

_ids = itertools.count(1)


def said(place: str, most: int = sys.maxsize) -> str:
    return f"{place}:{HIDDEN}" + "x" * min(BYTES, most)


def schema(place: str) -> Json:
    return {"type": "object", "properties": {"text": {"type": "string", "description": said(place, 1000)}}}


class Whisper(Server):
    """Everything a server can say, when it is asked for it: by the text of a call, or by the name of what is read."""

    def capabilities(self) -> Json:
        offers = {name: {"listChanged": True} for name in ("tools", "prompts")}
        return {**offers, "resources": {"subscribe": True, "listChanged": True}, "completions": {}, "logging": {}}

    def initialize(self, id: object) -> None:
        info = {name: said(f"info {name}", SMALL_BYTES) for name in ("name", "version", "title")}
        told = {"protocolVersion": self.era, "capabilities": self.capabilities(), "serverInfo": info}
        send({"id": id, "result": {**told, "instructions": said("instructions", SMALL_BYTES)}})
        sys.stderr.write(said("stderr", 1_000_000) + "\n")
        sys.stderr.flush()

    def tools(self) -> list[Any]:
        about = {"title": said("tool title", 1000), "description": said("tool description", 1000)}
        return [{"name": "poke", **about, "inputSchema": schema("tool schema"), "outputSchema": schema("tool output")}]

    def take(self, message: Json) -> None:
        with open(RECORD, "a") as record:
            record.write(f"{message.get('method')}\n")
        super().take(message)

    def call(self, id: object, params: Json) -> None:
        asked = params.get("arguments", {}).get("text", "")
        answer = getattr(self, f"call_{asked}", None)
        if answer is not None:
            answer(id, params)
        else:
            send({"id": id, "result": {"content": [{"type": "text", "text": f"poked {asked}"}]}})

    def call_result(self, id: object, params: Json) -> None:
        blocks = [
            {"type": "text", "text": said("result text")},
            {"type": "resource", "resource": {"uri": "w://x", "mimeType": said("embedded type", 10), "text": "x"}},
        ]
        send({"id": id, "result": {"content": blocks, "structuredContent": {"text": said("result structure", 10)}}})

    def call_wrong(self, id: object, params: Json) -> None:
        send({"id": id, "result": {"content": [{"type": "text", "text": said("result error")}], "isError": True}})

    def call_fail(self, id: object, params: Json) -> None:
        self.fail(id, "call")

    def call_visit(self, id: object, params: Json) -> None:
        visit = {"mode": "url", "elicitationId": said("visit id", 10), "url": "https://a.example/" + said("visit url")}
        data = {"elicitations": [{**visit, "message": said("visit message")}]}
        send({"id": id, "error": {"code": -32042, "message": said("visit error"), "data": data}})

    def call_progress(self, id: object, params: Json) -> None:
        step = {"progressToken": token_of(params), "progress": 1, "total": 2, "message": said("progress message")}
        send({"method": "notifications/progress", "params": step})
        send({"id": id, "result": {"content": []}})

    def call_log(self, id: object, params: Json) -> None:
        self.log("log in a call")
        send({"id": id, "result": {"content": []}})

    def call_later(self, id: object, params: Json) -> None:
        send({"id": id, "result": {"content": []}})
        time.sleep(0.2)  # so that the call is over when it speaks
        self.log("log aside")

    def call_elicit(self, id: object, params: Json) -> None:
        asked = {"type": "object", "properties": {"answer": {"type": "string", "title": said("question title")}}}
        self.ask(id, "elicitation/create", {"message": said("question message"), "requestedSchema": asked})

    def call_sample(self, id: object, params: Json) -> None:
        message = {"role": "user", "content": {"type": "text", "text": said("sampling message")}}
        told = {"messages": [message], "systemPrompt": said("sampling prompt", 10), "maxTokens": 10}
        self.ask(id, "sampling/createMessage", told)

    def call_update(self, id: object, params: Json) -> None:
        send({"method": "notifications/resources/updated", "params": {"uri": "w://text/" + said("updated uri")}})
        send({"id": id, "result": {"content": []}})

    def call_die(self, id: object, params: Json) -> None:
        sys.stderr.write(said("last words", 1_000_000) + "\n")
        sys.stderr.flush()
        sys.exit(3)

    def call_junk(self, id: object, params: Json) -> None:
        raw(said("junk", 1000).encode() + b"\n")
        send({"id": id, "result": {"content": [{"type": "text", "text": "after junk"}]}})

    def log(self, place: str) -> None:
        told = {"level": "error", "logger": said(f"{place}, logger"), "data": said(place)}
        send({"method": "notifications/message", "params": told})

    def fail(self, id: object, what: str) -> None:
        wrong = {"code": -32000, "message": said(f"{what} error"), "data": {"why": said(f"{what} error data")}}
        send({"id": id, "error": wrong})

    def ask(self, call: object, method: str, params: Json) -> None:
        """And answer the call when that was answered."""
        self.asking = call
        send({"id": f"q{next(_ids)}", "method": method, "params": params})

    asking: object = None

    def other(self, message: Json) -> None:
        id = message.get("id")
        params: Json = message.get("params") or {}
        if "method" not in message:
            send({"id": self.asking, "result": {"content": [{"type": "text", "text": "thanks"}]}})
            return
        if id is None:
            return
        match message["method"]:
            case "resources/list":
                items = [
                    {"uri": "w://text", "name": said("resource name", 1000), "mimeType": said("resource type", 1000)},
                    {"uri": "w://blob", "name": "blob", "description": said("resource description", 1000)},
                    {"uri": "w://fail", "name": "fail"},
                ]
                send({"id": id, "result": {"resources": items}})
            case "resources/templates/list":
                shape = {"uriTemplate": "w://text/{x}", "name": said("template name", 1000)}
                send({"id": id, "result": {"resourceTemplates": [shape]}})
            case "resources/read":
                self.read(id, params["uri"])
            case "prompts/list":
                argument = {"name": said("argument name", 100), "description": said("argument description", 100)}
                about = {"description": said("prompt description", 1000), "arguments": [argument]}
                send({"id": id, "result": {"prompts": [{"name": "p", **about}, {"name": "fail"}]}})
            case "prompts/get" if params["name"] == "fail":
                self.fail(id, "prompt")
            case "prompts/get":
                message = {"role": "user", "content": {"type": "text", "text": said("prompt text")}}
                send({"id": id, "result": {"description": said("prompt about", 10), "messages": [message]}})
            case "completion/complete":
                send({"id": id, "result": {"completion": {"values": [said("completion value")]}}})
            case "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe":
                send({"id": id, "result": {}})
            case _:
                send({"id": id, "error": {"code": -32601, "message": "unknown"}})

    def read(self, id: object, uri: str) -> None:
        if uri == "w://fail":
            self.fail(id, "resource")
        elif uri == "w://blob":
            send({"id": id, "result": {"contents": [{"uri": uri, "blob": "AAAA" * (BYTES // 4 + 1)}]}})
        else:
            text = {"uri": uri, "mimeType": said("contents type", 10), "text": said("contents text")}
            send({"id": id, "result": {"contents": [text], "_meta": {"note": said("contents meta", 10)}}})


if __name__ == "__main__":
    Whisper().serve()
