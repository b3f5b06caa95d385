"""What `@tool` is told beside the function: a wrong word would be listed, and cost strict clients the tools of all."""

from collections.abc import Mapping
from typing import Any, Final, cast, get_args

from clawft.model import Capabilities
from clawft.provider.definition import TaskChoice

_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    **dict.fromkeys(("name", "title", "alias"), (str, "a text")),
    **dict.fromkeys(("read_only", "destructive", "idempotent", "open_world"), (bool, "True or False")),
    "needs": (Capabilities, "a Capabilities"),
}


def check_options(told: Mapping[str, Any], task: object, input_schema: object) -> None:
    """Raises TypeError, naming the option and what it takes."""
    for option, value in told.items():
        kind, words = _KINDS[option]
        if not isinstance(value, kind):
            raise TypeError(f"@tool({option}=…) is {words}, not {value!r}")
    if task not in get_args(TaskChoice):
        raise TypeError(f"@tool(task=…) is one of {', '.join(get_args(TaskChoice))}, not {task!r}")
    if input_schema is not None and not _is_of_object(input_schema):
        raise TypeError("@tool(input_schema=…) is the JSON Schema of an object: {'type': 'object', 'properties': {…}}")


def _is_of_object(schema: object) -> bool:
    return isinstance(schema, Mapping) and cast("Mapping[str, Any]", schema).get("type", "object") == "object"
