"""The parameters of `initialize`: who we are, what we support, and where the project is. Pure."""

import os
from typing import Any

from clawft._version import __version__
from clawft.builtin.ide.lsp.messages import uri_of
from clawft.builtin.ide.lsp.server_table import ServerSpec

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "symbol": {},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True},
    },
    "textDocument": {
        "synchronization": {"didSave": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "definition": {"linkSupport": True},
        "references": {},
        "rename": {"prepareSupport": False},
        "formatting": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}},
            "resolveSupport": {"properties": ["edit"]},
            "dataSupport": True,
        },
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": False},
    },
}


def introduction(folder: str, spec: ServerSpec) -> dict[str, Any]:
    """The parameters of `initialize`."""
    return {
        "processId": None,  # in a namespace our number is nobody's, so the server would end; the kernel ends it with us
        "clientInfo": {"name": "clawft", "version": __version__},
        "rootUri": uri_of(folder),
        "workspaceFolders": workspace_folders(folder),
        "capabilities": CAPABILITIES,
        "initializationOptions": dict(spec.options),
    }


def workspace_folders(folder: str) -> list[dict[str, str]]:
    return [{"uri": uri_of(folder), "name": os.path.basename(folder)}]
