"""The cargo family: build, test, clippy, check and publish, each with one typed result."""

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import Meta

from clawft.builtin.cargo.family import (
    DEFAULT_TIMEOUT_S,
    MANIFEST,
    MAX_TIMEOUT_S,
    Cargo,
    CargoOutput,
    CargoRequest,
    CargoSettings,
    Profile,
    Subcommand,
)
from clawft.errors import ExecutionFailed, InvalidArguments
from clawft.model import Reply
from clawft.provider.context import ToolContext
from clawft.provider.function import definition_of, tool

__all__ = ["MANIFEST", "tools_with"]

WorkingDir = Annotated[str, "folder of the crate, relative to weft's workspace"]
Package = Annotated[str | None, "only this package"]
Workspace = Annotated[bool, "all packages of the cargo workspace"]
Features = Annotated[tuple[str, ...], "features to switch on"]
TargetTriple = Annotated[str | None, "target triple"]
Extra = Annotated[tuple[str, ...], "further flags; a refusal names those allowed"]
Timeout = Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_S, description="deadline in seconds")]

_TOLD = "Findings come once each, errors first, with places and suggested edits."
_TRUST = "Runs code of the folder, so only where the user trusts it. At the deadline every process of the run is ended."
WHAT_IT_DOES: dict[Subcommand, tuple[str, str]] = {
    "build": ("Build with cargo", f"Build a Rust crate. A failed build is a result with success false. {_TOLD}"),
    "test": (
        "Test with cargo",
        "Run a Rust crate's tests. Each test with how it ended; failed ones first, with output.",
    ),
    "clippy": ("Lint with clippy", f"Lint a Rust crate with clippy. {_TOLD}"),
    "check": ("Check with cargo", f"Check a Rust crate without building it: faster than build. {_TOLD}"),
}


def _cargo_tool(subcommand: Subcommand, settings: CargoSettings) -> Callable[..., Any]:
    """The tool for one of the four subcommands that build, which take the same parameters."""

    async def run(  # noqa: PLR0913 - each one is a parameter of the tool
        working_dir: WorkingDir,
        ctx: ToolContext,
        *,
        profile: Profile = "debug",
        package: Package = None,
        workspace: Workspace = False,
        features: Features = (),
        target: TargetTriple = None,
        extra_args: Extra = (),
        timeout_s: Timeout = DEFAULT_TIMEOUT_S,
    ) -> CargoOutput:
        from clawft.builtin.cargo.run import run_cargo  # parsers and processes: not before the first call

        cargo = Cargo(subcommand, profile, package, workspace, features, target, extra_args)
        return await run_cargo(cargo, CargoRequest(working_dir, timeout_s, settings), ctx)

    title, run.__doc__ = WHAT_IT_DOES[subcommand][0], f"{WHAT_IT_DOES[subcommand][1]}\n\n{_TRUST}"
    return tool(
        name=subcommand,
        alias=f"cargo_{subcommand}",
        title=title,
        destructive=False,
        idempotent=True,
        task="optional",
    )(run)


def _publish_tool(settings: CargoSettings) -> Callable[..., Any]:
    @tool(alias="cargo_publish", title="Publish a crate", task="optional")
    async def publish(  # noqa: PLR0913 - each one is a parameter of the tool
        working_dir: WorkingDir,
        ctx: ToolContext,
        *,
        profile: Annotated[Profile, "accepted like everywhere; publishing has none"] = "debug",
        package: Package = None,
        workspace: Workspace = False,
        features: Features = (),
        target: TargetTriple = None,
        extra_args: Extra = (),
        timeout_s: Timeout = DEFAULT_TIMEOUT_S,
        dry_run: Annotated[bool, "rehearse: package and verify, upload nothing"] = True,
        registry: Annotated[str | None, "a registry of the user's cargo configuration; crates.io if left out"] = None,
        token: Annotated[str | None, "reference such as secret://env/CARGO_REGISTRY_TOKEN, never a token"] = None,
    ) -> CargoOutput:
        """Rehearse the publishing of a Rust crate; with dry_run false, publish it, which cannot be undone.

        Runs code of the folder, so only where the user trusts it. At the deadline every process of the run is ended.
        """
        from clawft.builtin.cargo.publish import run_publish  # not before the first call

        cargo = Cargo("publish", profile, package, workspace, features, target, extra_args)
        request = CargoRequest(working_dir, timeout_s, settings)
        return await run_publish(cargo, request, ctx, dry_run=dry_run, registry=registry, token=token)

    return publish


def tools_with(settings: CargoSettings | None) -> list[tuple[Callable[..., Any], bool]]:
    held = settings or CargoSettings()
    tools = [*(_cargo_tool(each, held) for each in WHAT_IT_DOES), _publish_tool(held)]
    return [(_saying_invalid_params(each), True) for each in tools]


def _saying_invalid_params(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes all errors about arguments `invalid params`, from the schema as well as from our checks."""
    definition = definition_of(function)
    decode_and_run = definition.run

    async def run(arguments: bytes, context: ToolContext | None, asked: str) -> Reply:
        try:
            return await decode_and_run(arguments, context, asked)
        except InvalidArguments as wrong:
            raise ExecutionFailed(f"invalid params: {wrong.message}", hint=wrong.hint) from None

    definition.run = run
    return function
