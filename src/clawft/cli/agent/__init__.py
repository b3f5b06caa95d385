"""`weft agent`: one task, run with all tools behind all guards, by whoever the rules or the user choose.

What it takes stands here.

| what | where |
|---|---|
| the task, and what is done with it | `run` |
| who would get it, and why | `explain` |
| it is done, by a job of the delegator | `work` |
| what a run looks like | `screen` |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options

TARGETS = ("auto", "local", "claude", "openai", "flow")
FORMATS = ("text", "json", "stream-json")
MODES = ("disabled", "mock", "live")


def _options(parser: Parser) -> None:
    parser.add_argument("-p", "--prompt", metavar="TEXT", help="the task; also read from stdin")
    parser.add_argument("-m", "--message", metavar="TEXT", help="the same as -p")
    parser.add_argument("--print", metavar="TEXT", nargs="?", const="", help="print plainly; TEXT is the task if given")
    parser.add_argument("--target", metavar="WHO", choices=TARGETS, default="auto", help=", ".join(TARGETS))
    parser.add_argument("--explain", action="store_true", help="show who would get the task, and why; run nothing")
    parser.add_argument("--scenario", metavar="FILE", help="a scripted model instead of a real one; needs no network")
    parser.add_argument("--execution", metavar="MODE", choices=MODES, help=f"how tools are called: {', '.join(MODES)}")
    parser.add_argument("--model", metavar="NAME", help="use this model instead of the configured one")
    parser.add_argument("--tools", metavar="GLOB", action="append", help="only these tools; may be repeated")
    parser.add_argument("--max-turns", metavar="N", type=int, help="at most N responses of the model")
    parser.add_argument("--resume", metavar="ID", nargs="?", const="last", help="continue an earlier task")
    parser.add_argument("--output-format", metavar="FORM", choices=FORMATS, default="text", help=", ".join(FORMATS))
    parser.add_argument("--json", action="store_true", help="the same as --output-format stream-json")
    parser.add_argument("--quiet", action="store_true", help="print the answer only")
    common_options(parser)


VERBS = {"": Verb("Run one task", _options, "clawft.cli.agent.run")}
