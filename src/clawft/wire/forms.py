"""Forms for clients of revisions that know one kind of choice: a word out of a list, with names beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_KEPT = ("title", "description")


def older_form(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """The form with its questions as older clients know them. Where several may be chosen, one can be."""
    fields = _fields(form)
    older = {name: _older(field) for name, field in fields.items()}
    return form if older == fields else {**form, "properties": older}


def newer_content(form: Mapping[str, Any], content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of an older form, as the answer to the one it was made from."""
    several = {name for name, field in _fields(form).items() if field.get("type") == "array"}
    return {name: [value] if name in several and isinstance(value, str) else value for name, value in content.items()}


def _older(field: Mapping[str, Any]) -> Mapping[str, Any]:
    if field.get("type") == "array":
        options = field.get("items", {})
        return {"type": "string", **{key: field[key] for key in _KEPT if key in field}, **_choice(options, "anyOf")}
    if "oneOf" in field:
        return {key: value for key, value in field.items() if key != "oneOf"} | _choice(field, "oneOf")
    return field


def _choice(options: Mapping[str, Any], titled: str) -> dict[str, Any]:
    if titled not in options:
        return {"enum": options.get("enum", [])}
    choices = options[titled]
    values = [each.get("const") for each in choices]
    return {"enum": values, "enumNames": [each.get("title", each.get("const")) for each in choices]}


def _fields(form: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Of a form that is well-formed: see `questions`."""
    return cast("Mapping[str, Mapping[str, Any]]", form.get("properties", {}))
