"""`weft policy`: what would become of a call (`explain`). What its verb takes stands here."""

from __future__ import annotations

from clawft.cli.parser import Parser, Verb, argument_options, common_options, json_option


def _options(parser: Parser) -> None:
    argument_options(parser)
    json_option(parser)
    common_options(parser)


ABOUT = "Explain the verdict on a call, rule by rule; nothing is run, but host names are resolved"

VERBS = {"explain": Verb(ABOUT, _options, "clawft.cli.policy.explain")}
