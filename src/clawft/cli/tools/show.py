"""`weft tools show`: one tool, its arguments, its flags and its names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from clawft.app import App
from clawft.catalog.snapshot import CatalogEntry
from clawft.catalog.surface import tokens_of
from clawft.cli.parser import Options
from clawft.cli.parser.arguments import kinds_of, resolved
from clawft.cli.screen import one_line, paint, print_fields, print_paragraph, print_table, safe
from clawft.cli.screen.document import print_json
from clawft.cli.setup import show_with_app
from clawft.cli.tools.finding import find
from clawft.cli.tools.flags import flags
from clawft.model import Origin

Schema = Mapping[str, Any]


def run(options: Options) -> int:
    async def work(app: App) -> CatalogEntry:
        return find(app, options.name)

    return show_with_app(options, work, lambda entry: _print_entry(entry, options), tool=options.name)


def _print_entry(entry: CatalogEntry, options: Options) -> int:
    if options.json:
        print_json(msgspec.Raw(entry.wire))
        return 0
    print(paint(entry.name, "bold") + (f"  {safe(entry.tool.title)}" if entry.tool.title else ""))
    print()
    if entry.tool.description:
        print_paragraph(entry.tool.description)
        print()
    _print_arguments(msgspec.json.decode(entry.tool.input_schema, type=dict[str, Any]))
    origin = entry.origin
    print_fields(
        [
            ("flags", ", ".join(flags(entry.tool.annotations))),
            ("from", _from(origin)),
            ("also", ", ".join(name for name in entry.names if name != entry.name)),
            ("costs", f"about {tokens_of(entry)} tokens in a model's context"),
        ]
    )
    return 0


def _from(origin: Origin) -> str:
    if not origin.server:
        return f"built in or installed: {origin.namespace}"
    return f"the server {origin.server}, which is {'' if origin.trusted else 'not '}trusted"


def _print_arguments(schema: Schema) -> None:
    properties = cast("dict[str, Any]", schema.get("properties") or {})
    if not properties:
        print("takes no arguments\n")
        return
    required: list[str] = schema.get("required", [])
    rows = [argument_row(name, each, schema, required=name in required) for name, each in properties.items()]
    print_table(("ARGUMENT", "TYPE", "REQUIRED", "DEFAULT", "WHAT IT IS"), rows, wrap=True)
    print()


def argument_row(name: str, expected: Schema, schema: Schema, *, required: bool) -> tuple[str, ...]:
    default = msgspec.json.encode(expected["default"]).decode() if "default" in expected else ""
    expected = {**resolved(expected, schema), **expected}
    kind = "|".join(sorted(kinds_of(expected, schema))) or "any"
    return (
        name,
        kind,
        "yes" if required else "",
        default,
        one_line("; ".join(filter(None, (_limits(expected), _described(expected))))),
    )


def _described(expected: Schema) -> str:
    """Where it may be left out, its branch may have the words."""
    branches: list[Schema] = [expected, *expected.get("anyOf", ())]
    return next((str(each[key]) for key in ("description", "title") for each in branches if each.get(key)), "")


def _limits(expected: Schema) -> str:
    """`one of a, b` or `1 to 100`: what a person must know to get it right."""
    if "enum" in expected:
        return f"one of {', '.join(map(str, expected['enum']))}"
    low, high = expected.get("minimum"), expected.get("maximum")
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"at least {low}" if low is not None else f"at most {high}" if high is not None else ""
