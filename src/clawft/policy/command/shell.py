"""A command line, read as a list of program runs: pipelines, groups, loops and functions flattened, in order.

Lenient where a shell would stop with a syntax error, for the question is only what could run.
"""

import re
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from clawft.policy.command.assigning import assigned
from clawft.policy.command.expansion import TooComplex
from clawft.policy.command.lexer import Lexer, Operator, Redirect, Word
from clawft.policy.command.line_state import LineState
from clawft.policy.command.parsed_command import Command
from clawft.policy.command.place import place
from clawft.policy.command.runners import RUN_VARIABLES

MAX_COMMANDS = 2_000
MAX_STAGES = 64

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_PASSED_OVER = frozenset({"if", "then", "else", "elif", "fi", "while", "until", "!"})
_DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})
_GROUP_ENDS = {"}": "{", "done": "do"}
ZSH_SOCKET = "/dev/tcp/"
"""The address that `ztcp` of zsh opens, and whose number it puts in `REPLY`, as other shells would spell it."""
_NOT_A_FILE = re.compile(r"\d+-?|-")
_DESCRIPTOR = re.compile(r"\{[A-Za-z_]\w*\}")
"""A variable for the number of what is opened: `{log}>file`."""


class _Group(Struct, frozen=True):
    kind: str
    fed: tuple[Command, ...]
    start: int
    function: str


def read_text(text: str, shared: LineState, depth: int) -> list[Command]:
    """Every program the line could run, those inside substitutions too. Raises TooComplex."""
    lexer = Lexer(text, shared, depth, read_text, partial(_read_list, closing=")"))
    return _read_list(lexer, closing="")


def _read_list(lexer: Lexer, closing: str) -> list[Command]:
    sequence = _Sequence(lexer)
    while (token := lexer.next()) is not None:
        match token:
            case Word(fields):
                sequence.words.extend(fields)
            case Redirect(text, descriptor):
                sequence.redirect(text, descriptor)
            case Operator(")") if closing and sequence.is_outermost():
                break
            case Operator(text):
                sequence.operator(text)
    sequence.operator("")
    return sequence.commands


