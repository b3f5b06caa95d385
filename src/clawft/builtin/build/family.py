"""The manifest, the settings and the result of the build family.

Light: listing the tools loads only this. Parsers and processes are loaded by the first call.
"""

from typing import Literal

from msgspec import Struct

from clawft.builtin.build.output import RunOutput
from clawft.provider.manifest import Manifest, Permissions

DEFAULT_TIMEOUT_S = 300
MAX_TIMEOUT_S = 7200

TaskKind = Literal["run", "test"]

MANIFEST = Manifest(
    id="com.clawft.plugin-build",
    name="Declared Tasks",
    permissions=Permissions(
        filesystem=("$WORKSPACE",),
        network=("*",),
        env_vars=("PATH", "HOME", "LANG", "CARGO_HOME", "RUSTUP_HOME", "RUSTFLAGS"),
        shell=True,
    ),
)


class BuildSettings(Struct, frozen=True):
    sandbox: str = "auto"
    """The sandbox of tasks: `auto`, `strict` (no home, no network), `require` or `off`."""


class BuildOutput(RunOutput, frozen=True, kw_only=True):
    """How a declared task ended."""

    task: str


class ListedTask(Struct, frozen=True):
    name: str
    kind: TaskKind
    runner: str
    description: str
