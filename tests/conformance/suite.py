"""The official suite as we see it: the command, what each revision requires, and the checks a run leaves behind."""

import asyncio
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from tests import peers

RUN_S = 600.0
"""A whole requirement set; it takes about a minute."""
PEERS_VARIABLE = "CLAWFT_PEERS"
"""A folder with node_modules to use in place of tests/peers."""

Side = Literal["server", "client"]
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$")


class Requirement(Struct, frozen=True):
    """One scenario of a requirement set; `unscored` says why it does not count, empty if it does."""

    scenario: str
    side: str
    unscored: str = ""


class Check(Struct, frozen=True, rename="camel"):
    """One check of one scenario, as far as we look at it."""

    id: str
    status: str
    error_message: str = ""


Results = Mapping[str, list[Check]]
_checks = msgspec.json.Decoder(list[Check])


def command() -> list[str]:
    """The argv that starts the suite."""
    folder = os.environ.get(PEERS_VARIABLE)
    if not folder:
        return peers.bin("conformance")
    bins = Path(folder) / "node_modules" / ".bin"
    return [str(bins / "node"), str(bins / "conformance")]


def requirements(revision: str) -> list[Requirement]:
    """What the installed suite requires for a revision."""
    package = Path(command()[-1]).resolve().parent.parent
    return parse_requirements((package / "requirements" / f"{revision}.yaml").read_text())


def parse_requirements(text: str) -> list[Requirement]:
    """Read the suite's own list. It is YAML of one fixed form, which does not call for a YAML library."""
    found: list[Requirement] = []
    section = ""
    for line in text.splitlines():
        key, _, value = line.strip().removeprefix("- ").partition(": ")
        if line.endswith(":") and not line.startswith(" "):
            section = line[:-1]
        elif line.startswith("  - "):
            found.append(Requirement(value or key, section, "unscored" if value else ""))
        elif section == "not_scored" and key in ("leg", "reason"):
            changed = {"side": value} if key == "leg" else {"unscored": value}
            found[-1] = msgspec.structs.replace(found[-1], **changed)
    return found


def read_results(folder: Path, side: Side) -> Results:
    """The checks of each scenario that came to an end. One that crashed leaves a folder without checks."""
    prefix = "server-" if side == "server" else ""
    return {
        _STAMP.sub("", str(file.parent.relative_to(folder))).removeprefix(prefix): _checks.decode(file.read_bytes())
        for file in sorted(folder.glob("**/checks.json"))
    }


def failed(checks: Iterable[Check]) -> list[Check]:
    return [check for check in checks if check.status == "FAILURE"]


def warned(checks: Iterable[Check]) -> list[Check]:
    return [check for check in checks if check.status == "WARNING"]


async def run(side: Side, options: Iterable[str], folder: Path) -> Results:
    """Run the suite once; its checks go to `folder`, its words to `folder`/suite.log."""
    argv = [*command(), side, *options, "--output-dir", str(folder)]
    with (folder / "suite.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(*argv, stdout=log, stderr=asyncio.subprocess.STDOUT)
        try:
            await asyncio.wait_for(process.wait(), RUN_S)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return read_results(folder, side)
