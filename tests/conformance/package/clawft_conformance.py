"""An outside package, as far as the gateway can tell: one entry point that makes one provider."""

from pathlib import Path

from clawft.provider.base import Provider


def provider(workspace: Path) -> Provider:
    from tests.conformance.fixture import ConformanceProvider  # on first use: installed is not yet wanted

    return ConformanceProvider(workspace)
