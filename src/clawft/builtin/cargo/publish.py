"""Publishing: a rehearsal unless told otherwise, to a registry the user named, with a token nobody gets to see."""

from pathlib import Path

from clawft.builtin.cargo.asked import MANIFEST, Asked, Cargo
from clawft.builtin.cargo.output import CargoOutput
from clawft.builtin.cargo.registry import find_registry, token_of
from clawft.builtin.cargo.run import run_cargo
from clawft.provider.context import ToolContext
from clawft.provider.manifest import places


async def run_publish(
    cargo: Cargo, asked: Asked, ctx: ToolContext, *, dry_run: bool, registry: str | None, token: str | None
) -> CargoOutput:
    """A rehearsal needs no token, so none is looked up for it, even if one is named."""

    def complete(asked: Asked) -> Asked:
        return prepare(asked, ctx.workspace, dry_run, registry, token)

    return await run_cargo(cargo, asked, ctx, complete)


def prepare(asked: Asked, workspace: Path, dry_run: bool, registry: str | None, token: str | None) -> Asked:
    """The registry is always named: a project's configuration may have another default."""
    chosen = find_registry(registry, Path(places(workspace)["$CARGO_HOME"]), MANIFEST)
    secret = token_of(token, chosen) if token is not None and not dry_run else ""
    more = ("--registry", chosen.name, *(["--dry-run"] if dry_run else []))
    told = chosen.environment(secret)
    return Asked(asked.working_dir, asked.timeout_s, asked.settings, more, told, secret, publishes=not dry_run)
