"""A connection to a VS Code window: operations are sent to its extension, or fetched by it."""

from __future__ import annotations

import asyncio
import hmac
import itertools
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from clawft.builtin.ide.model import Buffer, Window
from clawft.builtin.ide.remote import RemoteIde, failure
from clawft.builtin.ide.vscode.register import Beat
from clawft.errors import IdeFailed, IdeNotConnected, IdeTimeout
from clawft.wire.strings import decode_mended

if TYPE_CHECKING:  # aiohttp is loaded with the first window that can be called
    from aiohttp import ClientSession

MAX_ANSWER_BYTES = 16 * 1024 * 1024
REVIEW_SECONDS = 3600.0
"""How long a person may take to review a diff."""
CANCEL_SECONDS = 2.0
MAX_WAITING_CALLS = 64
PING_SECONDS = 1.0


class ExtensionProblem(Struct):
    code: str = "failed"
    message: str = ""


class ExtensionAnswer(Struct):
    result: Any = None
    error: ExtensionProblem | UnsetType = UNSET


_answer = msgspec.json.Decoder(ExtensionAnswer)


class VsCodeIde(RemoteIde):
    """An `IdeConnection` to one window. `beat` is when it last sent a message."""

    backend = "vscode"

    def __init__(self, window: Window, secret: str, now: Callable[[], float]) -> None:
        super().__init__(window)
        self._secret = secret
        self._now = now
        self._ids = itertools.count(1)
        self.beat = now()
        self.not_ready_since = 0.0

    def knows(self, secret: bytes) -> bool:
        return hmac.compare_digest(secret, self._secret.encode())

    async def call(self, method: str, params: dict[str, Any], *, patient: bool = False) -> Any:
        seconds = REVIEW_SECONDS if patient else self.seconds() + params.get("wait_ms", 0) / 1000
        answer = await self._carry(next(self._ids), method, params, seconds)
        if answer.error is UNSET:
            self._is_ready(True)
            return answer.result
        if answer.error.code == "not_ready":
            self._is_ready(False)
        raise failure(answer.error.code, answer.error.message, str(params.get("path", "")))

    @abstractmethod
    async def _carry(self, id: int, method: str, params: dict[str, Any], seconds: float) -> ExtensionAnswer:
        """Send an operation to the extension and await its answer. Raises an IdeError if none comes in time."""

    async def ping(self, seconds: float = PING_SECONDS) -> bool:
        """Whether the window itself answers, and not only the process behind it."""
        try:
            async with asyncio.timeout(seconds):
                await self.call("ping", {})
        except (IdeNotConnected, IdeFailed, IdeTimeout, TimeoutError):
            return False
        return True

    def heard(self, beat: Beat) -> None:
        self.beat = self._now()
        self._window = msgspec.structs.replace(
            self._window,
            focused=beat.focused,
            trusted=beat.trusted,
            folders=self._window.folders if beat.folders is None else beat.folders,
        )
        self._is_ready(beat.window)
        if beat.dirty is not None:
            self._note_dirty(set(beat.dirty))

    def _note_dirty(self, dirty: set[str]) -> None:
        """Take over which texts are unsaved, as the window knows best."""
        for path in dirty | {path for path, buffer in self._states.items() if buffer.dirty}:
            known = self._states.get(path)
            self._noted(Buffer(path, known.version if known else 0, path in dirty))

    def _is_ready(self, ready: bool) -> None:
        if ready != self._window.ready:
            self._window = msgspec.structs.replace(self._window, ready=ready)
            self.not_ready_since = 0.0 if ready else self._now()

    async def close(self) -> None:
        pass


