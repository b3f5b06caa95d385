"""`weft config show`: every setting with its source."""

from __future__ import annotations

from typing import Any

import msgspec

from clawft.cli.parser import Options
from clawft.cli.screen import paint, safe
from clawft.cli.screen.document import print_json
from clawft.cli.screen.table import cells
from clawft.cli.setup import loaded
from clawft.cli.setup.sources import discovered
from clawft.config.layers import FoundServer
from clawft.config.load import LoadedSettings
from clawft.config.secrecy import masked_url, masked_values, masked_words


def run(options: Options) -> int:
    found = loaded(options)
    servers = discovered(options)
    if options.json:
        print_json(_document(found) | {"servers": [_server(each) for each in servers.found.values()]})
        return 0
    settings = found.settings
    for name, value in (("home", settings.home), ("workspace", settings.workspace), ("agent", settings.agent)):
        print(paint(f"# {name}: {value}", "dim"))
    lines = [(f"{name} = {toml(value)}", origin_of(found, name)) for name, value in found.values.items()]
    column = max(cells(line) for line, _ in lines) if options.origin else 0
    lines += [(safe(_table(each)), safe(str(each.origin))) for each in servers.found.values()]
    for line, origin in lines:
        print(line + " " * (column - cells(line)) + paint(f"  # {origin}", "dim") if options.origin else line)
    return 0


def _table(found: FoundServer) -> str:
    """One server on one line. References to secrets are shown, as they stand; what looks like a secret is not."""
    from clawft.config.server_text import toml_key, toml_value  # only where there are servers

    return f"mcp_servers.{toml_key(found.spec.name)} = {toml_value(masked(found))}"


def masked(found: FoundServer) -> dict[str, Any]:
    spec = found.spec
    shown = msgspec.to_builtins(spec)
    default = msgspec.to_builtins(type(spec)(spec.name))
    for part in ("env", "headers"):
        shown[part] = masked_values(shown[part])
    shown["args"] = tuple(masked_words(spec.args))
    shown["url"] = masked_url(spec.url)
    return {key: value for key, value in shown.items() if value != default[key]} | {"trust": spec.trust}


def _server(found: FoundServer) -> dict[str, Any]:
    about = {"name": found.spec.name, "origin": str(found.origin), "scope": found.scope.value}
    return about | {"value": masked(found)}


def _document(found: LoadedSettings) -> dict[str, Any]:
    settings = found.settings
    return {
        "home": str(settings.home),
        "workspace": str(settings.workspace),
        "agent": settings.agent,
        "values": found.values,
        "origins": {name: [str(origin) for origin in origins] for name, origins in found.origins.items()},
    }


def origin_of(found: LoadedSettings, name: str) -> str:
    return ", ".join(map(str, found.origins.get(name, ()))) or "default"


def toml(value: Any) -> str:
    """As it would stand in the file: JSON of texts, numbers, switches and lists of texts is TOML as well."""
    return msgspec.json.encode(value).decode().replace('","', '", "')
