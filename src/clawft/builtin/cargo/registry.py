"""Finds the registry and the token to publish with: only those that the user's own configuration names.

A project can bring a `.cargo/config.toml` that gives a registry another address. So the address is taken from the
user's own file (`$CARGO_HOME/config.toml`) and passed to cargo in a way that overrules the project's. A token is a
reference to the variable or keyring entry of this very registry: no other secret can be sent there.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from clawft.builtin.cargo.arguments import invalid
from clawft.errors import PermissionDenied
from clawft.provider.manifest import Manifest, check_host
from clawft.store.secrets import is_reference, resolve

CRATES_IO = "crates-io"
CRATES_IO_HOST = "crates.io"
MAX_CONFIG_BYTES = 1024 * 1024

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class CrateRegistry(Struct, frozen=True):
    """A registry. `index` is empty for crates.io, which cargo knows."""

    name: str = CRATES_IO
    index: str = ""

    @property
    def token_variable(self) -> str:
        return "CARGO_REGISTRY_TOKEN" if self.name == CRATES_IO else f"CARGO_REGISTRIES_{_upper(self.name)}_TOKEN"

    def environment(self, token: str) -> dict[str, str]:
        """Variables that give cargo the registry and the token: no process list shows, and no file overrules them."""
        variables = {self.token_variable: token} if token else {}
        return {**variables, f"CARGO_REGISTRIES_{_upper(self.name)}_INDEX": self.index} if self.index else variables


def find_registry(name: str | None, cargo_home: Path, manifest: Manifest) -> CrateRegistry:
    """crates.io, or a registry from the user's cargo configuration, which is read."""
    if name is None or name == CRATES_IO:
        check_host(manifest, "publish", CRATES_IO_HOST)
        return CrateRegistry()
    if not _NAME.fullmatch(name):
        raise invalid("registry is no name of a registry", "letters, digits, - and _")
    index = index_of(read_config(cargo_home), name)
    if not urlsplit(index.removeprefix("sparse+")).hostname:
        raise PermissionDenied(
            "publish",
            f"{cargo_home / 'config.toml'} does not name the registry '{name}'",
            hint=f'if you want to publish there, add: [registries.{name}] index = "sparse+https://…"',
        )
    return CrateRegistry(name, index)


def index_of(config: Mapping[str, Any], name: str) -> str:
    registries = config.get("registries")
    entry = cast("dict[str, Any]", registries).get(name) if isinstance(registries, dict) else None
    index = cast("dict[str, Any]", entry).get("index") if isinstance(entry, dict) else None
    return index if isinstance(index, str) else ""


def token_of(reference: str, registry: CrateRegistry) -> str:
    """The token a reference stands for. The reference is never repeated: it may be the token itself."""
    allowed = (f"secret://env/{registry.token_variable}", f"secret://keyring/cargo/{registry.name}")
    if not is_reference(reference):
        raise invalid("token must be a reference, never the token itself", f"one of: {', '.join(allowed)}")
    if reference not in allowed:
        raise PermissionDenied(
            "publish",
            f"this secret is not meant for the registry '{registry.name}'",
            hint=f"one of: {', '.join(allowed)}",
        )
    token = resolve(reference)
    if not token.isprintable() or not token:
        raise invalid("the token behind the reference is empty or has characters no token has")
    return token


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def read_config(cargo_home: Path) -> Mapping[str, Any]:
    """The user's own configuration of cargo; nothing if there is none."""
    import tomllib  # only for those who publish to a registry of their own

    for file in (cargo_home / "config.toml", cargo_home / "config"):
        try:
            with file.open("rb") as content:
                return tomllib.loads(content.read(MAX_CONFIG_BYTES).decode())
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as wrong:
            raise invalid(f"{file} cannot be read: {wrong}", "cargo would refuse it too: correct that file") from None
    return {}
