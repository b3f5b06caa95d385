"""Nothing in the documentation points at something that is not there."""

import ast
import re
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from clawft.app import App
from clawft.config.settings import Settings
from tests.docs.pages import ROOT, anchors, inline_code, links, pages, prose, rows
from tests.gateway.support import pipe, texts
from tests.requirements import requirement

PACKAGE = ROOT / "src" / "clawft"
ARCHITECTURE = ROOT / "docs" / "reference" / "architecture.md"

_DOTTED = re.compile(r"clawft(\.\w+)+")
_MEMBER = re.compile(r"([A-Z]\w+)\.(\w+)(?:\(.*\))?")
_FILE = re.compile(r"(\w+/)*\w+\.(py|toml|md)")

every_page = pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))


def resolve(dotted: str) -> Any:
    """A module, or something in one. Raises AttributeError or ModuleNotFoundError."""
    parts = dotted.split(".")
    length = next(n for n in range(len(parts), 0, -1) if _is_module(".".join(parts[:n])))
    found: Any = import_module(".".join(parts[:length]))
    for name in parts[length:]:
        found = getattr(found, name)
    return found


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def exists(page: Path, file: str) -> bool:
    """Paths are written from the repository, from the package, or from the page; a bare name is enough for a module."""
    near = any((folder / file).exists() for folder in (ROOT, PACKAGE, page.parent))
    return near or ("/" not in file and any(PACKAGE.rglob(file)))


@requirement("QUAL-14")
@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        target, _, anchor = link.partition("#")
        if target.startswith(("https://", "mailto:")):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), link
        assert not anchor or anchor in anchors(file), link


@requirement("QUAL-14")
@every_page
def test_names_in_the_text_exist(page: Path) -> None:
    for code in inline_code(prose(page)):
        if _DOTTED.fullmatch(code) and code != "clawft.providers":  # a group of entry points, not a module
            resolve(code)


@requirement("QUAL-14")
@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.name)
def test_files_in_the_text_exist(page: Path) -> None:
    files = {code for code in inline_code(prose(page)) if _FILE.fullmatch(code)}
    of_the_reader = {file for file in files if file.endswith("config.toml")}
    assert [file for file in sorted(files - of_the_reader) if not exists(page, file)] == []


@cache
def members_of_classes() -> dict[str, set[str]]:
    """By the name of a class; of several that share one, all that any of them has."""
    found: dict[str, set[str]] = {}
    for source in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_members(node))
    return found


def _members(of: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(of):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.AnnAssign(target=ast.Attribute(attr=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (each.attr for each in targets if isinstance(each, ast.Attribute))
                yield from (each.id for each in targets if isinstance(each, ast.Name))
            case _:
                pass


@requirement("QUAL-14")
@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/**/*.md")), ids=lambda page: page.name)
def test_members_of_our_classes_in_the_text_exist(page: Path) -> None:
    named = (_MEMBER.fullmatch(code) for code in inline_code(prose(page)))
    ours = [(found[1], found[2]) for found in named if found and found[1] in members_of_classes()]
    assert [each for each in ours if each[1] not in members_of_classes()[each[0]]] == []


@requirement("QUAL-14")
@pytest.mark.parametrize("package", sorted(PACKAGE.rglob("__init__.py"))[1:], ids=lambda file: file.parent.name)
def test_a_package_says_which_file_does_what(package: Path) -> None:
    told = " ".join(inline_code(ast.get_docstring(ast.parse(package.read_text())) or ""))
    modules = {file.stem for file in package.parent.glob("*.py")} - {"__init__"}
    folders = {inner.parent.name for inner in package.parent.glob("*/__init__.py")}
    assert {name for name in modules | folders if not re.search(rf"\b{name}\b", told)} == set()


_STEP = re.compile(r"\d+b?")


def steps_of_the_walk() -> list[tuple[str, list[str]]]:
    """The file of each step, and the functions there."""
    walk = [row for row in rows(ARCHITECTURE.read_text()) if len(row) == 4 and _STEP.fullmatch(row[0])]
    return [(file.strip("`"), list(inline_code(names))) for _, file, names, _ in walk]


@requirement("QUAL-14")
def test_the_walk_of_a_call_names_real_functions() -> None:
    steps = steps_of_the_walk()
    assert len(steps) >= 10
    for file, names in steps:
        module = "clawft." + file.removesuffix(".py").replace("/", ".")
        for name in names:
            resolve(f"{module}.{name}")


@requirement("QUAL-14")
async def test_the_walk_of_a_call_is_the_way_a_call_takes(home: Path, workspace: Path) -> None:
    """Of `file__read` over a pipe, down to the tool itself."""
    (workspace / "a.txt").write_text("hello")
    app = App(Settings(home=home, workspace=workspace), outside=False)
    async with pipe(app.gateway, app.caller) as client:
        await client.initialize()
        with functions_called() as called:
            assert texts(await client.call("file__read", path="a.txt")) == ["hello"]
    await app.close()
    walk = steps_of_the_walk()
    told = walk[1 : walk.index(("builtin/file.py", ["read"])) + 1]  # the first step is the pipe, which this has not
    assert [file for file, _ in told if file not in {there for there, _ in called}] == []
    taken = [called.index((file, names[0])) for file, names in told if (file, names[0]) in called]
    assert taken == sorted(taken)
    assert len(taken) >= len(told) - 3  # some name a class or a table


@contextmanager
def functions_called() -> Generator[list[tuple[str, str]]]:
    """File and name of each function of ours, in the order of their first calls."""
    called: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            called.setdefault((str(file.relative_to(PACKAGE)), frame.f_code.co_qualname))

    found: list[tuple[str, str]] = []
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        found += called
