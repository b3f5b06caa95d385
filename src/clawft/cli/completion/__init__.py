"""`weft completion`: the scripts of shells, and what Tab offers. What it takes stands here.

| what | where |
|---|---|
| a script, or what one asks for | `answer` |
| the scripts, made from the commands there are | `scripts` |
| what Tab offers in place of a word | `words` |
| what has a name; keys and values of a schema | `offer`, `arguments` |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb

SHELLS = ("bash", "zsh", "fish")


def _options(parser: Parser) -> None:
    parser.usage = "weft completion SHELL\n       weft completion -- WORD …   (what its script asks for at each Tab)"
    parser.takes_command = True
    parser.add_argument("shell", metavar="SHELL", nargs="?", choices=SHELLS, help="bash, zsh or fish")


VERBS = {"": Verb("Print the completion script of a shell", _options, "clawft.cli.completion.answer")}
