"""Commands that people type because other programs have them, with what to type here. Loaded only to complain."""

from __future__ import annotations

from collections.abc import Mapping

_STATUS = "weft servers status NAME"

WORDS: Mapping[str, Mapping[str, str]] = {
    "": {
        "serve start up": "weft gateway serves over HTTP, weft mcp-server on stdin",
        "mcp": "weft mcp-server",
        "run": "weft agent -p TASK, or weft tools call NAME",
        "ls": "weft tools list, or weft servers list",
        "log logs": f"weft audit tail shows calls, {_STATUS} what a server says",
        "init install setup": "weft servers import takes over the servers you have; nothing has to be set up first",
        "stop down": "Ctrl-C ends weft gateway where it runs; weft servers disable NAME stops a server",
        "token": "weft gateway prints it at a terminal",
        "version": "weft --version",
    },
    "servers": {
        "logs log show info get describe inspect": _STATUS,
        "rm delete uninstall": "weft servers remove NAME",
        "install": "weft servers add NAME -- COMMAND",
        "start on": "weft servers enable NAME; they start with whoever serves",
        "stop off": "weft servers disable NAME",
        "restart reload": "weft servers reconnect NAME",
        "edit set config": "weft servers list shows its file; changes count at once",
        "login": "weft auth login NAME",
        "tools": "weft tools list NAME",
        "ping check": "weft servers test NAME",
    },
    "tools": {
        "run exec invoke use": "weft tools call NAME key=value",
        "describe info get schema": "weft tools show NAME",
        "find": "weft tools search WORD",
    },
    "resources": {"get show cat": "weft resources read URI"},
    "prompts": {"show run": "weft prompts get NAME"},
    "approvals": {
        "add approve allow": "weft approvals grant SERVER TOOL",
        "deny remove rm delete reset": "weft approvals revoke SERVER TOOL",
        "show status": "weft approvals list",
    },
    "auth": {
        "list show": "weft auth status",
        "add": "weft auth login NAME",
        "remove rm delete": "weft auth logout NAME",
    },
    "audit": {
        "list log logs search": "weft audit tail; its options look for calls",
        "check": "weft audit verify",
    },
    "policy": {"test check show list why": "weft policy explain TOOL key=value"},
    "config": {
        "get list cat": "weft config show",
        "set edit init": "weft config path shows the files to write; weft config check judges them",
        "validate test lint": "weft config check",
    },
}
"""Command → words that are none of its verbs → what to type. Below "" are words that are no command."""


def meant(word: str, command: str = "") -> str:
    """The command in place of the word; empty where the word is of no program we know."""
    return next((answer for words, answer in WORDS.get(command, {}).items() if word in words.split()), "")
