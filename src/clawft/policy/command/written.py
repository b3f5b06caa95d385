"""The files that a program writes by itself, as its arguments name them; where the shell writes is in `Command.writes`.

To add a program: a row in the table that fits.
"""

from clawft.policy.command.embedded_scripts import option_values
from clawft.policy.command.parsed_command import Command

OUTPUT_OPTIONS: dict[str, str] = {
    "curl": "-o --output",
    "wget": "-O --output-document",
    "aria2c": "-o --out",
    "sort": "-o --output",
    "find": "-fprint -fprint0 -fprintf -fls",
    "gpg": "-o --output",
    "openssl": "-out",
}
"""Options whose value is a file that is written."""
EVERY_OPERAND = frozenset("tee truncate shred badblocks".split())
LAST_OPERAND = frozenset("cp mv ln install rsync scp gcp gmv".split())


def written(command: Command) -> list[str]:
    """The files a command writes, redirections included."""
    name, operands = command.name, command.operands()
    files = [*command.writes, *option_values(command.words, OUTPUT_OPTIONS.get(name, ""))]
    if name in EVERY_OPERAND or (name in ("sed", "gsed", "perl") and command.has_flag("i", "--in-place")):
        files += operands
    elif name in LAST_OPERAND:
        files += _last(command, operands)
    elif name == "wget":
        files += [f"{folder}/x" for folder in option_values(command.words, "-P --directory-prefix")]
    elif name == "dd":
        files += [word.removeprefix("of=") for word in command.arguments if word.startswith("of=")]
    return files


def _last(command: Command, operands: list[str]) -> list[str]:
    """The targets of a copy or move, and the names it may give the other operands inside of them."""
    targets = [*option_values(command.words, "-t --target-directory"), *operands[-1:]]
    names = [operand.rstrip("/").rpartition("/")[2] for operand in operands[:-1]]
    return [
        *targets,
        *(f"{target}/{name}" for target in targets if target.endswith(("/", "~", ".ssh")) for name in names),
    ]
