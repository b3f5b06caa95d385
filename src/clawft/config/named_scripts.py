"""Finds files that a launch names other than by path: modules, packages to run, code in a word, variables.

Gives the places where they would lie by the words alone; others check whether they are there. Pure.

| launch | what is run |
|---|---|
| `python -m server` | `server.py`, or `server/__main__.py` and its packages, below its folder or `PYTHONPATH` |
| `python folder`, `node folder` | what such a folder begins with |
| `python -c "import server"`, `sh -c "./run"`, `env -S "./run"` | modules and files that the code names |
| `npx server`, `uv run server` | what the project has installed under this name, and where it says to get it |
| `NODE_OPTIONS=--require=./hook.js`, `LD_PRELOAD` | files that the values of variables name |
| `uv --directory server run main.py`, `npm --prefix server start`, `sh -c "cd server && ./run"` | all that, in there |
| `make --file other`, `deno run --config other` | what such an option names |
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

MAX_ENTERED = 8
"""Further folders that are searched."""
MAX_WORDS = 200
"""Words of one value or one piece of code that are examined."""

Candidate = tuple[str, str]
"""The words that name a file, and its path."""

_NPX = (".npmrc", "node_modules/.bin/{}")
_NPM = (*_NPX, "package.json")
_UV = ("uv.toml", "pyproject.toml", ".venv/bin/{}")
RUNNERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("npx", "pnpx"), _NPX),
    **dict.fromkeys(("npm", "pnpm"), _NPM),
    "yarn": (*_NPM, ".yarnrc", ".yarnrc.yml"),
    **dict.fromkeys(("bun", "bunx"), (*_NPM, "bunfig.toml")),
    **dict.fromkeys(("uv", "uvx"), _UV),
    **dict.fromkeys(("poetry", "pdm", "hatch", "pipx"), ("pyproject.toml", ".venv/bin/{}")),
    "deno": ("deno.json", "deno.jsonc", "package.json"),
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile"),
}
_ENTERS = frozenset("--directory --project --prefix --cwd --dir --chdir --from --spec --package -C -p".split())
"""Options that name the folder a program is found in, for commands that run it by its name."""
_READS = frozenset("--file --makefile --justfile --config --config-file --manifest-path -f".split())
"""Options that name a file which says what is run, for such commands."""
_CODE = ("-c", "-e", "--eval", "-p", "--print", "--command", "-S", "--split-string")
_BEGINNINGS = ("__main__.py", "package.json", "index.js", "index.mjs", "index.cjs", "index.ts")
_UNASKED = ("sitecustomize", "usercustomize")
"""Modules that Python runs at every start."""
_IMPORTED = re.compile(r"\b(?:import|from)\s+([A-Za-z_][\w.]*)")
_ENTERED = re.compile(r"\bcd\s+([^\s;&|'\"]+)")
_WORDS = re.compile(r"[^\s'\"()\[\]{}<>|&;,=:]+")
_VALUES = re.compile(r"[^\s'\",;=]+")


def by_module(args: Sequence[str], cwd: str, env: Mapping[str, str]) -> Iterator[Candidate]:
    """Files of `-m NAME`, and of what Python code imports."""
    places = [cwd, *(os.path.join(cwd, folder) for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder)]
    for module, name in _modules(args):
        for place in places:
            yield from _module(module, name, place, cwd)
    for place in places[1:]:
        yield from (pair for name in _UNASKED for pair in _module(f"PYTHONPATH {name}", name, place, cwd))


def _modules(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    for before, word in zip(("", *args), args, strict=False):
        if before == "-m":
            yield f"-m {word}", word
        elif word.startswith("-m") and len(word) > len("-m") and not word.startswith("--"):
            yield word, word.removeprefix("-m")
        elif before == "-c":
            yield from ((f"import {name}", name) for name in _IMPORTED.findall(word)[:MAX_WORDS])


def _module(told: str, name: str, place: str, cwd: str) -> Iterator[Candidate]:
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return
    whole = os.path.join(place, *parts)
    packages = [os.path.join(place, *parts[: count + 1], "__init__.py") for count in range(len(parts))]
    for path in (f"{whole}.py", os.path.join(whole, "__main__.py"), *packages):
        yield f"{told}: {os.path.relpath(path, cwd)}", path


def by_folder(args: Sequence[str], cwd: str) -> Iterator[Candidate]:
    """Files an interpreter runs in a folder it is given, by their usual names."""
    first = next((word for word in args if not word.startswith("-")), "")
    for name in _BEGINNINGS if first else ():
        yield f"{first}: {name}", os.path.join(cwd, first, name)


def folders_entered(args: Sequence[str], cwd: str) -> list[str]:
    """Further folders to search, by an option or the code in a word."""
    code = (word for before, word in zip(("", *args), args, strict=False) if before in _CODE)
    folders = [*_values_of(_ENTERS, args), *(folder for word in code for folder in _ENTERED.findall(word))]
    places = dict.fromkeys(os.path.normpath(os.path.join(cwd, folder)) for folder in folders[:MAX_ENTERED])
    return [place for place in places if place != os.path.normpath(cwd)]


def _values_of(options: Collection[str], args: Sequence[str]) -> Iterator[str]:
    for before, word in zip(("", *args), args, strict=False):
        option, is_whole, value = word.partition("=")
        if before in options or (is_whole and option in options):
            yield word if before in options else value


def by_code(args: Sequence[str], cwd: str) -> Iterator[Candidate]:
    """Files named in a word that is code."""
    for before, word in zip(("", *args), args, strict=False):
        if before in _CODE:
            yield from ((each, os.path.join(cwd, each)) for each in _WORDS.findall(word)[:MAX_WORDS])


def by_runner(program: str, args: Sequence[str], cwd: str) -> Iterator[Candidate]:
    """Files in the project that a runner such as `npx` would find by name."""
    names = [word for word in args[:MAX_WORDS] if not word.startswith("-") and os.sep not in word]
    for pattern in RUNNERS.get(os.path.splitext(program)[0], ()):
        for name in names if "{}" in pattern else ("",):
            relative = pattern.format(name.partition("@")[0])
            yield relative, os.path.join(cwd, relative)
    if program in RUNNERS:
        yield from ((name, os.path.join(cwd, name)) for name in _values_of(_READS, args))


def by_variables(env: Mapping[str, str], cwd: str) -> Iterator[Candidate]:
    """Paths in the values of variables: alone, in a list, or behind an option."""
    for name, value in env.items():
        for word in _VALUES.findall(value)[:MAX_WORDS]:
            for path in dict.fromkeys((word, *word.split(os.pathsep), word.rpartition(":")[2])):
                yield f"{name}: {path}", os.path.join(cwd, path)
