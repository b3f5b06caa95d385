"""How the house is built, checked on the source itself."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.requirements import requirement

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST_FILE = 500
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
STARTS = {"create_task", "ensure_future"}
GREEDY_GROUP = re.compile(r"[)}][*+?]\+")
FAILS_AT_ONCE = {
    "auth/web.py",
    "config/jsonc.py",
    "store/document.py",
    "wire/codes.py",
    "wire/jsonrpc/salvage.py",
    "wire/readable.py",
    "wire/unseen.py",
    "wire/visible.py",
}
"""Where a group that is repeated so has taken nothing when it fails, or what looks like one is none."""
LEANS_ON_ANOTHER = re.compile(
    r'^\s*"""(?:The same\b|Likewise\b)|#(?:.*[#-])? *(?:as above|see above|(?:the )?same)\.?$', re.MULTILINE
)

RIDDLE = re.compile(
    r"(?:What|Who|Whom|Whose|It|They|Them|Those|These|Its|Their|We|That)\b|(?:Is|Are|Does|Do|May|Can|Has)\b.*\?"
)
READ_BY_AGENTS = {"builtin/oauth2.py:TokenSummary", "delegate/tool.py:DelegationResult"}
"""They are part of the schema of a tool, which stays as it is."""
VALUES = (ast.Assign, ast.AnnAssign)
HOLDERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.If)


@cache
def trees() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text()) for file in SOURCES}


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    for file, tree in trees().items():
        for node in ast.walk(tree):
            yield file, node


def at(file: Path, node: ast.AST) -> str:
    return f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


def name_called(node: ast.AST) -> str:
    """Nothing for a method of a group of tasks, which waits for all it started."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="group"))):
            return ""
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name
        case _:
            return ""


@requirement("QUAL-10")
def test_files_stay_small() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in SOURCES}
    assert {name: length for name, length in lengths.items() if length >= LONGEST_FILE} == {}


@requirement("QUAL-09")
@pytest.mark.slow
def test_no_failure_is_caught_by_accident() -> None:
    bare = [at(file, node) for file, node in nodes() if isinstance(node, ast.ExceptHandler) and node.type is None]
    assert bare == []


@requirement("QUAL-09")
@pytest.mark.slow
def test_no_assertion_steers_the_program() -> None:
    """`python -O` leaves them out."""
    assert [at(file, node) for file, node in nodes() if isinstance(node, ast.Assert)] == []


@requirement("QUAL-06")
def test_every_docstring_and_comment_can_be_read_alone() -> None:
    """Whoever opens a file in its middle has not read what stands above."""
    sources = {str(file.relative_to(ROOT / "src" / "clawft")): file.read_text() for file in SOURCES}
    assert {name for name, text in sources.items() if LEANS_ON_ANOTHER.search(text)} == set()


def docstrings() -> Iterator[tuple[str, str]]:
    """Where each stands, and its first paragraph: those of modules, classes and functions, and those below a value."""
    for file, node in nodes():
        body = node.body if isinstance(node, HOLDERS) else []
        for before, each in zip([None, *body], body, strict=False):
            match each:
                case ast.Expr(value=ast.Constant(value=str(text))) if before is None or isinstance(before, VALUES):
                    name = getattr(node, "name", "") if before is None else ""
                    yield (
                        f"{file.relative_to(ROOT / 'src' / 'clawft')}:{name or each.lineno}",
                        text.split("\n\n")[0].strip(),
                    )
                case _:
                    pass


@requirement("QUAL-06")
@pytest.mark.slow
def test_every_docstring_is_a_plain_statement() -> None:
    """None asks, and none begins with a word that stands for what only its author had in mind."""
    riddles = {place for place, text in docstrings() if text.endswith("?") or RIDDLE.match(text)}
    assert riddles == READ_BY_AGENTS


@requirement("QUAL-09")
def test_no_pattern_is_read_in_two_ways() -> None:
    """Python before 3.11.5, as Debian 12 has it, loses its place behind `(…)*+` with a group that half fits."""
    sources = {str(file.relative_to(ROOT / "src" / "clawft")): file.read_text() for file in SOURCES}
    assert {name for name, text in sources.items() if GREEDY_GROUP.search(text)} == FAILS_AT_ONCE


@requirement("QUAL-09")
@pytest.mark.slow
def test_no_task_is_started_and_forgotten() -> None:
    """A task nobody holds can vanish, and what it raised with it."""
    dropped = [
        at(file, node) for file, node in nodes() if isinstance(node, ast.Expr) and name_called(node.value) in STARTS
    ]
    assert dropped == []


def late_imports(function: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    """Those of this function itself, not of functions within it."""
    found: list[ast.Import | ast.ImportFrom] = []
    for child in ast.iter_child_nodes(function):
        if isinstance(child, ast.Import | ast.ImportFrom):
            found.append(child)
        elif not isinstance(child, FUNCTIONS):
            found += late_imports(child)
    return found


def imported_for_types(tree: ast.Module) -> tuple[int, set[str | None]]:
    """The line of `if TYPE_CHECKING:` (0 if there is none), and the modules imported below it."""
    for block in tree.body:
        if isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING":
            return block.lineno, {each.module for each in block.body if isinstance(each, ast.ImportFrom)}
    return 0, set()


@requirement("QUAL-16")
@pytest.mark.slow
def test_every_import_inside_a_function_says_why() -> None:
    """Beside it or in the line above, or where the same module is imported for its types."""
    bare: list[str] = []
    for file, tree in trees().items():
        lines = ["", *file.read_text().splitlines()]
        at_types, for_types = imported_for_types(tree)
        known = for_types if "#" in lines[at_types] else set[str | None]()
        for function in ast.walk(tree):
            late = late_imports(function) if isinstance(function, FUNCTIONS) else []
            said = any("#" in lines[each.lineno] + lines[each.lineno - 1] for each in late)
            if not said and any(not isinstance(each, ast.ImportFrom) or each.module not in known for each in late):
                bare.append(at(file, late[0]))
    assert bare == []


@requirement("QUAL-11")
@pytest.mark.slow
def test_imports_go_down_only() -> None:
    pytest.importorskip("importlinter", reason="import-linter comes with `make check`: layers are NOT tested")
    linter = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()", "--no-logo"]
    done = subprocess.run(linter, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout
