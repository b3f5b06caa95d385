"""Whether a text may be the program of a stdio server, and which environment variables load other code. Pure.

Its arguments are not looked at: no shell reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from clawft.model import Allow, Deny, Verdict

UNSAFE = ("..", ";", "|", "&", "$", "`", "\n", "\r", "\0")

_CODE_LOADING = (
    r"LD_\w+|DYLD_\w+|GCONV_PATH|PATH|SHELL|ENV|BASH_(?:ENV|FUNC_.*)|PROMPT_COMMAND"
    r"|PYTHON(?:PATH|STARTUP|HOME|USERBASE|EXECUTABLE|INSPECT|BREAKPOINT|WARNINGS)|NODE_(?:OPTIONS|PATH)|NPM_CONFIG_\w+"
    r"|(?:UV|PIP)_\w*(?:INDEX|CONFIG)\w*|PERL5?(?:LIB|OPT|DB)|RUBY(?:LIB|OPT)|GEM_(?:HOME|PATH)|_?JAVA\w*_OPTIONS"
    r"|CLASSPATH|GIT_(?!AUTHOR_|COMMITTER_)\w+|SSH_ASKPASS|EDITOR|VISUAL|PAGER|BROWSER"
)
"""Variables that make programs load or run other code."""


def decide(program: str) -> Verdict:
    """Refuse what only makes sense to a shell, or walks up; the words of the refusal contain "unsafe"."""
    if not program.strip():
        return Deny("launch-empty", "unsafe command: it is empty", 'set command = "/absolute/path/to/server"')
    found = next((bad for bad in UNSAFE if bad in program), None)
    if found is None:
        return Allow("launch")
    reason = f"unsafe command: {program[:120]!r} contains {found!r}"
    return Deny("launch-unsafe", reason, "give the plain path of the program; put everything else into args")


def code_loading_variables(variables: Iterable[str]) -> list[str]:
    """The variables that can make the program run code the command does not name."""
    return [name for name in variables if re.fullmatch(_CODE_LOADING, name, re.IGNORECASE)]
