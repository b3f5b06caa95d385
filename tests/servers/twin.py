"""One of two servers that call what they have by the same URIs; everything it says begins with its name.

usage: python -m tests.servers.twin NAME handshake|stateless [--http]; with --http the address is printed

Resources `twin://note`, `twin://note/part` and `NAME://own`, the template `twin://day/{day}`, and the page `ui://twin`,
which is not listed. The tool `show`, the prompt `show` and tasks (`job`, `long_job`) name all of them, and what it does
not have.
"""

import asyncio
import sys
from typing import Any

from tests.matrix.peer.__main__ import serve_stdio
from tests.matrix.peer.jobs import Job, Jobs
from tests.matrix.peer.server import Asked, Server
from tests.matrix.peer.shapes import Json, capabilities, tool

NOTE, PART, DAY, PAGE = "twin://note", "twin://note/part", "twin://day/monday", "ui://twin"
TEMPLATE = "twin://day/{day}"
SHARED = (NOTE, PART, DAY)
ELSEWHERE = "elsewhere://x"
SHOWN: Json = {"ui": {"resourceUri": PAGE, "n": 1.5}, "ui/resourceUri": PAGE, "v/k": PAGE}


def link(uri: str) -> Json:
    return {"type": "resource_link", "uri": uri, "name": "n", "x": {"uri": NOTE}}


class TwinJobs(Jobs):
    def __init__(self, twin: "Twin") -> None:
        super().__init__(twin)
        self._twin = twin

    async def _result(self, job: Job) -> Json:
        await super()._result(job)
        return self._twin.shown()


class Twin(Server):
    def __init__(self, name: str, *, stateless: bool) -> None:
        super().__init__(stateless=stateless)
        self.name = name
        self.jobs = TwinJobs(self)

    def shown(self) -> Json:
        """A result that names everything."""
        return {"content": self._blocks(), "_meta": SHOWN, "structuredContent": {"uri": NOTE}}

    def _blocks(self) -> list[Json]:
        embedded = {"uri": NOTE, "text": f"{self.name}: {NOTE}"}
        links = [link(uri) for uri in (*SHARED, f"{self.name}://own", ELSEWHERE)]
        return [{"type": "text", "text": f"{self.name} {NOTE}"}, *links, {"type": "resource", "resource": embedded}]

    def _look(self, method: str, params: Json) -> Json:
        match method:
            case "initialize" | "server/discover":
                return {**super()._look(method, params), "capabilities": capabilities(self.stateless)}
            case "tools/list":
                jobs = {} if self.stateless else {"execution": {"taskSupport": "optional"}}
                needs = {} if self.stateless else {"execution": {"taskSupport": "required"}}
                tools = [
                    tool("show", _meta=SHOWN),
                    tool("touch"),
                    tool("finish"),
                    tool("job", **jobs),
                    tool("long_job", **needs),
                ]
                return {"tools": tools, **self._hints(0, "public")}
            case "resources/list":
                listed = [{"uri": uri, "name": uri} for uri in (NOTE, PART, f"{self.name}://own")]
                return {"resources": listed, **self._hints(0, "public")}
            case "resources/templates/list":
                return {"resourceTemplates": [{"uriTemplate": TEMPLATE, "name": "day"}], **self._hints(0, "public")}
            case "resources/read":
                told = [{"uri": uri, "text": f"{self.name}: {uri}"} for uri in (params["uri"], PART)]
                return {"contents": told, **self._hints(0, "private")}
            case "prompts/list":
                return {"prompts": [{"name": "show"}], **self._hints(0, "public")}
            case "prompts/get":
                return {"messages": [{"role": "user", "content": block} for block in self._blocks()]}
            case "completion/complete":
                return {"completion": {"values": [self.name]}}
            case _:
                return super()._look(method, params)

    async def _call(self, asked: Asked) -> Json:
        return self.shown() if asked.params["name"] == "show" else await super()._call(asked)

    def updated(self, uri: str) -> None:
        """A part of what is watched may change, too."""
        told: Json = {"uri": uri, "title": self.name}
        self._tell("notifications/resources/updated", told, lambda wanted: wanted.get("resourceSubscriptions"))


def main() -> None:
    name, era, *more = sys.argv[1:]
    server: Any = Twin(name, stateless=era == "stateless")
    if more:
        from tests.matrix.peer.http import serve_http  # takes longer to import than all else: only who needs it does

        asyncio.run(serve_http(server))
    else:
        asyncio.run(serve_stdio(server))


if __name__ == "__main__":
    main()
