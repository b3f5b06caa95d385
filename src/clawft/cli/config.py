"""`weft config`: every setting with its source, where the files are, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from clawft.cli.options import common_options, loaded, place_options
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import paint, print_json, print_table
from clawft.cli.table import cells
from clawft.config.places import home_folder

if TYPE_CHECKING:  # help needs none of it
    from clawft.config.load import Loaded


def _show_options(parser: Parser) -> None:
    parser.add_argument("--origin", action="store_true", help="say which file and line each value came from")
    json_option(parser)
    common_options(parser)


def _show(options: Options) -> int:
    found = loaded(options)
    if options.json:
        print_json(_document(found))
        return 0
    settings = found.settings
    for name, value in (("home", settings.home), ("workspace", settings.workspace), ("agent", settings.agent)):
        print(paint(f"# {name}: {value}", "dim"))
    lines = {name: f"{name} = {toml(value)}" for name, value in found.values.items()}
    column = max(map(cells, lines.values())) if options.origin else 0
    for name, line in lines.items():
        origin = paint(f"  # {origin_of(found, name)}", "dim") if options.origin else ""
        print(line + " " * (column - cells(line)) + origin if origin else line)
    return 0


def _document(found: Loaded) -> dict[str, Any]:
    settings = found.settings
    return {
        "home": str(settings.home),
        "workspace": str(settings.workspace),
        "agent": settings.agent,
        "values": found.values,
        "origins": {name: [str(origin) for origin in origins] for name, origins in found.origins.items()},
    }


def origin_of(found: Loaded, name: str) -> str:
    return ", ".join(map(str, found.origins.get(name, ()))) or "default"


def toml(value: Any) -> str:
    """As it would stand in the file: JSON of texts, numbers, switches and lists of texts is TOML as well."""
    return msgspec.json.encode(value).decode().replace('","', '", "')


def _path(options: Options) -> int:
    from clawft.config.load import files  # brings the policies

    home = home_folder()
    rows = [(str(path), "read" if path.exists() else "not there") for path in files(home, options.agent)]
    if options.json:
        print_json({"home": str(home), "files": [{"path": path, "exists": state == "read"} for path, state in rows]})
    else:
        print_table(("FILE", "STATE"), rows)
    return 0


def _path_options(parser: Parser) -> None:
    json_option(parser)
    place_options(parser)


def _check(options: Options) -> int:
    from clawft.config.load import problems  # brings the policies

    found = problems(home_folder(), options.agent)
    if options.json:
        print_json({"ok": not found, "problems": [{"message": each.message, "hint": each.hint} for each in found]})
    elif not found:
        print("the configuration is fine")
    for each in [] if options.json else found:
        print(f"{paint('fail', 'red')}  {each.message}\n      {paint(each.hint, 'dim')}")
    return 1 if found else 0


VERBS = {
    "show": Verb("Show every setting, as TOML", _show_options, _show),
    "path": Verb("Show which files are read", _path_options, _path),
    "check": Verb("Find what is wrong in the files", _path_options, _check),
}
