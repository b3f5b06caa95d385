"""One server: its methods in the era it speaks, and who hears its notices."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tests.matrix.peer import shapes
from tests.matrix.peer.doings import DOINGS
from tests.matrix.peer.jobs import Jobs
from tests.matrix.peer.shapes import META, Json, Refused


class Out(Protocol):
    """Where messages go: about one request, or about none."""

    def send(self, message: Json) -> None: ...


class Asked:
    """One request on its way: its params, and the way back to whoever sent it."""

    def __init__(self, message: Json, out: Out, headers: Mapping[str, str]) -> None:
        self.id: Any = message["id"]
        self.method: str = message["method"]
        self.params: Json = message.get("params") or {}
        self.meta: Json = self.params.get("_meta") or {}
        self.arguments: Json = self.params.get("arguments") or {}
        self.headers = {name: value for name, value in headers.items() if name.lower().startswith("mcp-")}
        self.out = out

    def notify(self, method: str, params: Json) -> None:
        self.out.send({"method": method, "params": params})

    def report(self, message: str = "on the way") -> None:
        """Progress in three steps, if anybody wants to hear of it."""
        token = self.meta.get("progressToken")
        for step in (1, 2, 3) if token is not None else ():
            told = {"progressToken": token, "progress": step, "total": 3, "message": message}
            self.notify("notifications/progress", told)


COUNTED = {"total": 700, "hasMore": True}


class Server:
    def __init__(self, *, stateless: bool) -> None:
        self.stateless = stateless
        self.level = ""
        self.seen: list[Json] = []
        self.marks: list[str] = []
        self.reads: Counter[str] = Counter()
        self.extra: dict[str, int] = {"tools": 0, "prompts": 0, "resources": 0}
        self.gates: dict[str, asyncio.Event] = {}
        self.jobs = Jobs(self)
        self.questions: dict[Any, asyncio.Future[Json]] = {}
        self.aside: Out | None = None
        """Handshake era: where what belongs to no request goes."""
        self._subscribed: set[str] = set()
        self._listens: dict[int, tuple[Any, Json, Out]] = {}
        self._keys = itertools.count()

    def gate(self, name: str) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def answer(self, asked: Asked) -> Json:
        """The whole answer."""
        self.seen.append({"method": asked.method, "params": asked.params, "headers": asked.headers})
        try:
            result = await self._result(asked)
        except Refused as refused:
            return {"id": asked.id, "error": refused.error}
        return {"id": asked.id, "result": {"resultType": "complete", **result} if self.stateless else result}

    async def _result(self, asked: Asked) -> Json:
        if asked.method == "tools/call":
            return await self._call(asked)
        if asked.method == "subscriptions/listen" and self.stateless:
            return await self._listen(asked)
        if asked.method.startswith("tasks/"):
            return await self.jobs.answer(asked)
        asked.report()
        return self._look(asked.method, asked.params)

    def _look(self, method: str, params: Json) -> Json:  # noqa: PLR0912 - one branch per method
        told: Json = {"capabilities": shapes.capabilities(self.stateless), "instructions": "be kind"}
        match method:
            case "initialize" if not self.stateless:
                return {**told, "protocolVersion": shapes.HANDSHAKE, "serverInfo": {"name": "peer", "version": "1"}}
            case "server/discover" if self.stateless:
                return {**told, "supportedVersions": [shapes.STATELESS], "ttlMs": 0, "cacheScope": "public"}
            case "ping" if not self.stateless:
                return {}
            case "logging/setLevel" if not self.stateless:
                self.level = params["level"]
                return {}
            case "resources/subscribe" if not self.stateless:
                self._subscribed.add(params["uri"])
                return {}
            case "resources/unsubscribe" if not self.stateless:
                self._subscribed.discard(params["uri"])
                return {}
            case "tools/list":
                more = [shapes.tool(f"more_{number}") for number in range(self.extra["tools"])]
                return self._page("tools", [*shapes.tools(self.stateless), *more], params)
            case "prompts/list":
                more = [{"name": f"more_{number}"} for number in range(self.extra["prompts"])]
                return self._page("prompts", [*shapes.PROMPTS, *more], params)
            case "resources/list":
                more = [{"uri": f"matrix://more/{n}", "name": str(n)} for n in range(self.extra["resources"])]
                return self._page("resources", [*shapes.RESOURCES, *more], params)
            case "resources/templates/list":
                return self._page("resourceTemplates", shapes.TEMPLATES, params)
            case "resources/read":
                return self._read(params["uri"])
            case "prompts/get":
                return shapes.messages(params["name"], params.get("arguments") or {})
            case "completion/complete":
                chosen = params.get("context", {}).get("arguments", {})
                return {"completion": {"values": [params["argument"]["value"] + "!", *chosen.values()], **COUNTED}}
            case _:
                raise Refused(-32601, f"unknown: {method}")

    def _page(self, member: str, items: list[Json], params: Json) -> Json:
        start = int(params.get("cursor") or 0)
        end = start + shapes.PAGE
        more = {"nextCursor": str(end)} if end < len(items) else {}
        return {member: items[start:end], **more, **self._hints(0, "public")}

    def _hints(self, ttl: int, scope: str) -> Json:
        return {"ttlMs": ttl, "cacheScope": scope} if self.stateless else {}

    def _read(self, uri: str) -> Json:
        if uri == "matrix://page/0":
            code = -32602 if self.stateless else -32002
            raise Refused(code, "no such page", {"uri": uri})
        self.reads[uri] += 1
        scope = "public" if uri == "matrix://public" else "private"
        ttl = 60_000 if uri in ("matrix://public", "matrix://private") else 0
        return {"contents": [{"uri": uri, "text": f"read {self.reads[uri]}"}], **self._hints(ttl, scope)}

    async def _call(self, asked: Asked) -> Json:
        name = asked.params["name"]
        if name in ("job", "long_job"):
            return await self.jobs.call(asked)
        doing = DOINGS.get(name)
        if doing is None:
            return shapes.text(name)
        return await doing(self, asked)

    # ── notices ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _listen(self, asked: Asked) -> Json:
        wanted: Json = asked.params["notifications"]
        mark = {"_meta": {META + "subscriptionId": asked.id}}
        asked.notify("notifications/subscriptions/acknowledged", {**mark, "notifications": wanted})
        key = next(self._keys)
        self._listens[key] = (asked.id, wanted, asked.out)
        try:
            await asyncio.Event().wait()
        finally:
            del self._listens[key]
        return mark

    def ask(self, out: Out, answer: asyncio.Future[Json], params: Json) -> None:
        """A question to the client, in the handshake era: on the stream of what it belongs to."""
        id = f"question {next(self._keys)}"
        self.questions[id] = answer
        out.send({"id": id, "method": "elicitation/create", "params": params})

    def answered(self, message: Json) -> None:
        answer = self.questions.pop(message.get("id"), None)
        if answer is not None:
            refused = {"content": {"name": message.get("error", {}).get("message")}}
            answer.set_result(message.get("result", refused))

    def changed(self, what: str) -> None:
        self.extra[what] += 1
        self._tell(f"notifications/{what}/list_changed", {}, lambda wanted: wanted.get(f"{what}ListChanged"))

    def updated(self, uri: str) -> None:
        if self.stateless or uri in self._subscribed:
            told: Json = {"uri": uri, "title": "Changed", "_meta": {"v/k": 1.5}}
            self._tell(
                "notifications/resources/updated", told, lambda wanted: uri in wanted.get("resourceSubscriptions", ())
            )

    def task_changed(self, id: str, shape: Json) -> None:
        method = "notifications/tasks" if self.stateless else "notifications/tasks/status"
        self._tell(method, shape, lambda wanted: id in wanted.get("taskIds", ()))

    def _tell(self, method: str, params: Json, wants: Callable[[Json], object]) -> None:
        if not self.stateless:
            if self.aside is not None:
                self.aside.send({"method": method, "params": params})
            return
        for id, wanted, out in self._listens.values():
            if wants(wanted):
                meta: Json = {**params.get("_meta", {}), META + "subscriptionId": id}
                out.send({"method": method, "params": {**params, "_meta": meta}})
