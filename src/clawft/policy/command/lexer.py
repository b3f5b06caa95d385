"""The words and operators of a command line, quoted and expanded as a shell would, as far as the line itself tells.

Known from the line: quotes, escapes, brace lists, variables it sets. Unknown (and kept visible): `${NAME}` of a
variable set elsewhere, `$(…)` for the output of a command. Every step consumes text: reading is linear.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from clawft.policy.command.expansion import TooComplex, braces, unescaped
from clawft.policy.command.known_output import PRINTERS, known_outputs
from clawft.policy.command.line_state import LineState
from clawft.policy.command.parsed_command import Command

MAX_NESTING = 8
MAX_SEPARATORS = 8

UNKNOWN_OUTPUT = "$(…)"
HOME = "~"

_PLAIN = re.compile(r"[^\s'\"\\`$;&|<>()]+")
_IN_QUOTES = re.compile(r"[^\"\\`$]+")
_BLANK = re.compile(r"(?:[^\S\n]|\\\n)+")
_REDIRECT = re.compile(r"(\d{0,4})(<<<|<<-|<<|<>|<&|<|>>|>\||>&|>)|(&>>|&>)")
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|\n()]")
_EACH = re.compile(r'"\$(?:@|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})"')
"""All that was given, or all that a loop goes through: for all its quotes not one word."""
_BACKTICKS = re.compile(r"([^`\\]*(?:\\.[^`\\]*)*)`?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_DELIMITER = re.compile(r"[ \t]*((?:'[^']*'|\"[^\"]*\"|\\.|[^ \t\n;&|<>()'\"\\])+)")
_BRACE_PIECE = r"\\.|\$\{|\}|\$|"
_BLIND = re.compile(_BRACE_PIECE + r"[^\\$}]+", re.DOTALL)
_BARE = re.compile(_BRACE_PIECE + r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|[^\\$}'\"]+", re.DOTALL)
_QUOTED = re.compile(_BRACE_PIECE + r"\"(?:[^\"\\]|\\.)*\"|[^\\$}\"]+", re.DOTALL)
_ANSI = re.compile(r"((?:[^'\\]|\\.)*)'?", re.DOTALL)
_ENDS_A_WORD = " \t\n;&|()<>"
"""Behind these a `#` begins a comment; behind other blanks, a carriage return say, it is part of a word."""
_MAY_DEFAULT = (":-", "-", ":=", "=", ":+", "+")


class Word(Struct, frozen=True):
    fields: tuple[str, ...]
    """The texts that the word becomes: usually one, several after splitting or a brace list."""


class Operator(Struct, frozen=True):
    text: str


class Redirect(Struct, frozen=True):
    text: str
    descriptor: str = ""
    """The number of the descriptor, if it is given."""


Token = Word | Operator | Redirect
ReadText = Callable[[str, LineState, int], list[Command]]
ReadList = Callable[["Lexer"], list[Command]]


class Lexer:
    """Hands out tokens; commands inside words collect in `inner` (`$(…)`, backticks, `<(…)`) and `sinks` (`>(…)`)."""

    def __init__(self, text: str, shared: LineState, depth: int, read_text: ReadText, read_list: ReadList) -> None:
        if depth > MAX_NESTING:
            raise TooComplex
        self.text, self.shared, self.depth = text, shared, depth
        self.at = 0
        self.inner: list[Command] = []
        self.sinks: list[Command] = []
        self._read_text, self._read_list = read_text, read_list
        self._bodies: dict[int, int] = {}
        self._body_from = -1
        self._may_be_arithmetic = True

    # ── tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def next(self) -> Token | None:
        text = self.text
        self.shared.count_token()
        self._skip_blanks()
        if self.at >= len(text):
            if self._bodies:  # a here-document we promised to jump over was read as commands instead
                raise TooComplex
            return None
        if text.startswith(("<(", ">("), self.at):
            return self._word()
        if text.startswith("((", self.at) and self._arithmetic(2):
            return Word((UNKNOWN_OUTPUT,))
        if redirect := _REDIRECT.match(text, self.at):
            self.at = redirect.end()
            return Redirect(redirect[2] or redirect[3], redirect[1] or "")
        if operator := _OPERATOR.match(text, self.at):
            self.at = self._bodies.pop(self.at, operator.end())
            return Operator(operator[0])
        return self._word()

    def take(self, text: str) -> bool:
        """Whether this text comes next; then it is consumed."""
        self._skip_blanks()
        found = self.text.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def _skip_blanks(self) -> None:
        if blank := _BLANK.match(self.text, self.at):
            self.at = blank.end()
        if self.text.startswith("#", self.at) and (self.at == 0 or self.text[self.at - 1] in _ENDS_A_WORD):
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def here_document(self, strip_tabs: bool) -> str:
        """The text between the next line and the delimiter that stands here; reading will jump over it."""
        found = _DELIMITER.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        if "$" in found[1] or "`" in found[1]:  # legal, never meant, and hard to tell where it ends
            raise TooComplex
        delimiter = re.sub(r"['\"\\]", "", found[1])
        newline = self.text.find("\n", self.at)
        if newline < 0:
            return ""
        start = self._body_from if newline in self._bodies else newline + 1
        body, end = self._body(start, delimiter, strip_tabs)
        self._bodies[newline], self._body_from = end, end
        if delimiter == found[1]:  # unquoted: the shell expands the body
            self._expand(body)
        return body

    def _body(self, start: int, delimiter: str, strip_tabs: bool) -> tuple[str, int]:
        at = start
        while at < len(self.text):
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at:end]
            if (line.lstrip("\t") if strip_tabs else line) == delimiter:
                return self.text[start:at], min(end + 1, len(self.text))
            at = end + 1
        return self.text[start:], len(self.text)

    # ── words ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _word(self) -> Word:
        fields: list[list[str]] = [[]]
        quoted: set[int] = set()
        has_brace = False
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "<>" and self.text.startswith("(", self.at + 1):
                fields[-1].append(self._process(sink=char == ">"))
            elif char.isspace() or char in ";&|<>()":
                break
            elif char == "$" or (char == '"' and self._is_each()):
                first, *others = self._each() if char == '"' else self._dollar(quoted=False)
                fields[-1].append(first)
                fields.extend([other] for other in others)
            elif plain := _PLAIN.match(self.text, self.at):
                self.at = plain.end()
                has_brace = has_brace or "{" in plain[0]
                fields[-1].append(plain[0])
            else:
                if char != "\\":
                    quoted.add(len(fields))
                fields[-1].append(self._quoted(char))
        # A field that expanded to nothing is no word, unless there were quotes to hold its place.
        joined = tuple(text for at, field in enumerate(fields, 1) if (text := "".join(field)) or at in quoted)
        return Word(tuple(piece for field in joined for piece in braces(field)) if has_brace else joined)

    def _is_each(self) -> bool:
        found = _EACH.match(self.text, self.at)
        name = (found[1] or found[2]) if found else None
        return found is not None and (name is None or name in self.shared.loops)

    def _each(self) -> list[str]:
        self.at += 1
        fields = self._dollar(quoted=False)
        self.at += 1
        return fields

    def _quoted(self, char: str) -> str:
        self.at += 1
        if char == "'":
            return self._until_quote()
        if char == '"':
            return self._double()
        if char == "`":
            return self._backticks()
        escaped = self.text[self.at : self.at + 1]
        self.at += 1
        return "" if escaped == "\n" else escaped

    def _until_quote(self) -> str:
        start, end = self.at, self.text.find("'", self.at)
        end = len(self.text) if end < 0 else end
        self.at = end + 1
        return self.text[start:end]

    def _double(self, closes: bool = True) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                if closes:
                    break
                parts.append(char)
                continue
            if plain := _IN_QUOTES.match(self.text, self.at):
                self.at = plain.end()
                parts.append(plain[0])
            elif char == "$":
                parts.append(" ".join(self._dollar(quoted=True)))
            elif char == "`":
                self.at += 1
                parts.append(self._backticks())
            else:
                parts.append(self._escape_in_quotes())
        return "".join(parts)

    def _escape_in_quotes(self) -> str:
        escaped = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return "" if escaped == "\n" else escaped if escaped in ('"', "\\", "$", "`") else "\\" + escaped

    def _backticks(self) -> str:
        found = _BACKTICKS.match(self.text, self.at)
        script = found[1] if found else ""
        self.at = found.end() if found else len(self.text)
        return _known_output(self._run(re.sub(r"\\([\\`$])", r"\1", script)))

    # ── expansions ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _dollar(self, quoted: bool) -> list[str]:
        """The fields of the expansion that starts here."""
        if self.text.startswith("$((", self.at) and self._arithmetic(3):
            return [UNKNOWN_OUTPUT]
        following = self.text[self.at + 1 : self.at + 2]
        if following == "(":
            return self._fields(_known_output(self._command_output()), quoted)
        if following == "{":
            return self._fields(self._parameter(quoted), quoted)
        self.at += 1
        if following == "'" and not quoted:
            return [self._ansi_quoted()]
        name = _NAME.match(self.text, self.at)
        if name is None:
            return ["" if following == '"' and not quoted else "$"]
        self.at = name.end()
        return self._fields(self._value(name[0]), quoted)

    def _fields(self, value: str, quoted: bool) -> list[str]:
        """Within quotes a value is what it is; elsewhere it is split, at blanks and at what the line sets IFS to."""
        if quoted:
            return [value]
        for separator in set(self.shared.known.get("IFS", "")[:MAX_SEPARATORS]):
            value = value.replace(separator, " ")
        fields = value.split() or [""]
        lead = [""] if value[:1].isspace() else []
        trail = [""] if value.strip() and value[-1:].isspace() else []
        return [*lead, *fields, *trail]

    def _value(self, name: str) -> str:
        value = HOME if name == "HOME" else " " if name == "IFS" else self.shared.known.get(name, f"${{{name}}}")
        self.shared.spend(len(value))
        return value

    def _parameter(self, quoted: bool) -> str:
        """`${NAME}`, `${NAME:-default}` and their relatives."""
        content = self._braced(_QUOTED if quoted else _BARE)
        name = _NAME.match(content)
        if name is None:
            self._expand(content)
            return UNKNOWN_OUTPUT
        operation = content[name.end() :]
        default = self._expand(operation)
        if name[0] in self.shared.known or name[0] in ("HOME", "IFS"):
            return self._value(name[0])
        mark = next((mark for mark in _MAY_DEFAULT if operation.startswith(mark)), None)
        if mark is not None:
            return default[len(mark) :]
        return f"${{{name[0]}?}}" if operation[:2].endswith("?") or operation[:1] == "?" else self._value(name[0])

    def _braced(self, aware: re.Pattern[str]) -> str:
        """Up to the closing brace. Where quotes could hide another end from us, we do not guess."""
        start = self.at + 2
        end = self._closing_brace(start, _BLIND)
        content = self.text[start:end]
        balanced = content.count("(") == content.count(")") and content.count("`") % 2 == 0
        if not balanced or end != self._closing_brace(start, aware):
            raise TooComplex
        self.at = end + 1
        return content

    def _closing_brace(self, at: int, piece: re.Pattern[str]) -> int:
        level = 1
        while found := piece.match(self.text, at):
            level += {"${": 1, "}": -1}.get(found[0], 0)
            if not level:
                return at
            if level > MAX_NESTING:
                raise TooComplex
            at = found.end()
        return at

    def _ansi_quoted(self) -> str:
        self.at += 1
        found = _ANSI.match(self.text, self.at)
        self.at = found.end() if found else len(self.text)
        return unescaped(found[1]) if found else ""

    def _arithmetic(self, opening: int) -> bool:
        """Skip `((…))`; what it runs by `$(…)` is still found. A shift in it is no here-document."""
        end = self.text.find("))", self.at) if self._may_be_arithmetic else -1
        if end < 0:
            self._may_be_arithmetic = False
            return False
        content = self.text[self.at + opening : end]
        self.at = end + 2
        self._run(content.replace("<<", "  "))
        return True

    def _process(self, sink: bool) -> str:
        """`<(…)` is read like a file, `>(…)` is written to."""
        found = self._command_list()
        if sink:
            self.sinks += found
        else:
            self.inner += found
        return UNKNOWN_OUTPUT

    def _command_output(self) -> list[Command]:
        found = self._command_list()
        self.inner += found
        return found

    def _command_list(self) -> list[Command]:
        self.at += len("$(")
        if self.depth >= MAX_NESTING:
            raise TooComplex
        inner, sinks = self.inner, self.sinks
        self.inner, self.sinks, self.depth = [], [], self.depth + 1
        found = self._read_list(self)
        self.inner, self.sinks, self.depth = inner, sinks, self.depth - 1
        return found

    def _run(self, script: str) -> list[Command]:
        found = self._read_text(script, self.shared, self.depth + 1)
        self.inner += found
        return found

    def _expand(self, text: str) -> str:
        """Text as within double quotes."""
        if "$" not in text and "`" not in text:
            return text
        child = Lexer(text, self.shared, self.depth + 1, self._read_text, self._read_list)
        expanded = child._double(closes=False)
        self.inner += child.inner
        return expanded


def _known_output(inner: list[Command]) -> str:
    """The output of `$(…)`, if it is one `echo` of plain words."""
    texts = known_outputs(inner[0]) if len(inner) == 1 and inner[0].name in PRINTERS and not inner[0].writes else []
    return texts[0] if len(texts) == 1 and not any(char in texts[0] for char in "\\%$") else UNKNOWN_OUTPUT
