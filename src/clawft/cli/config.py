"""`weft config`: every setting with its source, where the files are, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clawft.cli.options import common_options, discovered, loaded, place_options
from clawft.cli.parser import Options, Parser, Verb, json_option
from clawft.cli.screen import paint, print_json, print_table, safe
from clawft.cli.table import cells
from clawft.config.places import home_folder, server_files, servers_folder, spelled_in_text, stray_files

MAX_SAID = 2_000
"""Characters of a problem, and of what to do about it: a workspace may have written them."""

if TYPE_CHECKING:  # help needs none of it
    from clawft.config.layers import FoundServer
    from clawft.config.load import LoadedSettings
    from clawft.config.servers import Servers
    from clawft.config.settings import Settings


def _show_options(parser: Parser) -> None:
    parser.add_argument("--origin", action="store_true", help="say which file and line each value came from")
    json_option(parser)
    common_options(parser)


def _show(options: Options) -> int:
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
    from clawft.config.server_text import toml_key, toml_value  # loaded with the servers

    return f"mcp_servers.{toml_key(found.spec.name)} = {toml_value(masked(found))}"


def masked(found: FoundServer) -> dict[str, Any]:
    from clawft.config.secrecy import masked_url, masked_values, masked_words  # loaded with the servers

    spec = found.spec
    told = msgspec.to_builtins(spec)
    default = msgspec.to_builtins(type(spec)(spec.name))
    for part in ("env", "headers"):
        told[part] = masked_values(told[part])
    told["args"] = tuple(masked_words(spec.args))
    told["url"] = masked_url(spec.url)
    return {key: value for key, value in told.items() if value != default[key]} | {"trust": spec.trust}


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


def _path(options: Options) -> int:
    home = home_folder()
    files = server_files(home, spelled_in_text(Path(options.workspace).resolve()), options.agent)
    rows = [(str(path), "read" if path.exists() else "not there") for path in files]
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
    from clawft.wire.strings import clipped

    found = problems(home_folder(), options.agent)
    warned: list[tuple[str, str]] = []
    if not found:  # with broken settings the same files would be complained of twice
        told = _settings(options)
        servers = _servers_in_files(told)
        found += [each.error for each in servers.refused.values()]
        named = (*servers.found.values(), *servers.waiting.values())
        warned = [*_unread(told.home), *(warning for each in named for warning in warnings_of(each))]
        warned += [(problem, "it is skipped: correct delegation.rules") for problem in _wrong_rules(told)]
    told_of = [("fail", each.message, each.hint) for each in found] + [("warn", *each) for each in warned]
    said = [(level, clipped(message, MAX_SAID), clipped(hint, MAX_SAID)) for level, message, hint in told_of]
    if options.json:
        shown = [{"level": level, "message": message, "hint": hint} for level, message, hint in said]
        print_json({"ok": not found, "problems": shown})
    elif not said:
        print("the configuration is fine")
    for level, message, hint in [] if options.json else said:
        word = paint(level, "red" if level == "fail" else "yellow")
        print(f"{word}  {safe(message)}\n      {paint(safe(hint), 'dim')}")
    return 1 if found else 0


def _settings(options: Options) -> Settings:
    from clawft.config.load import load  # brings the policies

    return load(home_folder(), Path(options.workspace), options.agent).settings


def _wrong_rules(told: Settings) -> Iterable[str]:
    if not told.delegation.rules:
        return ()
    from clawft.delegate.rules import problems  # only for those who delegate

    return problems(told.delegation.rules)


def _servers_in_files(told: Settings) -> Servers:
    from clawft.config.layers import Sources  # brings the client side's nouns
    from clawft.config.servers import discover

    return discover(Sources(told.home, told.workspace, told.agent, (), told.command_folders))


def _unread(home: Path) -> list[tuple[str, str]]:
    """What somebody has put where servers are looked for, and is passed by."""
    folder = servers_folder(home)
    if folder.exists() and not folder.is_dir():
        return [(f"{folder} is no folder, so it names no server", "each server has a file there, like NAME.toml")]
    other = "files there are TOML; JSON of other programs: weft servers import, or --mcp-config FILE"
    return [(f"{path} is not read", other) for path in stray_files(home)]


def warnings_of(found: FoundServer) -> list[tuple[str, str]]:
    """What is wrong with a server that starts all the same, and what to write instead."""
    from clawft.config.cleared_entry import left_open, unfilled  # loaded with the servers
    from clawft.config.secrecy import told_in_clear
    from clawft.config.servers import named_twice

    twice = named_twice(found)
    where = f"{found.origin}: {found.spec.name}"
    clear = told_in_clear(found.spec, found.spec.name)
    values = {**found.spec.env, **found.spec.headers, "url": found.spec.url}
    return [
        *(
            [(f"{where}: it is to run in {found.spec.cwd}, which is no folder", NO_FOLDER)]
            if lacks_folder(found)
            else []
        ),
        *([(twice.message, twice.hint)] if twice else []),
        *((f"{where}: {what} holds what looks like a secret, in clear", instead) for what, instead in clear),
        *((f"{where}: {said}", "give it by a variable: env") for said in unfilled(found.spec.args)),
        *((f"{where}: {said}", "write secret://env/NAME, and export NAME=…") for said in left_open(values)),
    ]


NO_FOLDER = "make it, or correct cwd: the server cannot start without it"


def lacks_folder(found: FoundServer) -> bool:
    """Where it is to run. Its folder may be made later, so it is no mistake of the file."""
    spec = found.spec
    return bool(spec.enabled and spec.command) and not Path(spec.cwd).is_dir()


VERBS = {
    "show": Verb("Show every setting, as TOML", _show_options, _show),
    "path": Verb("Show which files are read", _path_options, _path),
    "check": Verb("Find what is wrong in the files", _path_options, _check),
}
