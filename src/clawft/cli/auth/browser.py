"""A person is shown where to log in, and comes back through a listener of ours."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from urllib.parse import urlsplit

from clawft.auth.flow import AuthorizationResponse
from clawft.auth.redirect_listener import RedirectListener
from clawft.auth.site import same_site
from clawft.cli.screen import safe, tell
from clawft.errors import LoginFailed

LOGIN_SECONDS = 600.0
"""How long the person may take."""


class LoginScreen:
    """A person in front of a screen: shown an address, heard of through the listener. The login is for `server`."""

    def __init__(self, receiver: RedirectListener, no_browser: bool, server: str) -> None:
        self._receiver = receiver
        self._no_browser = no_browser
        self._server = server

    async def redirect_uri(self) -> str:
        return await self._receiver.open()

    async def visit(self, url: str, state: str) -> AuthorizationResponse:
        expected = self._receiver.expect(state)
        if not same_site(url, self._server):
            shown, wanted = (urlsplit(each).hostname or "" for each in (url, self._server))
            tell(f"note: what you allow at {safe(shown)} is for {safe(wanted)}")
        show_address(url, self._no_browser)
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                return await expected
        except TimeoutError:
            raise nobody_came() from None


def nobody_came() -> LoginFailed:
    return LoginFailed(f"nobody has logged in within {LOGIN_SECONDS:g} s")


def show_address(url: str, no_browser: bool) -> None:
    """Always printed: a browser that does not open must not be the end of it."""
    print(f"log in here: {safe(url)}", flush=True)
    if not no_browser:
        tell("opening the browser; if nothing happens, open the address yourself (--no-browser opens nothing)")
        threading.Thread(target=_open, args=(url,), daemon=True).start()


def _open(url: str) -> None:
    """By argv, never by a shell, and only what was judged to be a web address before it came here."""
    import webbrowser  # only where one is opened

    if sys.platform != "linux" or _has_display():
        webbrowser.open(url)


def _has_display() -> bool:
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
