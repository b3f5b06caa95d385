"""What a verb takes is told without loading what it does; what it does is there, and is a function of its options."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from clawft.cli.main import COMMANDS, verbs_of
from clawft.cli.parser import Options
from tests.requirements import requirement

WORKS = {f"{command} {verb}".strip(): each.work for command in COMMANDS for verb, each in verbs_of(command).items()}
HEAVY = {"argparse", "asyncio", "logging", "msgspec", "clawft.app", "clawft.cli.setup", "clawft.cli.screen"}

LOAD_ALL = """
import sys
from clawft.cli.main import COMMANDS, parser_of, verbs_of
for command in COMMANDS:
    for verb in verbs_of(command).values():
        parser_of(command, verb)
print(*sys.modules)
"""


@requirement("AGENT-14")
@pytest.mark.parametrize("module", WORKS.values(), ids=WORKS)
def test_what_a_verb_does_is_a_function_from_options_to_an_exit_code(module: str) -> None:
    work = inspect.signature(import_module(module).run, eval_str=True)
    assert [each.annotation for each in work.parameters.values()] == [Options]
    assert work.return_annotation is int


@requirement("QUAL-16")
def test_no_verb_loads_what_it_does_before_it_runs() -> None:
    told = subprocess.run([sys.executable, "-c", LOAD_ALL], capture_output=True, text=True, timeout=60, check=True)
    assert not HEAVY.union(WORKS.values()).intersection(told.stdout.split())
