"""`weft doctor`: what is in order, what is not, and what to do about it. What it takes stands here.

| what | where |
|---|---|
| everything, from the ground up | `examine` |
| this machine: programs, folders, files | `checks` |
| what needs an app to be looked at | `app_checks`; `server_checks` where there are servers |
| the wefts that serve here | `running_checks` |
| what servers tell the model | `scan` |
"""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, common_options, json_option


def _options(parser: Parser) -> None:
    parser.add_argument("--scan", action="store_true", help="start all servers and scan the text they send to models")
    json_option(parser)
    common_options(parser)


VERBS = {"": Verb("Check the installation, the configuration and the tools", _options, "clawft.cli.doctor.examine")}
