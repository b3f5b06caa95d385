#!/usr/bin/env python3
"""A language server that says what the test put into the file `next` when it is asked for symbols. No import of ours.

`next` is a list of messages. URI stands for the text that was asked about; the `version` "newest" is the one it was
told last, "former" the last one before the text was opened again. Where there is a file `pulled`, it can be asked for
diagnostics, and what is in that file is the answer. Where there is a file `unwilling`, it does not begin.
"""

import json
import sys
from pathlib import Path
from typing import Any

PULLED = Path("pulled")
told: dict[str, dict[str, int]] = {}


def serve() -> None:
    while message := _read():
        params: dict[str, Any] = message.get("params") or {}
        if message.get("method") in ("textDocument/didOpen", "textDocument/didChange"):
            _hear(message["method"] == "textDocument/didOpen", **params["textDocument"])
        elif message.get("method") == "textDocument/documentSymbol":
            _play(params["textDocument"]["uri"])
        if "id" in message and "method" in message:
            _write({"jsonrpc": "2.0", "id": message["id"], **_answer(message["method"])})


def _answer(method: str) -> dict[str, Any]:
    if method == "initialize" and Path("unwilling").exists():
        return {"error": {"code": -32603, "message": "not today"}}
    if method == "initialize":
        return {"result": {"capabilities": {"diagnosticProvider": PULLED.exists()}}}
    return json.loads(PULLED.read_text()) if method == "textDocument/diagnostic" else {"result": None}


def _hear(opened: bool, uri: str, version: int, **_: Any) -> None:
    versions = told.setdefault(uri, {})
    if opened and "newest" in versions:
        versions["former"] = versions["newest"]
    versions["newest"] = version


def _play(uri: str) -> None:
    script: list[dict[str, Any]] = json.loads(Path("next").read_text().replace("URI", uri))
    for said in script:
        if said["params"].get("version"):
            said["params"]["version"] = told[uri][said["params"]["version"]]
        _write({"jsonrpc": "2.0", **said})


def _read() -> dict[str, Any] | None:
    header = sys.stdin.buffer.readline()
    if not header:
        return None
    sys.stdin.buffer.readline()
    return json.loads(sys.stdin.buffer.read(int(header.split(b":")[1])))


def _write(message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
