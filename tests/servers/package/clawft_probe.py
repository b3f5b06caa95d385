"""An outside package, as far as the gateway can tell: tools that show from outside what happens inside."""

from pathlib import Path

from clawft.provider.base import Provider


def provider(workspace: Path) -> Provider:
    from tests.servers.probe import make  # on first use: installed is not yet wanted

    return make(workspace)
