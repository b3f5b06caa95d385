"""The permissions of a family of tools, and the checks that enforce them.

`$WORKSPACE`, `$CARGO_HOME` and a leading `~` in a path are expanded by `expand`. A refusal names the permission that is
missing and the manifest it is missing from.
"""

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from msgspec import Struct

from clawft.errors import PermissionDenied


class Permissions(Struct, frozen=True):
    filesystem: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    """Host names; `*` is any."""
    env_vars: tuple[str, ...] = ()
    shell: bool = False
    """Whether it may start processes."""


class Manifest(Struct, frozen=True):
    id: str
    name: str
    version: str = "0.1.0"
    capabilities: tuple[str, ...] = ("tool",)
    permissions: Permissions = Permissions()


Places = Mapping[str, str]
"""The values of `$WORKSPACE`, `$CARGO_HOME` and `~`."""


def places(workspace: Path, environ: Mapping[str, str] = os.environ) -> Places:
    home = environ.get("HOME") or str(Path.home())
    cargo = environ.get("CARGO_HOME") or str(Path(home, ".cargo"))
    return {"$WORKSPACE": str(workspace.resolve()), "$CARGO_HOME": cargo, "~": home}


def expand(entry: str, known: Places) -> PurePath:
    """An entry with its variable replaced; only the first part can be one."""
    first, *rest = PurePath(entry).parts or ("",)
    return PurePath(known.get(first, first), *rest)


def check_path(manifest: Manifest, tool: str, path: PurePath, known: Places) -> None:
    """Check a resolved path: absolute, no `..`, no symlinks."""
    allowed = (expand(entry, known) for entry in manifest.permissions.filesystem)
    if not any(path.is_relative_to(folder) for folder in allowed):
        raise _missing(manifest, tool, "filesystem", str(path))


def check_host(manifest: Manifest, tool: str, host: str) -> None:
    name = host.lower().rstrip(".")
    if not any(fnmatchcase(name, allowed.lower()) for allowed in manifest.permissions.network):
        raise _missing(manifest, tool, "network", host)


def check_variable(manifest: Manifest, tool: str, name: str) -> None:
    if name not in manifest.permissions.env_vars:
        raise _missing(manifest, tool, "env_vars", name)


def check_process(manifest: Manifest, tool: str) -> None:
    if not manifest.permissions.shell:
        raise _missing(manifest, tool, "shell", "true")


def _missing(manifest: Manifest, tool: str, permission: str, value: str) -> PermissionDenied:
    return PermissionDenied(
        tool,
        f"the manifest does not grant {permission} {value!r}",
        hint=f"permissions.{permission} of {manifest.id} would have to list it",
    )
