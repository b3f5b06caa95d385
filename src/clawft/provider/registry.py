"""Loads providers of other packages by entry points of the group `clawft.providers`.

We read the few text files ourselves: importing importlib.metadata takes longer than our whole start. Entry points that
only a custom finder knows (zipped eggs) are not found. An entry point is a Provider, or is called with the workspace to
make one.
"""

import os
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from clawft.provider.base import Provider

GROUP = "clawft.providers"
MAX_ENTRY_FILE_BYTES = 1_000_000

_HEADER = f"[{GROUP}]".encode()
_METADATA = (".dist-info", ".egg-info")


class EntryPoint(Struct, frozen=True):
    name: str
    target: str
    """As `package.module:attribute`."""
    package: str = ""


class BrokenEntryPoint(Struct, frozen=True):
    """An entry point that could not be loaded, and why."""

    name: str
    reason: str


class FoundProviders(Struct, frozen=True):
    providers: tuple[Provider, ...] = ()
    entries: tuple[EntryPoint, ...] = ()
    """The entry point of each provider."""
    broken: tuple[BrokenEntryPoint, ...] = ()


def outside_providers(workspace: Path, paths: Sequence[str] | None = None) -> FoundProviders:
    """Load every entry point. One that does not work is reported and never stops the others."""
    providers: list[Provider] = []
    entries: list[EntryPoint] = []
    broken: list[BrokenEntryPoint] = []
    for entry in entry_points(sys.path if paths is None else paths):
        try:
            with _printing_to_stderr():
                providers.append(_load(entry, workspace))
            entries.append(entry)
        except (Exception, SystemExit) as failure:  # noqa: BLE001 - foreign code may raise anything
            broken.append(BrokenEntryPoint(entry.name, f"{entry.target}: {type(failure).__name__}: {failure}"))
    return FoundProviders(tuple(providers), tuple(entries), tuple(broken))


@contextmanager
def _printing_to_stderr() -> Generator[None]:
    """Send to stderr what packages print while they are loaded, as stdout carries protocol messages or listings."""
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(ours, 1)
        os.close(ours)


def entry_points(paths: Iterable[str]) -> list[EntryPoint]:
    """Entry points of our group, in the order of `paths`; a package found twice counts once."""
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for folder in _metadata_folders(paths):
        package = os.path.basename(folder).split("-", 1)[0].rsplit(".", 1)[0].lower()
        text = _entry_text(folder)
        if text and package not in seen:
            seen.add(package)
            found.extend(parse_entry_points(text, package))
    return found


def parse_entry_points(text: str, package: str = "") -> Iterator[EntryPoint]:
    """The lines of our group in an `entry_points.txt`."""
    ours = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            ours = line == f"[{GROUP}]"
        elif ours and "=" in line and line[0] not in "#;":
            name, target = (side.strip() for side in line.split("=", 1))
            yield EntryPoint(name, target.partition("[")[0].strip(), package)


def _metadata_folders(paths: Iterable[str]) -> Iterator[str]:
    for path in dict.fromkeys(paths):
        try:
            names = sorted(name for name in os.listdir(path or ".") if name.endswith(_METADATA))
        except OSError:
            continue  # a path entry that is a zip file, or is missing
        yield from (os.path.join(path, name) for name in names)


def _entry_text(folder: str) -> str:
    try:
        with open(os.path.join(folder, "entry_points.txt"), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size  # or Python takes room for the longest, for each of a hundred
            content = file.read(min(size, MAX_ENTRY_FILE_BYTES))
    except OSError:
        return ""
    return content.decode("utf-8", "replace") if _HEADER in content else ""


def _load(entry: EntryPoint, workspace: Path) -> Provider:
    made = _attribute(entry.target)
    if isinstance(made, type) or (callable(made) and not isinstance(made, Provider)):
        made = cast("Any", made)(workspace)
    if isinstance(made, Provider) and made.namespace and isinstance(cast("Any", made.namespace), str):
        return made
    raise TypeError(f"gives a {type(made).__name__}, which is not a Provider (namespace, list_tools, call_tool)")


def _attribute(target: str) -> object:
    module, _, path = target.partition(":")
    found: object = import_module(module)
    for name in filter(None, path.split(".")):
        found = getattr(found, name)
    return found
