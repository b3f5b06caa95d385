"""Command lines: read as a shell would, and judged by named rules. No shell and no program is asked.

This stops accidents and the usual attacks in their many spellings. It is no sandbox: a program can hide what it does
from any reader of its command line.

| what | where |
|---|---|
| may this line run? | here, by the rules of `rules` |
| its words, as a shell splits them | `lexer`, with the `line_state`; what names and braces stand for: `expansion` |
| the commands of a line | `shell`, as `parsed_command`; variables they set: `assigning` |
| the program each of them runs in the end | `program`, behind wrappers and inner shells |
| programs that run what their arguments say | `runners` is the table; `embedded_scripts` finds the scripts by it |
| texts in other languages | `languages` brings them to commands; `code` for inline code |
| what a line prints, writes, downloads | `known_output`, `written`, `download` |
| a shell for another machine | `reverse_shell` |
| a word that names a file | `place` |
| what a command erases; what it leaves to run later | `erasing`; `persistence` |

To add a rule: a function and a row in `RULES` of `rules`. To add a program that runs others: a row in `runners`.
"""

from msgspec import Struct

from clawft.model import Deny, Verdict
from clawft.model.verdict import strictest

MAX_COMMAND = 65_536
"""Characters of a command line we are willing to read."""

TOO_LONG = "too-long"


class CommandPolicy(Struct, frozen=True):
    """`allow` switches rules off by name; `deny` adds globs over whole commands (`git push*`)."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


DEFAULT = CommandPolicy()


def decide(command: str, policy: CommandPolicy = DEFAULT) -> Verdict:
    """The strictest verdict over all rules and all programs of the line. Never raises."""
    return strictest(verdict for _, verdict in explain(command, policy))


def explain(command: str, policy: CommandPolicy = DEFAULT) -> list[tuple[str, Verdict]]:
    """The verdict of every rule, in order."""
    from clawft.policy.command.rules import judge  # many patterns to compile: only once there is a command to judge

    if len(command) > MAX_COMMAND:
        return [(TOO_LONG, Deny(TOO_LONG, f"the command is longer than {MAX_COMMAND} characters", "split it up"))]
    return judge(command, policy.allow, policy.deny)
