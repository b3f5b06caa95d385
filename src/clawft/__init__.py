"""clawft: the tool fabric between AI agents and everything they may touch.

Everything named here is the library; names are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module

from clawft._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone costs more than all else that is imported here
    from typing import Any

    from clawft.errors import (
        ClawftError,
        ExecutionFailed,
        InvalidArguments,
        NotConnected,
        PermissionDenied,
        ToolError,
        ToolNotFound,
    )
    from clawft.library import Gateway
    from clawft.model import Annotations, Call, Caller, CallToolResult, Question, Reply, Tool
    from clawft.provider.base import Provider
    from clawft.provider.context import ToolContext
    from clawft.provider.function import FunctionProvider, tool
    from clawft.provider.server.connect_server import connect_server
    from clawft.store.base import KeyValueStore
    from clawft.upstream.spec import ToolRules, UpstreamSpec

_HOMES = {
    "Gateway": "clawft.library",
    "connect_server": "clawft.provider.server.connect_server",
    "UpstreamSpec": "clawft.upstream.spec",
    "ToolRules": "clawft.upstream.spec",
    "tool": "clawft.provider.function",
    "FunctionProvider": "clawft.provider.function",
    "Provider": "clawft.provider.base",
    "ToolContext": "clawft.provider.context",
    "KeyValueStore": "clawft.store.base",
    "Tool": "clawft.model",
    "Annotations": "clawft.model",
    "Call": "clawft.model",
    "Caller": "clawft.model",
    "CallToolResult": "clawft.model",
    "Question": "clawft.model",
    "Reply": "clawft.model",
    "ClawftError": "clawft.errors",
    "ToolError": "clawft.errors",
    "ToolNotFound": "clawft.errors",
    "InvalidArguments": "clawft.errors",
    "ExecutionFailed": "clawft.errors",
    "PermissionDenied": "clawft.errors",
    "NotConnected": "clawft.errors",
}

__all__ = [
    "Annotations",
    "Call",
    "CallToolResult",
    "Caller",
    "ClawftError",
    "ExecutionFailed",
    "FunctionProvider",
    "Gateway",
    "InvalidArguments",
    "KeyValueStore",
    "NotConnected",
    "PermissionDenied",
    "Provider",
    "Question",
    "Reply",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolNotFound",
    "ToolRules",
    "UpstreamSpec",
    "__version__",
    "connect_server",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'clawft' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
