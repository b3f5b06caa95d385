"""Every code block in the documentation does what its page says. The convention stands in `pages.py`."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from clawft.cli.main import COMMANDS, parser_of, verbs_of
from clawft.config.load import judge
from clawft.store.document import parse
from tests.docs.pages import ROOT, Block, all_blocks
from tests.requirements import requirement

PATIENCE_S = 60
LANGUAGES = {"python", "sh", "json", "toml", "text", ""}

BLOCKS = all_blocks()


def having(language: str, *words: str) -> pytest.MarkDecorator:
    """One test for each block of a language; `words` narrows it down."""
    found = [block for block in BLOCKS if block.language == language and (not words or block.words in words)]
    return pytest.mark.parametrize("block", found, ids=lambda block: block.id)


@requirement("QUAL-14")
def test_blocks_keep_to_the_convention() -> None:
    words = {"", "run", "output", "-"}
    odd = [b.id for b in BLOCKS if b.language not in LANGUAGES or not (b.words in words or b.words.endswith(".py"))]
    assert odd == []


@requirement("QUAL-14")
@having("python")
def test_python_compiles(block: Block) -> None:
    compile(block.text, block.id, "exec")


@requirement("QUAL-14")
@having("json")
def test_json_is_valid(block: Block) -> None:
    json.loads(block.text)


@requirement("QUAL-14", "GUARD-14")
@having("toml")
def test_toml_is_configuration(block: Block) -> None:
    if block.words != "-":
        assert judge(parse(block.text.encode(), block.id))


@requirement("QUAL-14")
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.words.endswith(".py")], ids=lambda block: block.id)
def test_a_block_named_after_a_file_is_that_file(block: Block) -> None:
    assert block.text == (ROOT / block.words).read_text()


@requirement("QUAL-14")
@having("sh")
def test_weft_lines_are_commands_that_exist(block: Block) -> None:
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["weft"]:
            check_command(words[1:])


def check_command(words: list[str]) -> None:
    if words[:1] in (["--help"], ["--version"]):
        return
    assert words[0] in COMMANDS, words
    verbs = verbs_of(words[0])
    name, rest = ("", words[1:]) if "" in verbs else (words[1], words[2:])
    parser = parser_of(" ".join(words), verbs[name])
    known = parser.whole().known_options()
    if parser.takes_command and "--" in rest:  # behind it stands somebody else's command line
        rest = rest[: rest.index("--")]
    options = [word.partition("=")[0] for word in rest if word.startswith("--")]
    assert [option for option in options if option not in known] == []


# ── blocks that run ──────────────────────────────────────────────────────────────────────────────────────────────────


def run(block: Block, workspace: Path, home: Path) -> str:
    """What the block prints on stdout."""
    argv = [sys.executable, "-c", block.text] if block.language == "python" else ["bash", "-euc", block.text]
    ended = subprocess.run(
        argv,
        cwd=workspace,
        env={**os.environ, "PATH": path_with_weft(workspace.parent), "CLAWFT_HOME": str(home), "NO_COLOR": "1"},
        input="",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0, f"{block.id}: {ended.stderr}"
    return ended.stdout


def path_with_weft(folder: Path) -> str:
    """PATH with a `weft` that runs the sources under test."""
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    weft = commands / "weft"
    weft.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clawft "$@"\n')
    weft.chmod(0o755)
    return f"{commands}{os.pathsep}{os.environ['PATH']}"


def output_of(block: Block) -> str | None:
    """The `text output` right behind a block, if there is one."""
    after = BLOCKS[BLOCKS.index(block) + 1 :][:1]
    return after[0].text if after and after[0].page == block.page and after[0].words == "output" else None


@requirement("QUAL-14")
@pytest.mark.slow
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.words == "run"], ids=lambda block: block.id)
def test_a_block_marked_run_runs(block: Block, workspace: Path, home: Path) -> None:
    said = run(block, workspace, home)
    told = output_of(block)
    assert told is None or said == told
