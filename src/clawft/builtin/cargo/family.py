"""What a call of the family asks for and gives back, and what the family may touch.

Light: tools are offered by it alone. Parsers and processes are loaded by the first call.
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
    """What holds cargo and all it starts: `auto`, `strict` (no home, no network), `require` or `off`."""
    hosts: tuple[str, ...] = ()
    """Hosts to reach besides those of the manifest and of the user's own registries; globs."""


class Cargo(Struct, frozen=True):
    """What a call asks for (`CargoConfig` of the requirements), still unchecked."""

    subcommand: Subcommand
    profile: Profile = "debug"
    package: str | None = None
    workspace: bool = False
    features: Sequence[str] = ()
    target: str | None = None
    extra_args: Sequence[str] = ()


class CargoRequest(Struct, frozen=True):
    """What a call says besides cargo's arguments. `more` stands before the extra ones, `secret` only in `env`."""

    working_dir: str
    timeout_s: float
    settings: CargoSettings
    more: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    secret: str = ""
    publishes: bool = False
    """For good, and no rehearsal: then cargo may look into the user's credentials."""


class CargoOutput(RunOutput, frozen=True, kw_only=True):
    """How a run of cargo ended."""

    messages: tuple[dict[str, Any], ...] = ()
    """JSON messages of cargo, as they came, as far as there is room."""
