"""`weft servers import`: what other programs know already, shown first, then written as files of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from clawft.cli.parser import Options
from clawft.cli.screen import counted, one_line, paint, print_table, tell
from clawft.cli.screen.document import print_json
from clawft.cli.servers.files import write
from clawft.config.imports import Candidate, find
from clawft.config.other_programs import PROGRAMS, WORKSPACE, UserFolders
from clawft.config.places import home_folder, servers_folder
from clawft.config.servers import launch_line
from clawft.store.private_files import private_dir, write_private
from clawft.upstream.spec import UpstreamSpec


def run(options: Options) -> int:
    found = list(planned(candidates(options), home_folder(), force=options.force))
    rows = [_written(action, each, options) for action, each in found]
    if options.json:
        print_json({"dry_run": options.dry_run, "servers": rows})
    elif not rows:
        tell("nothing found; `weft servers add NAME -- COMMAND…` adds a server by hand")
    else:
        print_table(("NAME", "FROM", "ACTION", "WHAT"), [[row[key] for key in _SHOWN] for row in rows])
        _print_notes(rows, options)
    if not options.json and not options.programs:
        _tell_of_workspace(options)
    return 0


def _tell_of_workspace(options: Options) -> None:
    """Files of this folder are taken over only on request, as others may write them."""
    named = planned(find(PROGRAMS[WORKSPACE], _around(options)), home_folder(), force=False)
    if here := sum(action == "new" for action, _ in named):
        tell(f"files of this workspace name {counted(here, 'server')}, too: weft servers import --from {WORKSPACE}")


def _around(options: Options) -> UserFolders:
    return UserFolders.here(Path(options.workspace).resolve())


_SHOWN = ("name", "from", "action", "what")


def candidates(options: Options) -> Iterator[Candidate]:
    around = _around(options)
    for name, program in PROGRAMS.items():
        if name in (options.programs or [each for each in PROGRAMS if each != WORKSPACE]):
            yield from find(program, around)


def planned(found: Iterator[Candidate], home: Path, *, force: bool) -> Iterator[tuple[str, Candidate]]:
    """The step for each candidate: `new`, `replace`, `exists`, `double` or `refused`."""
    taken: set[str] = set()
    for each in found:
        if each.spec is None:
            yield "refused", each
        elif each.name in taken:
            yield "double", each
        elif (servers_folder(home) / f"{each.name}.toml").exists():
            taken.add(each.name)
            yield "replace" if force else "exists", each
        else:
            taken.add(each.name)
            yield "new", each


def _written(action: str, each: Candidate, options: Options) -> dict[str, Any]:
    """Write it, unless it is only looked at; the row that tells."""
    notes = list(each.notes) if action in ("new", "replace") else []
    if action in ("new", "replace") and each.spec is not None and not options.dry_run:
        spec = each.spec
        if options.keep_secrets and each.secrets:
            spec = _with_kept(spec, each)
            notes = [note for note in notes if "--keep-secrets" not in note]
        write(home_folder(), _trusted(spec) if options.trust else spec, force=True)
    return {
        "name": one_line(each.name),
        "from": each.source,
        "action": action,
        "what": one_line(each.refused or _what(each.spec)),
        "file": each.file,
        "notes": notes,
    }


def _what(spec: UpstreamSpec | None) -> str:
    return "" if spec is None else launch_line(spec)


def _trusted(spec: UpstreamSpec) -> UpstreamSpec:
    return msgspec.structs.replace(spec, trust="trusted")


def _with_kept(spec: UpstreamSpec, each: Candidate) -> UpstreamSpec:
    """Each secret into a file for the user alone, and a reference to it where it stood."""
    folder = private_dir(home_folder() / "secrets")
    kept: dict[str, str] = {}
    for reference, secret in each.secrets.items():
        path = folder / f"{spec.name}.{reference.rpartition('/')[2]}"
        write_private(path, secret.encode())
        kept[reference] = f"secret://file{path}"

    def changed(value: str) -> str:
        for reference, file in kept.items():
            value = file if value == reference else value.replace(f"${{{reference}}}", f"${{{file}}}")
        return value

    def all_changed(values: dict[str, str]) -> dict[str, str]:
        return {name: changed(value) for name, value in values.items()}

    env, headers = all_changed(spec.env), all_changed(spec.headers)
    return msgspec.structs.replace(spec, env=env, headers=headers, url=changed(spec.url))


def _print_notes(rows: Sequence[dict[str, Any]], options: Options) -> None:
    for row in rows:
        for note in row["notes"]:
            tell(f"{paint(row['name'], 'bold')}: {one_line(note)}")
    count = sum(row["action"] in ("new", "replace") for row in rows)
    if options.dry_run:
        tell(f"{count} would be written to {servers_folder(home_folder())}")
    elif not count and any(row["action"] == "exists" for row in rows):
        tell("nothing new: existing servers are kept; weft servers import --force replaces them")
    elif not count:
        tell("nothing was written")
    else:
        tell(f"{count} written to {servers_folder(home_folder())}; next: weft servers status")
