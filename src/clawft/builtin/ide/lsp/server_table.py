"""The table of language servers by language. A new server is a row of it.

Programs are looked up on the PATH and beside our own Python, never in the workspace: a project must not choose what we
start. Servers that run code of the project (build scripts, plugins) are started only in folders the user trusts. Each
runs in a sandbox (`cell.py`).
"""

import os
import shutil
import sys
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clawft.sandbox.probe import outside_workspace


class ServerSpec(Struct, frozen=True):
    name: str
    commands: tuple[tuple[str, ...], ...]
    """The first of these that is installed is used."""
    languages: Mapping[str, str]
    """Suffix → language id."""
    settings: Mapping[str, Any] = {}
    """The server's configuration by section, sent on request."""
    options: Mapping[str, Any] = {}
    """The server's `initializationOptions`."""
    runs_project_code: bool = False
    starts_cargo: bool = False
    hosts: tuple[str, ...] = ()
    """Hosts to fetch packages from, in a trusted folder."""
    asks: tuple[str, ...] = ()
    """Programs it runs to ask about the language."""
    kept_in: tuple[str, ...] = ()
    """Folders with further parts of it, outside of its installation."""
    reports_everywhere: bool = False
    """Whether `diagnosticMode` can make it report on files that are not open."""


_PYRIGHT = {
    "analysis": {
        "typeCheckingMode": "standard",
        "diagnosticMode": "openFilesOnly",
        "autoSearchPaths": True,
        "useLibraryCodeForTypes": True,
    }
}

SERVERS: tuple[ServerSpec, ...] = (
    ServerSpec(
        "basedpyright",
        (("basedpyright-langserver", "--stdio"), ("pyright-langserver", "--stdio")),
        {".py": "python", ".pyi": "python"},
        {
            "python": _PYRIGHT,
            "basedpyright": _PYRIGHT,
            "python.analysis": _PYRIGHT["analysis"],
            "basedpyright.analysis": _PYRIGHT["analysis"],
        },
        asks=("python3", "python"),
        kept_in=("~/.cache/pyright-python",),  # the wheel of pyright
        reports_everywhere=True,
    ),
    ServerSpec(
        "typescript-language-server",
        (("typescript-language-server", "--stdio"),),
        {
            ".ts": "typescript",
            ".mts": "typescript",
            ".cts": "typescript",
            ".tsx": "typescriptreact",
            ".js": "javascript",
            ".mjs": "javascript",
            ".cjs": "javascript",
            ".jsx": "javascriptreact",
        },
        options={"disableAutomaticTypingAcquisition": True},
        runs_project_code=True,  # runs the TypeScript and the plugins that the project brings along
    ),
    ServerSpec(
        "bash-language-server", (("bash-language-server", "start"),), {".sh": "shellscript", ".bash": "shellscript"}
    ),
    ServerSpec(
        "rust-analyzer",
        (("rust-analyzer",),),
        {".rs": "rust"},
        runs_project_code=True,
        starts_cargo=True,
        hosts=("index.crates.io", "static.crates.io"),
    ),
    ServerSpec(
        "gopls",
        (("gopls",),),
        {".go": "go"},
        runs_project_code=True,
        hosts=("proxy.golang.org", "sum.golang.org"),
    ),
    ServerSpec(
        "clangd",
        (("clangd", "--background-index=false"),),
        {".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp"},
    ),
)
KEPT = ("LANG", "LC_ALL", "TMPDIR", "XDG_CACHE_HOME", "CARGO_HOME", "RUSTUP_HOME", "GOPATH")


def suffix_of(path: str) -> str:
    """The suffix as in the table."""
    return os.path.splitext(path)[1].lower()


def server_for(path: str) -> ServerSpec | None:
    return next((spec for spec in SERVERS if suffix_of(path) in spec.languages), None)


def language_of(spec: ServerSpec, path: str) -> str:
    return spec.languages[suffix_of(path)]


def installed(spec: ServerSpec, workspace: str) -> tuple[str, ...] | None:
    """The command with the absolute path of its program; None if there is none."""
    places = [os.path.dirname(sys.executable), *outside_workspace(os.get_exec_path(), workspace)]
    for program, *rest in spec.commands:
        found = shutil.which(program, path=os.pathsep.join(places))
        if found:
            return (os.path.abspath(found), *rest)
    return None


def environment() -> dict[str, str]:
    return {name: os.environ[name] for name in KEPT if name in os.environ}
