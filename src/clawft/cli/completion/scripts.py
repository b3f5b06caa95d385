"""`weft completion bash|zsh|fish`: a script made from the commands and options there really are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from clawft.cli.completion.words import ASKING, OFFERS, VALUES
from clawft.cli.main import COMMANDS, parser_of, verbs_of
from clawft.cli.parser import Verb


class CommandNode(Struct, frozen=True):
    """One place on the command line: `tools list`, and what may follow there."""

    path: str
    summary: str
    words: tuple[tuple[str, str], ...] = ()
    """Further commands, with what they do."""
    options: tuple[tuple[str, str], ...] = ()
    values: Mapping[str, tuple[str, ...]] = {}
    """Option → what it takes."""
    free: tuple[str, ...] = ()
    """Options that take what nobody can list; it may be a file."""
    leaf: bool = False
    """Whether its words are arguments: more of them may follow."""


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
    options, free = tuple(parser.described_options().items()), tuple(parser.free_options())
    return CommandNode(path, verb.summary, words, options, values, free, leaf=True)


def _pattern(node: CommandNode) -> str:
    """For `case`: a leaf also matches with words behind it, a place with further commands only as it is."""
    return f'"{node.path}"|"{node.path} "*' if node.leaf else f'"{node.path}"'


# ── bash ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def bash() -> str:
    cases = "\n".join(_bash_case(node) for node in nodes())
    values = "\n".join(f"        {option}) words='{' '.join(choices)}' ;;" for option, choices in _all_values().items())
    return f"""# completion of weft for bash: eval "$(weft completion bash)"
_weft() {{
    local line="${{COMP_LINE:0:COMP_POINT}}" path="" words="" asks="" part name
    local -a typed
    read -ra typed <<<"$line"
    [[ "$line" == *[[:space:]] ]] && typed+=("")
    local last=$((${{#typed[@]}} - 1))
    local word="${{typed[last]}}" before="${{typed[last-1]}}"
    for part in "${{typed[@]:1:last-1}}"; do
        case "$part" in -*) break ;; esac
        path="${{path:+$path }}$part"
    done
    case "$path" in
{cases}
    esac
    case "$before" in
{values}
        {"|".join(sorted(ASKING))}) words=""; asks=1 ;;
        --workspace) compopt -o dirnames 2>/dev/null; words=""; asks="" ;;
        {"|".join(_all_free())}) words=""; asks="" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if [[ $asks && "$word" != -* ]]; then
        while IFS= read -r name; do COMPREPLY+=("$name"); done < <(weft completion -- "${{typed[@]:1}}" 2>/dev/null)
    fi
    [[ "${{COMPREPLY[0]}}" == *= ]] && compopt -o nospace 2>/dev/null
    # bash begins a new word behind = and : and has us complete that alone
    local breaks="${{COMP_WORDBREAKS//[^=:]/}}"
    [[ $breaks ]] && COMPREPLY=("${{COMPREPLY[@]#"${{word%"${{word##*["$breaks"]}}"}}"}}")
}}
complete -o default -F _weft weft
"""


def _bash_case(node: CommandNode) -> str:
    words = " ".join([*(word for word, _ in node.words), *(option for option, _ in node.options)])
    return f'        {_pattern(node)}) words="{words}"{"; asks=1" if node.path in OFFERS else ""} ;;'


def _all_free() -> list[str]:
    """The options that take a free value in every command; a folder is completed as one."""
    known = [(option, option in node.free) for node in nodes() for option, _ in node.options]
    flags = {option for option, is_free in known if not is_free}
    return sorted({option for option, is_free in known if is_free} - flags - ASKING - {"--workspace"})


def _all_values() -> dict[str, tuple[str, ...]]:
    return {option: choices for node in nodes() for option, choices in node.values.items() if option.startswith("--")}


# ── zsh ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


_ZSH_ASKS = 'weft completion -- "${(@Q)words[2,CURRENT]}" 2>/dev/null'


def zsh() -> str:
    cases = "\n".join(_zsh_case(node) for node in nodes())
    values = "\n".join(
        f"    {option}) compadd {' '.join(choices)}; return ;;" for option, choices in _all_values().items()
    )
    return f"""#compdef weft
# completion of weft for zsh: eval "$(weft completion zsh)", after compinit
_weft() {{
  local -a found place names; local part asks
  for part in "${{(@)words[2,CURRENT-1]}}"; do
    [[ "$part" == -* ]] && break
    place+=("$part")
  done
  case "${{words[CURRENT-1]}}" in
{values}
    {"|".join(sorted(ASKING))}) compadd -- ${{(f)"$({_ZSH_ASKS})"}}; return ;;
    --workspace) _files -/; return ;;
    {"|".join(_all_free())}) _files; return ;;
  esac
  case "${{place[*]}}" in
{cases}
  esac
  if [[ -n "$asks" && "${{words[CURRENT]}}" != -* ]]; then
    names=(${{(f)"$({_ZSH_ASKS})"}})
    compadd -S '' -- ${{(M)names:#*=}}
    compadd -- ${{names:#*=}}
  fi
  _describe 'weft' found || (( $#names )) || {{ compset -P 1 '*='; _files }}
}}
compdef _weft weft
"""


def _zsh_case(node: CommandNode) -> str:
    described = " ".join(f"'{word}:{_quiet(text).replace(':', ',')}'" for word, text in (*node.words, *node.options))
    return f"    {_pattern(node)}) found=({described}){'; asks=1' if node.path in OFFERS else ''} ;;"


def _quiet(text: str) -> str:
    """Nothing in it that a shell would read as its own."""
    return text.replace("'", "\u2019").replace("`", "").replace("\\", "")


# ── fish ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_FISH_ASKS = 'weft completion -- (commandline -opc)[2..] "$(commandline -ct)" 2>/dev/null'


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
        takes = " -r -F" if option in node.free else ""
        takes = f" -x -a '{' '.join(node.values[option])}'" if option in node.values else takes
        takes = f" -x -a '({_FISH_ASKS})'" if option in VALUES.get(node.path, {}) else takes
        yield f"complete -c weft {when} -l {option.removeprefix('--')}{takes} -d '{_quiet(text)}'"
    if node.path in OFFERS:
        yield f"complete -c weft {when} -a '({_FISH_ASKS})'"


def _fish_place(node: CommandNode) -> str:
    if not node.path:
        return "__fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in node.path.split())
    verbs = " ".join(word for word, _ in node.words)
    return f"{seen}; and not __fish_seen_subcommand_from {verbs}" if verbs else seen


SCRIPTS: Mapping[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
