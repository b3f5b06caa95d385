"""The face for Python programs: a guarded gateway over your own functions and providers, in a few lines.

```python
from clawft import Gateway, tool

@tool
async def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

Gateway(add).run()          # serves over stdin and stdout
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import msgspec

from clawft.app import App, gateway_token, run
from clawft.catalog.names import NameForm
from clawft.config.settings import Settings
from clawft.gateway.http.access import LOOPBACK_HOSTS, Access, open_to_all, with_token
from clawft.gateway.http.app import HttpApp
from clawft.model import CallToolResult, Tool
from clawft.provider.base import Provider
from clawft.provider.function import FunctionProvider
from clawft.store.files import FileStore, state_folder
from clawft.store.home import home

Offered = Provider | Callable[..., Any]


class Gateway:
    """Tools behind all default guards. Functions marked `@tool` go under `namespace`; providers bring their own.

    `bare` names (the default here) are the functions' own; `plain` gives `namespace__function`.
    """

    def __init__(
        self,
        *offered: Offered,
        namespace: str = "tools",
        names: str = "bare",
        workspace: Path | str = ".",
        builtin: bool = False,
        settings: Settings | None = None,
    ) -> None:
        known = settings or Settings(
            home=home(), workspace=Path(workspace).resolve(), names=NameForm(names), builtin=builtin
        )
        self._app = App(known, outside=False)
        functions = [each for each in offered if not isinstance(each, Provider)]
        if functions:
            self.register(_as_provider(namespace, functions, known))
        for provider in offered:
            if isinstance(provider, Provider):
                self.register(provider)

    def register(self, provider: Provider) -> None:
        """Offer one more provider, also while running: callers are told that the list has changed."""
        self._app.gateway.register(provider, server=getattr(provider, "server", ""))

    def unregister(self, namespace: str) -> None:
        self._app.gateway.unregister(namespace)

    def list_tools(self) -> list[Tool]:
        """What callers see, each under the name they see."""
        return [msgspec.structs.replace(e.tool, name=e.name) for e in self._app.gateway.tools.listed(self._app.caller)]

    async def call_tool(self, name: str, /, **arguments: Any) -> CallToolResult:
        """Run one tool through the guards, by any spelling of its name."""
        reply = await self._app.gateway.call(self._app.caller, name, msgspec.json.encode(arguments))
        return msgspec.json.decode(reply.result, type=CallToolResult)

    def run(self) -> None:
        """Serve on stdin and stdout until they end."""
        run(self._run(self._app.serve_stdio))

    def run_http(self, host: str = "127.0.0.1", port: int = 8765) -> None:
        """Serve on HTTP behind the token in `~/.clawft/gateway.token` until a signal comes."""
        token = gateway_token(self._app.settings.home)
        run(self._run(lambda: self._app.serve_http(host, port, token, print)))

    async def _run(self, serve: Callable[[], Any]) -> None:
        try:
            await serve()
        finally:
            await self._app.close()

    def asgi(
        self, *, path: str = "/mcp", token: str | None = None, hosts: Iterable[str] | None = LOOPBACK_HOSTS
    ) -> HttpApp:
        """An ASGI application to mount in yours. Without a token it is open to everyone who can reach it.

        `hosts` are the host names it answers to; None means any, when your server checks them.
        """
        caller = self._app.caller
        authenticate = open_to_all(caller) if token is None else with_token(token, caller)
        access = Access(authenticate, None if hosts is None else frozenset(hosts))
        return HttpApp(self._app.gateway, access, path=path)

    async def close(self) -> None:
        """Write what the audit still holds. `run` and `run_http` do it themselves, and so does `async with`."""
        await self._app.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _as_provider(namespace: str, functions: list[Callable[..., Any]], settings: Settings) -> FunctionProvider:
    def store_of(agent: str) -> FileStore:
        return FileStore(state_folder(agent, namespace))

    return FunctionProvider(namespace, functions, workspace=settings.workspace, stores=store_of)
