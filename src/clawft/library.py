"""The API for Python programs: a guarded gateway over your own functions and providers, in a few lines.

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

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Self

import msgspec

from clawft.app import App, gateway_token, run
from clawft.catalog.names import NameForm, refuse_server
from clawft.config.settings import Settings
from clawft.errors import InvalidConfig, ToolNotFound
from clawft.gateway.http.access import LOOPBACK_HOSTS, Access, open_to_all, with_token
from clawft.gateway.http.app import HttpApp
from clawft.model import CallToolResult, Tool
from clawft.provider.base import Provider, arguments_of
from clawft.provider.function import FunctionProvider
from clawft.store.files import FileStore, state_folder
from clawft.store.home import home

UNTOLD_VERSION = "0"
"""The version of a server with its own name but none: the protocol requires one, and ours would be wrong."""

Offered = Provider | Callable[..., Any]


class Gateway:
    """Tools behind all default guards. Functions marked `@tool` go under `namespace`; providers bring their own.

    `bare` names (the default here) are the functions' own; `plain` gives `namespace__function`. `name` and `version`
    are what callers hear of the server; without them they hear ours.
    """

    def __init__(
        self,
        *offered: Offered,
        name: str = "",
        version: str = "",
        namespace: str = "tools",
        names: str = "bare",
        workspace: Path | str = ".",
        builtin: bool = False,
        settings: Settings | None = None,
    ) -> None:
        known = settings or Settings(
            home=home(), workspace=_folder(workspace), names=_name_form(names), builtin=builtin
        )
        self._app = App(known, outside=False)
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop of the last call."""
        self._introduce(name, version)
        functions = [each for each in offered if not isinstance(each, Provider)]
        if functions:
            self.register(_as_provider(namespace, functions, known))
        for provider in offered:
            if isinstance(provider, Provider):
                self.register(provider)

    def register(self, provider: Provider) -> None:
        """Offer one more provider, also while running: callers are told that the list has changed."""
        if not isinstance(provider, Provider):  # pyright: ignore[reportUnnecessaryIsInstance] - not all check types
            name = getattr(provider, "__name__", repr(provider))
            how = f"Gateway({name}), or register(FunctionProvider('namespace', [{name}], …))"
            raise TypeError(f"{name} is not a provider: {how}")
        server = getattr(provider, "server", "")
        if server and self._app.settings.builtin and (wrong := refuse_server(server)):
            raise InvalidConfig(wrong, hint=f"give its UpstreamSpec another name than {server!r}")
        self._app.gateway.register(provider, server=server)

    def unregister(self, known: Provider | str) -> None:
        """Offer it no longer: a provider, or the one of this namespace or server. Raises ToolNotFound if none is."""
        self._app.gateway.unregister(self._namespace_of(known))

    def _namespace_of(self, known: Provider | str) -> str:
        names = (known, f"mcp:{known}") if isinstance(known, str) else (known.namespace,)
        for name in names:
            found = self._app.gateway.provider(name)
            if found is not None and (found is known or isinstance(known, str)):
                return name
        raise ToolNotFound(
            f"nothing is offered as {names[0]!r}", hint="give the provider, its namespace, or the name of its server"
        )

    def list_tools(self) -> list[Tool]:
        """The tools that callers see, each under the name they see."""
        return [msgspec.structs.replace(e.tool, name=e.name) for e in self._app.gateway.tools.listed(self._app.caller)]

    async def call_tool(self, name: str, /, **arguments: Any) -> CallToolResult:
        """Run one tool through the guards, by any spelling of its name. A path or a model is an argument, too."""
        self._be_in_this_loop()
        reply = await self._app.gateway.call(self._app.caller, name, arguments_of(arguments))
        return msgspec.json.decode(reply.result, type=CallToolResult)

    def _be_in_this_loop(self) -> None:
        """Write the audit of an earlier event loop: a program may run a loop for each call."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._app.write_audit()

    def run(self) -> None:
        """Serve on stdin and stdout until they end, or a signal comes."""
        _refuse_inside_a_loop("await gateway.serve()")
        run(self._closing(self._app.serve_stdio))

    def run_http(self, host: str = "127.0.0.1", port: int = 8765) -> None:
        """Serve on HTTP behind the token in `~/.clawft/gateway.token` until a signal comes."""
        _refuse_inside_a_loop("await gateway.serve_http(…)")
        token = self._token()
        run(self._closing(lambda: self._app.serve_http(host, port, token, print)))

    async def serve(self) -> None:
        """`run` for a program with a loop of its own: until stdin ends, or this is cancelled. Signals stay yours."""
        await self._closing(lambda: _until_cancelled(self._app.serve_stdio))

    async def serve_http(
        self, host: str = "127.0.0.1", port: int = 8765, *, ready: Callable[[str], None] = lambda _: None
    ) -> None:
        """`run_http` for a program with a loop of its own: until this is cancelled. Signals stay yours.

        `ready` hears the address once clients can connect. Port 0 is any that is free.
        """
        serve = partial(self._app.serve_http, host, port, self._token(), ready)
        await self._closing(lambda: _until_cancelled(serve))

    async def _closing(self, serve: Callable[[], Coroutine[Any, Any, int]]) -> None:
        try:
            await serve()
        finally:
            await self._app.close()

    def _token(self) -> str:
        return gateway_token(self._app.settings.home)

    def _introduce(self, name: str, version: str) -> None:
        if version and not name:
            raise InvalidConfig("a version without a name", hint="Gateway(…, name=…, version=…)")
        if name:
            self._app.gateway.set_server_info(name, version or UNTOLD_VERSION)

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
        """Write what the audit still holds. Whatever serves does it at its end, and so does `async with`."""
        await self._app.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _until_cancelled(serve: Callable[[asyncio.Future[int]], Coroutine[Any, Any, int]]) -> int:
    """Serve until cancelled, then let running calls end first; when cancelled twice, end at once."""
    stop: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve(stop))
    try:
        return await asyncio.shield(serving)
    except asyncio.CancelledError:
        if not stop.done():  # the loop itself ends, and everything was cancelled
            stop.set_result(0)
        await serving
        raise


def _refuse_inside_a_loop(instead: str) -> None:
    """Raises RuntimeError inside an event loop, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(f"an event loop is already running here; {instead} works in it")


def _folder(workspace: Path | str) -> Path:
    found = Path(workspace).resolve()
    if not found.is_dir():
        raise InvalidConfig(f"the workspace is not a folder: {found}", hint="create it, or give another workspace=…")
    return found


def _name_form(names: str) -> NameForm:
    try:
        return NameForm(names)
    except ValueError:
        known = ", ".join(form.value for form in NameForm)
        raise InvalidConfig(f"there is no form of names: {names!r}", hint=f"names=… is one of {known}") from None


def _as_provider(namespace: str, functions: list[Callable[..., Any]], settings: Settings) -> FunctionProvider:
    if not namespace or "__" in namespace:  # the separators in the name of a tool
        raise InvalidConfig(f"{namespace!r} cannot be a namespace", hint="letters, digits, `-`, single `_`")

    def store_of(agent: str) -> FileStore:
        return FileStore(state_folder(agent, namespace))

    return FunctionProvider(namespace, functions, workspace=settings.workspace, stores=store_of)
