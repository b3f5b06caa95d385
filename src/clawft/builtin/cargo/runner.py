"""cargo as a runner of declared tasks: `target` is the subcommand, `args` pass the same checks as in a call."""

from collections.abc import Sequence

from msgspec import Struct

from clawft.builtin.build.run import OutputParser
from clawft.builtin.build.runner import TellProgress
from clawft.builtin.cargo.arguments import MANIFEST_PATH, argv_of, invalid
from clawft.builtin.cargo.family import Cargo, Subcommand
from clawft.builtin.cargo.parser import CargoParser

SUBCOMMANDS: dict[str, Subcommand] = {"build": "build", "test": "test", "clippy": "clippy", "check": "check"}
"""Tasks cannot publish: that takes a call of its own."""


class CargoRunner(Struct, frozen=True):
    programs: tuple[str, ...] = ("cargo",)
    report: str = ""

    def argv(self, target: str, args: Sequence[str], report: str) -> list[str]:
        subcommand = SUBCOMMANDS.get(target)
        if subcommand is None:
            raise invalid(f"target of a cargo task cannot be {target!r}", f"one of: {', '.join(SUBCOMMANDS)}")
        argv = argv_of(Cargo(subcommand, extra_args=args))
        if MANIFEST_PATH in argv:
            raise invalid(f"{MANIFEST_PATH} in a task", "use working_dir")
        return argv

    def parser(self, tell: TellProgress) -> OutputParser:
        return CargoParser(tell)


CARGO = CargoRunner()
