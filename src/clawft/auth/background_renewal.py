"""Renewals in the background: while a token is still valid, no call waits for the next one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from clawft.auth.endpoint import TokenRefused
from clawft.auth.tokens import Login

PAUSE_SECONDS = 1.0
"""After which an authorization server that did not answer is asked again."""


class Attempt:
    """One attempt to renew a login that was still valid when it began."""

    def __init__(self, seen: Login, task: asyncio.Task[Login]) -> None:
        self.seen = seen
        self.task = task
        self.newest = seen
        """The renewed login once there is one, until then the old one."""
        self.refused: TokenRefused | None = None
        self._failed_at = float("inf")
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[Login]) -> None:
        failed = asyncio.CancelledError() if task.cancelled() else task.exception()
        if failed is None:
            self.newest = task.result()
        elif isinstance(failed, TokenRefused):
            self.refused = failed
        else:  # the authorization server is out of reach, or our disk
            self._failed_at = time.monotonic()

    def is_current_for(self, login: Login) -> bool:
        """Whether another attempt for this login is not worth it yet."""
        return self.seen.tokens == login.tokens and time.monotonic() - self._failed_at < PAUSE_SECONDS


class BackgroundRenewals:
    """The last attempt for each login."""

    def __init__(self, renew: Callable[[str, Login], Coroutine[Any, Any, Login]]) -> None:
        self._renew = renew
        self._attempts: dict[tuple[str, ...], Attempt] = {}

    def newest(self, name: str, login: Login) -> Login:
        """The newest login for one that is due and still valid. Raises TokenRefused if there will be none."""
        key = (name, *login.key)
        attempt = self._attempts.get(key)
        if attempt is None or not attempt.is_current_for(login):
            attempt = self._attempts[key] = Attempt(login, self._begin(name, login))
        if attempt.refused:
            raise attempt.refused.with_traceback(None)  # it is told to each who asks
        return attempt.newest

    def _begin(self, name: str, login: Login) -> asyncio.Task[Login]:
        return asyncio.get_running_loop().create_task(self._renew(name, login))

    def tasks(self) -> list[asyncio.Task[Login]]:
        return [attempt.task for attempt in self._attempts.values()]
