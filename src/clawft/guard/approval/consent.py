"""The words of a question about a tool, of the person's answers, and of a refusal to the agent. Pure.

Foreign text stands behind a bar on every line, so that no words of a server look like ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from clawft.catalog.names import fit
from clawft.error_words import quoted as shell_quoted
from clawft.guard.approval.excerpt import is_cut, quoted
from clawft.guard.asking import Unanswered, chosen
from clawft.model import EMPTY_OBJECT, Question, Tool
from clawft.policy.approval import RULE
from clawft.policy.definition_texts import other_texts
from clawft.policy.pin import members
from clawft.policy.pseudo_tools import CALLED

LONG_LINES, LONG_CHARS = 20, 1_500
"""From this length on the beginning of a question may have scrolled away, so its end repeats it."""

LONGEST_NAME = 64
SEEN = (
    *("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons"),
    *("prompts", "server instructions"),
)
"""Members of a definition whose names we know. The names of others are foreign text as well."""

ONCE, ALWAYS = "once", "always"
_PLAIN = rf"[A-Za-z0-9_.-]{{1,{LONGEST_NAME}}}"


class ConsentSubject(Struct, frozen=True):
    """The subject of a question. `differs` names the changes since the approval; empty if there was none."""

    server: str
    tool: Tool
    pin: str
    instructions: str = ""
    differs: tuple[str, ...] = ()
    place: str = ""
    """The workspace whose file names the server; empty if the user's own files do."""

    @property
    def everything(self) -> str:
        """The answer that covers the whole server."""
        return f"all tools of {self.server}"

    @property
    def name(self) -> str:
        """The tool's name as it may stand among our own words: an odd one is escaped, and looks like no command."""
        return self.tool.name if self._is_plain else ascii(self.tool.name[:LONGEST_NAME]).replace("`", r"\x60")

    @property
    def _is_plain(self) -> bool:
        return self.tool.name in CALLED or re.fullmatch(_PLAIN, self.tool.name) is not None

    @property
    def why(self) -> str:
        """Why the person has to decide."""
        them = CALLED.get(self.tool.name)
        if them and self.differs:
            return f"The {them} of {self.server} are not the ones you approved (weft approvals diff {self.server})."
        if them:
            return f"The {them} of {self.server}, a server that is not trusted, have not been used before."
        if self.differs:
            return (
                f"The tool {self.name} of {self.server} is not the one you approved; changed: "
                f"{', '.join(self.differs)} (weft approvals diff {self.server})."
            )
        return f"The tool {self.name} of {self.server}, a server that is not trusted, has not been used before."

    @property
    def command(self) -> str:
        """The command that grants it outside of the conversation; it spells an odd name as agents see it."""
        own, plain = self.tool.name, self._is_plain and not self.tool.name.startswith("-")
        place = f" --workspace {shell_quoted(self.place)}" if self.place else ""
        return f"weft approvals grant {self.server} {own if plain else fit(f'{self.server}__{own}')}{place}"


def question_key(subject: ConsentSubject) -> str:
    """A key bound to the text that is asked about: a yes to one definition does not count for the next."""
    return f"weft_approve_{subject.pin.removeprefix('sha256:')[:24]}"


def question(subject: ConsentSubject, arguments: str) -> Question:
    return Question(
        "elicitation/create",
        {
            "mode": "form",
            "message": _message(subject, arguments),
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "answer": {
                        "type": "string",
                        "title": "Allow it?",
                        "description": "An approval is valid until the definition of the tool changes.",
                        "enum": [ONCE, ALWAYS, subject.everything],
                    }
                },
                "required": ["answer"],
            },
        },
    )


def _message(subject: ConsentSubject, arguments: str) -> str:
    tool, beside = subject.tool, subject.tool.name in CALLED
    more = "" if beside else "\n".join(other_texts(_rest_of(tool)))
    said = [
        ("It says of them:" if beside else "It says of itself:", tool.description or ("" if beside else "(nothing)")),
        ("It also says:", more),
        ("Its server instructs every model:", subject.instructions),
        ("It would be asked for:" if beside else "It would be called with:", arguments),
    ]
    lines = [line for head, text in said if text for line in quoted(head, text)]
    misses_some = any(is_cut(text) for _, text in said[:2]) and not beside
    way_to_all = [f"All of it: weft tools show {fit(f'{subject.server}__{tool.name}')} --json"] if misses_some else []
    is_long = len(lines) > LONG_LINES or sum(map(len, lines)) > LONG_CHARS
    again = (
        [f"All this is about {CALLED.get(tool.name, subject.name)} of {subject.server}. Allow it?"] if is_long else []
    )
    return "\n".join([f"{subject.why} Allow it?", *lines, *way_to_all, *again])


def _rest_of(tool: Tool) -> Mapping[str, object]:
    """The definition without its name and description, which the question shows elsewhere."""
    known = members(tool.wire or EMPTY_OBJECT)
    return {name: value for name, value in known.items() if name not in ("name", "description")}


def said(subject: ConsentSubject, told: Mapping[str, Any]) -> str | Unanswered:
    """The option the person chose; empty for no."""
    answer = chosen(told, (ONCE, ALWAYS, subject.everything))
    is_known = answer or told.get("action") != "accept"
    return answer if is_known else Unanswered("the client's answer is not one of the offered choices")


def refused(subject: ConsentSubject) -> str:
    reason = f"{subject.why} It needs the person's approval: ask them to run `{subject.command}`, then call again"
    return f"refused by the rule {RULE}: {reason}"


def declined(subject: ConsentSubject, answer: str | Unanswered) -> str:
    if isinstance(answer, Unanswered):
        why_not = f"nobody answered whether {subject.name} may be used: {answer.why}"
    else:
        why_not = f"the person declined the use of {subject.name}"
    return f"refused by the rule {RULE}: {why_not} ({subject.command} would allow it)"