class CalledIde(VsCodeIde):
    """A window whose extension listens on loopback; each operation is a POST to it."""

    def __init__(self, window: Window, secret: str, now: Callable[[], float], callback: str) -> None:
        super().__init__(window, secret, now)
        self._callback = callback
        self._client: ClientSession | None = None

    async def _carry(self, id: int, method: str, params: dict[str, Any], seconds: float) -> ExtensionAnswer:
        body = msgspec.json.encode({"method": method, "params": params})
        try:
            async with asyncio.timeout(seconds):
                return await self._post(id, body, seconds)
        except asyncio.CancelledError:
            self._in_passing(self._delete(id))
            raise
        except TimeoutError:
            self._in_passing(self._delete(id))
            raise IdeTimeout(f"{method} ({self._window.id})", int(seconds * 1000)) from None

    async def _post(self, id: int, body: bytes, seconds: float) -> ExtensionAnswer:
        from aiohttp import ClientError  # loaded with the client

        headers = {**self._headers(id), "X-Deadline-Ms": str(int(seconds * 1000)), "Content-Type": "application/json"}
        try:
            client = self._open()
            async with client.post(self._callback, data=body, headers=headers, allow_redirects=False) as response:
                said = await response.content.read(MAX_ANSWER_BYTES + 1)
                while not response.content.at_eof() and len(said) <= MAX_ANSWER_BYTES:
                    said += await response.content.read(MAX_ANSWER_BYTES + 1 - len(said))
        except (ClientError, OSError) as failed:
            if isinstance(failed, TimeoutError):
                raise
            raise IdeNotConnected(f"not_ready: the window {self._window.id} cannot be reached: {failed}") from None
        if len(said) > MAX_ANSWER_BYTES:
            raise IdeFailed(f"the window answered with more than {MAX_ANSWER_BYTES} bytes")
        return _read(said)

    def _headers(self, id: int) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._secret}", "X-Request-Id": str(id)}

    def _open(self) -> ClientSession:
        if self._client is None:
            from clawft.link.http_out.link import open_client  # brings aiohttp

            self._client = open_client()
        return self._client

    async def _delete(self, id: int) -> None:
        from aiohttp import ClientError  # loaded with the client

        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._open().delete(f"{self._callback.rstrip('/')}/{id}", headers=self._headers(id))
        except (ClientError, OSError):
            return  # the window is gone, and with it what was asked of it

    async def close(self) -> None:
        client, self._client = self._client, None
        for task in list(self._beside):
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        if client is not None:
            await client.close()


class FetchingIde(VsCodeIde):
    """A window that cannot be called (a container, another machine): it fetches operations and posts answers."""

    def __init__(self, window: Window, secret: str, now: Callable[[], float]) -> None:
        super().__init__(window, secret, now)
        self._waiting: list[dict[str, Any]] = []
        self._open: dict[int, asyncio.Future[ExtensionAnswer]] = {}
        self._news = asyncio.Event()

    async def _carry(self, id: int, method: str, params: dict[str, Any], seconds: float) -> ExtensionAnswer:
        if len(self._waiting) >= MAX_WAITING_CALLS:
            raise IdeFailed(f"{MAX_WAITING_CALLS} calls wait for the window {self._window.id}", kind="busy")
        answer: asyncio.Future[ExtensionAnswer] = asyncio.get_running_loop().create_future()
        self._open[id] = answer
        self._send({"id": id, "method": method, "params": params, "deadlineMs": int(seconds * 1000)})
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except (TimeoutError, asyncio.CancelledError) as ended:
            self._waiting = [each for each in self._waiting if each.get("id") != id]
            self._send({"cancel": id})
            if isinstance(ended, TimeoutError):
                raise IdeTimeout(f"{method} ({self._window.id})", int(seconds * 1000)) from None
            raise
        finally:
            self._open.pop(id, None)

    def _send(self, message: dict[str, Any]) -> None:
        self._waiting.append(message)
        self._news.set()

    async def fetch(self, seconds: float) -> list[dict[str, Any]]:
        """The operations for the window; none if none comes in time."""
        if not self._waiting:
            self._news.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            except TimeoutError:
                return []
        found, self._waiting = self._waiting, []
        return found

    def answered(self, id: int, answer: bytes) -> None:
        waiter = self._open.get(id)
        if waiter is None or waiter.done():
            return
        try:
            waiter.set_result(_read(answer))
        except IdeFailed as wrong:
            waiter.set_exception(wrong)

    async def close(self) -> None:
        for waiter in self._open.values():
            if not waiter.done():
                waiter.set_exception(IdeNotConnected(f"not_ready: the window {self._window.id} has gone"))


def _read(said: bytes) -> ExtensionAnswer:
    try:
        return decode_mended(_answer, said)
    except msgspec.DecodeError as wrong:
        raise IdeFailed(f"the window answered with something else than an answer: {wrong}") from None
