"""Publishes a crate: a rehearsal by default, to a registry the user named, with a token that no agent sees."""

from pathlib import Path

from clawft.builtin.cargo.family import MANIFEST, Cargo, CargoOutput, CargoRequest
from clawft.builtin.cargo.registry import find_registry, token_of
from clawft.builtin.cargo.run import run_cargo
from clawft.provider.context import ToolContext
from clawft.provider.manifest import places


async def run_publish(
    cargo: Cargo, request: CargoRequest, ctx: ToolContext, *, dry_run: bool, registry: str | None, token: str | None
) -> CargoOutput:
    """Publish. A rehearsal needs no token, so none is looked up, even if one is named."""

    def complete(request: CargoRequest) -> CargoRequest:
        return prepare(request, ctx.workspace, dry_run, registry, token)

    return await run_cargo(cargo, request, ctx, complete)


def prepare(
    request: CargoRequest, workspace: Path, dry_run: bool, registry: str | None, token: str | None
) -> CargoRequest:
    """Always names the registry, as a project's configuration may have another default."""
    chosen = find_registry(registry, Path(places(workspace)["$CARGO_HOME"]), MANIFEST)
    secret = token_of(token, chosen) if token is not None and not dry_run else ""
    more = ("--registry", chosen.name, *(["--dry-run"] if dry_run else []))
    environment = chosen.environment(secret)
    return CargoRequest(
        request.working_dir, request.timeout_s, request.settings, more, environment, secret, publishes=not dry_run
    )
