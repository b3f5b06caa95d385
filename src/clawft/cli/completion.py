"""`weft completion bash|zsh|fish`: a script made from the commands and options there really are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from clawft.cli.main import COMMANDS, parser_of, verbs_of
from clawft.cli.parser import Options, Parser, Verb
from clawft.cli.tab_names import COMPLETING

TAKES_TOOL = frozenset({"tools show", "tools call", "policy explain"})
"""Where a name of a tool comes next."""
TAKES_SERVER = frozenset(
    {
        *(f"servers {verb}" for verb in ("status", "remove", "enable", "disable", "reconnect", "test")),
        *(f"approvals {verb}" for verb in ("list", "grant", "revoke", "diff", "export")),
        "tools list",
        "auth login",
    }
)
"""Where a name of a server comes next."""


def names_at(path: str) -> str:
    """The command that prints what may stand there, one name a line; empty if nobody knows."""
    what = "tools" if path in TAKES_TOOL else "servers" if path in TAKES_SERVER else ""
    return f"{COMPLETING}=1 weft {what} list 2>/dev/null" if what else ""


class CommandNode(Struct, frozen=True):
    """One place on the command line: `tools list`, and what may follow there."""

    path: str
    summary: str
    words: tuple[tuple[str, str], ...] = ()
    """Further commands, with what they do."""
    options: tuple[tuple[str, str], ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}
    """Option → what it takes."""
    leaf: bool = False
    """Its words are arguments: more of them may follow."""


def nodes() -> Iterator[CommandNode]:
    """Every place there is, the top first."""
    commands = tuple((name, summary) for name, (_, summary) in COMMANDS.items())
    yield CommandNode("", "weft", commands, (("--help", "print help"), ("--version", "print the version")))
    for name, (_, summary) in COMMANDS.items():
        verbs = verbs_of(name)
        if "" in verbs:
            yield _leaf(name, verbs[""])
            continue
        yield CommandNode(
            name, summary, tuple((verb, one.summary) for verb, one in verbs.items()), (("--help", "print help"),)
        )
        yield from (_leaf(f"{name} {verb}", one) for verb, one in verbs.items())


def _leaf(path: str, verb: Verb) -> CommandNode:
    parser = parser_of(f"weft {path}", verb).whole()
    values = {option: tuple(choices) for option, choices in parser.known_values().items()}
    words = tuple((word, "") for option, choices in values.items() if not option.startswith("-") for word in choices)
    return CommandNode(path, verb.summary, words, tuple(parser.described_options().items()), values, leaf=True)


def _pattern(node: CommandNode) -> str:
    """For `case`: a leaf also matches with words behind it, a place with further commands only as it is."""
    return f'"{node.path}"|"{node.path} "*' if node.leaf else f'"{node.path}"'


# ── bash ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def bash() -> str:
    cases = "\n".join(_bash_case(node) for node in nodes())
    values = "\n".join(f"        {option}) words='{' '.join(choices)}' ;;" for option, choices in _all_values().items())
    return f"""# completion of weft for bash: eval "$(weft completion bash)"
_weft() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" path="" words="" part
    for part in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$part" in -*) break ;; esac
        path="${{path:+$path }}$part"
    done
    case "$path" in
{cases}
    esac
    case "$before" in
{values}
        --workspace) compopt -o dirnames 2>/dev/null; words="" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _weft weft
"""


def _bash_case(node: CommandNode) -> str:
    words = " ".join([*(word for word, _ in node.words), *(option for option, _ in node.options)])
    names = names_at(node.path) and f' $([ "$path" = "{node.path}" ] && {names_at(node.path)})'
    return f'        {_pattern(node)}) words="{words}{names}" ;;'


def _all_values() -> dict[str, tuple[str, ...]]:
    return {option: choices for node in nodes() for option, choices in node.values.items() if option.startswith("--")}


# ── zsh ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def zsh() -> str:
    cases = "\n".join(_zsh_case(node) for node in nodes())
    values = "\n".join(
        f"    {option}) compadd {' '.join(choices)}; return ;;" for option, choices in _all_values().items()
    )
    return f"""#compdef weft
# completion of weft for zsh: eval "$(weft completion zsh)", after compinit
_weft() {{
  local -a found place; local part
  for part in "${{(@)words[2,CURRENT-1]}}"; do
    [[ "$part" == -* ]] && break
    place+=("$part")
  done
  case "${{words[CURRENT-1]}}" in
{values}
    --workspace) _files -/; return ;;
  esac
  case "${{place[*]}}" in
{cases}
  esac
  _describe 'weft' found || _files
}}
compdef _weft weft
"""


def _zsh_case(node: CommandNode) -> str:
    said = " ".join(f"'{word}:{_quiet(text).replace(':', ',')}'" for word, text in (*node.words, *node.options))
    names = names_at(node.path)
    more = f'; [[ "${{place[*]}}" == "{node.path}" ]] && found+=(${{(f)"$({names})"}})' if names else ""
    return f"    {_pattern(node)}) found=({said}){more} ;;"


def _quiet(text: str) -> str:
    """Nothing in it that a shell would read as its own."""
    return text.replace("'", "").replace("`", "").replace("\\", "")


# ── fish ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


_FISH_WORDS = 'test (count (string match -v -- "-*" (commandline -opc)))'
"""How many words stand before the one that is completed, options aside."""


def fish() -> str:
    lines = [line for node in nodes() for line in _fish_lines(node)]
    return (
        "# completion of weft for fish: weft completion fish | source\ncomplete -c weft -f\n" + "\n".join(lines) + "\n"
    )


def _fish_lines(node: CommandNode) -> Iterator[str]:
    when = f"-n '{_fish_place(node)}'"
    for word, text in node.words:
        yield f"complete -c weft {when} -a {word} -d '{_quiet(text)}'"
    for option, text in node.options:
        takes = f" -x -a '{' '.join(node.values[option])}'" if option in node.values else ""
        yield f"complete -c weft {when} -l {option.removeprefix('--')}{takes} -d '{_quiet(text)}'"
    if names_at(node.path):
        first = f"{_fish_place(node)}; and {_FISH_WORDS} -eq {len(node.path.split()) + 1}"
        yield f"complete -c weft -n '{first}' -a '({names_at(node.path)})'"


def _fish_place(node: CommandNode) -> str:
    if not node.path:
        return "__fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in node.path.split())
    verbs = " ".join(word for word, _ in node.words)
    return f"{seen}; and not __fish_seen_subcommand_from {verbs}" if verbs else seen


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────

SHELLS: Mapping[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _options(parser: Parser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help="bash, zsh or fish")


def _print(options: Options) -> int:
    print(SHELLS[options.shell](), end="")
    return 0


VERBS = {"": Verb("Print the completion script of a shell", _options, _print)}
