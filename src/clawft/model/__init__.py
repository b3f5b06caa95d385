"""The nouns every layer shares: frozen data, no behaviour beyond making and reading it.

A call travels down as a `Call` and comes back as a `Reply`. Payloads (`arguments`, `result`, a tool's definition) stay
the JSON bytes they arrived as, so that what we do not understand survives.
"""

from __future__ import annotations

from clawft.model.call import (
    EMPTY_OBJECT,
    Call,
    CallToolResult,
    Errand,
    Finish,
    InputRequired,
    Kind,
    LogLevel,
    Next,
    Question,
    Reply,
    Sent,
    Shortcut,
    Silent,
    Start,
    Talk,
    Witness,
)
from clawft.model.caller import LOCAL, Caller, Capabilities, Era, Grant
from clawft.model.offer import (
    Annotations,
    Completion,
    ForeignPrompt,
    ForeignResource,
    ForeignTemplate,
    Origin,
    Prompt,
    PromptArgument,
    Resource,
    ResourceContent,
    ResourceTemplate,
    Said,
    TaskSupport,
    Tool,
)
from clawft.model.verdict import Allow, Ask, Deny, Verdict

__all__ = [
    "EMPTY_OBJECT",
    "LOCAL",
    "Allow",
    "Annotations",
    "Ask",
    "Call",
    "CallToolResult",
    "Caller",
    "Capabilities",
    "Completion",
    "Deny",
    "Era",
    "Errand",
    "Finish",
    "ForeignPrompt",
    "ForeignResource",
    "ForeignTemplate",
    "Grant",
    "InputRequired",
    "Kind",
    "LogLevel",
    "Next",
    "Origin",
    "Prompt",
    "PromptArgument",
    "Question",
    "Reply",
    "Resource",
    "ResourceContent",
    "ResourceTemplate",
    "Said",
    "Sent",
    "Shortcut",
    "Silent",
    "Start",
    "Talk",
    "TaskSupport",
    "Tool",
    "Verdict",
    "Witness",
]
