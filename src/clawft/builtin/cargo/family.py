"""The manifest, parameters and results of the cargo family.

Light: listing the tools loads only this. Parsers and processes are loaded by the first call.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from clawft.builtin.build.output import RunOutput
from clawft.provider.manifest import Manifest, Permissions

DEFAULT_TIMEOUT_S = 300
MAX_TIMEOUT_S = 7200

Subcommand = Literal["build", "test", "clippy", "check", "publish"]
Profile = Literal["debug", "release"]

MANIFEST = Manifest(
    id="com.clawft.plugin-cargo",
    name="Cargo Build Integration",
    permissions=Permissions(
        filesystem=("$WORKSPACE", "$CARGO_HOME"),
        network=("crates.io", "index.crates.io"),
        env_vars=("CARGO_HOME", "RUSTUP_HOME", "RUSTFLAGS"),
        shell=True,
    ),
)


class CargoSettings(Struct, frozen=True):
    sandbox: str = "auto"
    """The sandbox of cargo and all it starts: `auto`, `strict` (no home, no network), `require` or `off`."""
    hosts: tuple[str, ...] = ()
    """Host globs besides the hosts of the manifest and of the user's own registries."""


class Cargo(Struct, frozen=True):
    """The unchecked parameters of a call (`CargoConfig` of the requirements)."""

    subcommand: Subcommand
    profile: Profile = "debug"
    package: str | None = None
    workspace: bool = False
    features: Sequence[str] = ()
    target: str | None = None
    extra_args: Sequence[str] = ()


class CargoRequest(Struct, frozen=True):
    """The parameters besides cargo's arguments. `more` stands before the extra ones, `secret` only in `env`."""

    working_dir: str
    timeout_s: float
    settings: CargoSettings
    more: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    secret: str = ""
    publishes: bool = False
    """Whether it really publishes: only then cargo may read the user's credentials."""


class CargoOutput(RunOutput, frozen=True, kw_only=True):
    """How a run of cargo ended."""

    messages: tuple[dict[str, Any], ...] = ()
    """JSON messages of cargo, unchanged, as far as there is room."""
