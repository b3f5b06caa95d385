"""The parts of the reference that are made from the code: `python -m tests.docs.generate` writes them anew.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`; the words around it are written by hand.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from clawft import errors
from clawft.cli.examples import EXAMPLES
from clawft.cli.main import COMMANDS, parser_of, verbs_of
from clawft.cli.parser import Parser, Verb, common_options
from clawft.config.keys import KEYS, ConfigKey
from clawft.errors import ClawftError
from clawft.policy.command.rules import RULES as COMMAND_RULES
from clawft.policy.url_rules import RULES as URL_RULES
from tests.docs.pages import GENERATED, pages


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    return "".join(map(_row, [head, ["---"] * len(head), *body]))


def _row(cells: Sequence[str]) -> str:
    escaped = [cell.replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(escaped)} |\n"


def code(text: str) -> str:
    return f"`{text}`" if text else ""


# ── the command line ─────────────────────────────────────────────────────────────────────────────────────────────────


def cli() -> str:
    return "\n".join([_common(), *(section for name in COMMANDS for section in _command(name))])


def _common() -> str:
    intro = "## Common options\n\nThese options apply to every command that works with tools.\n\n"
    return intro + table(("option", "what it does"), (_shown(action) for action in _common_actions()))


def _common_actions() -> list[argparse.Action]:
    parser = Parser("weft")
    common_options(parser)
    return _actions(parser)


def _command(name: str) -> Iterator[str]:
    verbs = verbs_of(name)
    only = f"\n{_verb(verbs[''], f'weft {name}')}" if "" in verbs else ""
    yield f"## weft {name}\n\n{COMMANDS[name][1]}.\n{only}"
    for verb_name, verb in verbs.items():
        if verb_name:
            path = f"weft {name} {verb_name}"
            yield f"### {path}\n\n{verb.summary}.\n\n{_verb(verb, path)}"


def _verb(verb: Verb, path: str) -> str:
    """A table of what only this command has, and a word on the rest."""
    common = {action.dest for action in _common_actions()}
    actions = _actions(parser_of(path, verb))
    has_common = common <= {action.dest for action in actions}
    own = [action for action in actions if not (has_common and action.dest in common)]
    shown = table(("argument", "what it does"), map(_shown, own)) if own else ""
    also = "Takes the [common options](#common-options).\n" if has_common else ""
    lines = "".join(f"{line}\n" for line in EXAMPLES[path.removeprefix("weft ")])
    return "\n".join(filter(None, (shown, also, f"```sh\n{lines}```\n")))


def _actions(parser: Parser) -> list[argparse.Action]:
    """Words first, then options; without --help, which everything has."""
    # argparse has no public list of what a parser knows.
    known: list[argparse.Action] = parser.whole()._actions
    return sorted((a for a in known if a.dest != "help"), key=lambda action: bool(action.option_strings))


def _shown(action: argparse.Action) -> tuple[str, str]:
    return code(_spelled(action)), action.help or ""


def _spelled(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return f"{value} …" if action.nargs in ("*", "+") else value
    return f"{', '.join(action.option_strings)} {value}".strip()


# ── configuration, errors, rules ─────────────────────────────────────────────────────────────────────────────────────


def keys() -> str:
    return table(("key", "type", "default", "what it does"), map(_key_row, KEYS))


def _key_row(key: ConfigKey) -> tuple[str, ...]:
    default = msgspec.json.encode(key.default).decode()
    return code(key.name), key.words, code(default), key.doc + (" All files count." if key.adds else "")


def error_tree() -> str:
    head = ("class", "under", "JSON-RPC code", "HTTP status", "exit code", "whose fault")
    return table(head, (_error_row(kind) for kind in _kinds(ClawftError)))


def _kinds(top: type[ClawftError]) -> Iterator[type[ClawftError]]:
    """Depth first, in the order they are written; those of errors.py only."""
    yield top
    for kind in top.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield from _kinds(kind)


def _error_row(kind: type[ClawftError]) -> tuple[str, ...]:
    above = kind.__base__.__name__ if kind is not ClawftError and kind.__base__ else ""
    return code(kind.__name__), code(above), str(kind.code), str(kind.status), str(kind.exit_code), kind.blame


def command_rules() -> str:
    return table(
        ("rule", "verdict", "reason"),
        ((code(rule.name), "ask" if rule.asks else "deny", rule.why) for rule in COMMAND_RULES),
    )


def url_rules() -> str:
    return table(("rule", "how to fix it"), ((code(rule.name), rule.hint) for rule in URL_RULES))


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

PARTS: dict[str, Callable[[], str]] = {
    "cli": cli,
    "keys": keys,
    "errors": error_tree,
    "command_rules": command_rules,
    "url_rules": url_rules,
}


def renewed(text: str) -> str:
    """The page with its generated parts as the code says them now."""
    return GENERATED.sub(lambda found: _part(found["name"]), text)


def _part(name: str) -> str:
    return f"<!-- generated: {name} -->\n{PARTS[name]()}<!-- end -->"


def main() -> int:
    for page in pages():
        old = page.read_text()
        new = renewed(old)
        if new != old:
            page.write_text(new)
            print(f"written: {page.name}")
    return 0


def used() -> set[str]:
    """The names of the parts that stand in some page."""
    return {found["name"] for page in pages() for found in GENERATED.finditer(page.read_text())}


if __name__ == "__main__":
    sys.exit(main())