class _Sequence:
    """The commands of one list while it is read."""

    def __init__(self, lexer: Lexer) -> None:
        self.commands: list[Command] = []
        self.words: list[str] = []
        self._lexer = lexer
        self._writes: list[str] = []
        self._reads: list[str] = []
        self._stdin = ""
        self._fed: tuple[Command, ...] = ()
        self._groups: list[_Group] = []
        self._closed: tuple[Command, ...] = ()
        self._function = ""
        self._cases = 0

    def is_outermost(self) -> bool:
        first = next((word for word in self.words if word not in _PASSED_OVER), "")
        return not self._cases and first != "case" and self._in_no_parentheses()

    def redirect(self, text: str, descriptor: str) -> None:
        if self.words and _DESCRIPTOR.fullmatch(self.words[-1]):
            descriptor = f"${self.words.pop()}"  # as what uses it will spell it
        if text in ("<<", "<<-"):
            self._stdin += self._lexer.here_document(strip_tabs=text == "<<-")
            return
        target = self._lexer.next()
        if not isinstance(target, Word):
            if isinstance(target, Operator):
                self.operator(target.text)
            return
        name = "".join(target.fields[:1])
        self.words.extend(target.fields[1:])
        if text == "<<<":
            self._stdin += " ".join(target.fields)
            return
        opened = self._lexer.shared.opened
        if text in (">&", "<&"):
            name = opened.get(name.removesuffix("-"), name)
        elif descriptor:
            opened[descriptor] = name
        if not (text in (">&", "<&") and _NOT_A_FILE.fullmatch(name)):
            (self._reads if text in ("<", "<&") else self._writes).append(name)

    def operator(self, text: str) -> None:
        if text == "(" and self._names_function():
            return
        self._finish(text)
        if text == "(":
            self._open("(")
        elif text == ")":
            self._close("(")
        elif text not in ("|", "|&"):
            self._fed = self._groups[-1].fed if self._groups else ()

    def _names_function(self) -> bool:
        """A lone word before a parenthesis never runs: it names a function (or is a syntax error)."""
        words = self.words[1:] if self.words[:1] == ["function"] else self.words
        if len(words) != 1 or words[0] in _PASSED_OVER or words[0] in ("{", "do"):
            return False
        self._function, self.words = words[0], []
        return self._lexer.take(")")

    def _open(self, kind: str) -> None:
        self._groups.append(_Group(kind, self._fed, len(self.commands), self._function or self._body_of()))
        self._function = ""

    def _close(self, kind: str) -> None:
        if self._groups and self._groups[-1].kind == kind:
            group = self._groups.pop()
            self._fed, self._closed = group.fed, tuple(self.commands[group.start :])

    def _body_of(self) -> str:
        return self._groups[-1].function if self._groups else ""

    def _finish(self, operator: str) -> None:
        """Turn the words so far into a command, unless they are keywords, a pattern or an assignment."""
        words = (
            [] if operator == ")" and self._cases and self._in_no_parentheses() else self._without_keywords(self.words)
        )
        inner, sinks = tuple(self._lexer.inner), self._lexer.sinks
        self._lexer.inner, self._lexer.sinks = [], []
        command = Command(
            words=tuple(words),
            writes=tuple(self._writes),
            reads=tuple(self._reads),
            stdin=self._stdin,
            fed_by=self._fed,
            inner=inner,
            function=self._body_of(),
            background=operator == "&",
            folder=self._lexer.shared.folder,
        )
        self.commands.extend(inner)
        self.words, self._writes, self._reads, self._stdin = [], [], [], ""
        is_command = bool(command.words or command.writes or command.reads or command.stdin)
        if is_command:
            self._add(command)
        self.commands.extend(replace(sink, fed_by=(*command.fed_by, command, *sink.fed_by)) for sink in sinks)
        if operator in ("|", "|&"):
            self._pipe((command,) if is_command else self._closed)
        if is_command or operator:
            self._closed = () if operator != ")" else self._closed

    def _in_no_parentheses(self) -> bool:
        return all(group.kind != "(" for group in self._groups)

    def _add(self, command: Command) -> None:
        shared = self._lexer.shared
        shared.commands += 1
        if shared.commands > MAX_COMMANDS:
            raise TooComplex
        self.commands.append(command)
        if command.name in ("cd", "pushd"):
            target = next(iter(command.operands()), "~")
            shared.folder = "" if target == "-" else place(target, shared.folder)
        elif command.name == "ztcp":
            shared.opened["${REPLY}"] = ZSH_SOCKET
        elif command.name in _DECLARES:
            for word in command.arguments:
                self._assign(word)
        for name, value in assigned(command, shared.known.get("IFS", "")):
            shared.known[name] = value

    def _pipe(self, stages: tuple[Command, ...]) -> None:
        self._fed += stages
        if len(self._fed) > MAX_STAGES:
            raise TooComplex

    def _assign(self, word: str) -> bool:
        assignment = _ASSIGNMENT.fullmatch(word)
        if assignment is not None:
            self._lexer.shared.set(assignment[1], assignment[2])
        return assignment is not None

    def _note(self, word: str) -> None:
        """Note an assignment to a variable that programs look at: it is judged as if `env` were given it."""
        name = word.partition("=")[0].rstrip("+")
        if RUN_VARIABLES.fullmatch(name) or name.startswith("HIST"):
            self._add(Command(words=("env", word), folder=self._lexer.shared.folder))

    def _without_keywords(self, words: list[str]) -> list[str]:
        at = 0
        while at < len(words):
            word = words[at]
            if word in ("{", "do"):
                self._open(word)
            elif word in _GROUP_ENDS:
                self._close(_GROUP_ENDS[word])
            elif word == "function":
                self._function = words[at + 1] if at + 1 < len(words) else ""
                at += 1
            elif word in ("for", "select", "case", "esac"):
                self._compound(words[at:])
                return []
            elif self._assign(word):
                self._note(word)
            elif word not in _PASSED_OVER:
                break
            at += 1
        return words[at:]

    def _compound(self, words: list[str]) -> None:
        if words[0] == "case":
            self._cases += 1
        elif words[0] == "esac":
            self._cases = max(0, self._cases - 1)
        elif len(words) > 3 and words[2] == "in":
            self._lexer.shared.known[words[1]] = " ".join(words[3:])
            self._lexer.shared.loops.add(words[1])
