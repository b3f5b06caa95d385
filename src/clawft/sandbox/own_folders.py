"""Where programs that fetch others keep them: in the server's own folder, as those of the user are shared by all."""

from __future__ import annotations

import os
from collections.abc import Mapping

from clawft.sandbox.bounds import Bounds, access_to

FOLDERS = {
    "XDG_CACHE_HOME": "",  # uv, pip, pipx, deno, corepack, and everybody who keeps to the custom
    "npm_config_cache": "/npm",
    "PNPM_HOME": "/pnpm",  # else pnpm makes its store in the workspace
    "UV_TOOL_DIR": "/uv-tools",  # uvx locks it before it runs anything
    "PIPX_HOME": "/pipx",
    "PIPX_BIN_DIR": "/pipx/bin",  # pipx makes the next two at each start, used or not
    "PIPX_MAN_DIR": "/pipx/man",
    "CLAWFT_HOME": "/clawft",  # one that is made with our own library: our home is out of its sight
}
"""Variable → below its own folder. The user's data (`XDG_DATA_HOME`) stays where it is: honest servers read it."""
PYTHONS = "UV_PYTHON_INSTALL_DIR"


def with_own(bounds: Bounds, env: Mapping[str, str]) -> dict[str, str]:
    """These variables, and where it may fetch to unless they say so."""
    if not bounds.own:
        return dict(env)
    own = {name: bounds.own + folder for name, folder in FOLDERS.items()}
    if not _sees_pythons(bounds, env):
        own[PYTHONS] = f"{bounds.own}/uv-python"
    return {**own, **env}


def _sees_pythons(bounds: Bounds, env: Mapping[str, str]) -> bool:
    """Whether uv finds interpreters it has fetched for the user: those it needs only to read."""
    data = env.get("XDG_DATA_HOME") or f"{env.get('HOME') or bounds.home}/.local/share"
    folder = f"{data}/uv/python"
    return os.path.isdir(folder) and access_to(os.path.realpath(folder), bounds.rules) != "hide"
