"""A form that a server asks for, as lines at a terminal: what each member is, and what was typed as its value. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from clawft.cli.parser import WrongUsage
from clawft.cli.parser.arguments import kinds_of, value_of

SWITCHES = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "array": "some of these, with commas",
}

Schema = Mapping[str, Any]


class FormChoice(Struct, frozen=True):
    value: object
    shown: str


class FormField(Struct, frozen=True):
    """One member. `about` is what the server says of it."""

    name: str
    expected: Schema
    required: bool
    about: str = ""
    choices: tuple[FormChoice, ...] = ()

    @property
    def has_default(self) -> bool:
        return "default" in self.expected

    @property
    def kind(self) -> str:
        return str(self.expected.get("type", ""))


def fields_of(form: Schema) -> list[FormField]:
    """In the order of the form."""
    members: Mapping[str, Schema] = form.get("properties", {})
    required: Sequence[str] = form.get("required", ())
    return [
        FormField(name, expected, name in required, _about(expected), tuple(_choices(expected)))
        for name, expected in members.items()
    ]


def _about(expected: Schema) -> str:
    return ": ".join(str(expected[key]) for key in ("title", "description") if expected.get(key))


def _choices(expected: Schema) -> list[FormChoice]:
    """An enum, with or without names for its values; of a list those its items may be."""
    if expected.get("type") == "array":
        return _choices(cast("Schema", expected.get("items") or {}))
    titled: Sequence[Schema] = expected.get("oneOf") or expected.get("anyOf") or ()
    if titled:
        return [FormChoice(each.get("const"), str(each.get("title") or each.get("const"))) for each in titled]
    values: Sequence[object] = expected.get("enum") or ()
    names: Sequence[object] = expected.get("enumNames") or values
    return [FormChoice(value, str(name)) for value, name in zip(values, names, strict=False)]


def asked(field: FormField) -> str:
    """`age, a whole number, 1 to 120 [30]:`"""
    what = [field.name, WORDS.get(field.kind, "")]
    if not field.required and not field.has_default:
        what.append("optional")
    default = f" [{_shown(field)}]" if field.has_default else ""
    return f"{', '.join(filter(None, what))}{default}:"


def _shown(field: FormField) -> str:
    default: object = field.expected["default"]
    if isinstance(default, bool):
        return "yes" if default else "no"
    return ", ".join(map(str, cast("list[object]", default))) if isinstance(default, list) else str(default)


def read(field: FormField, typed: str) -> object:
    """The value. Raises WrongUsage, which says what it should be."""
    if field.choices and field.kind == "array":
        return [_chosen(field, part.strip()) for part in typed.split(",") if part.strip()]
    if field.choices:
        return _chosen(field, typed)
    if field.kind == "boolean":
        if typed.lower() not in SWITCHES:
            raise WrongUsage(f"{field.name} is yes or no, not {typed!r}")
        return SWITCHES[typed.lower()]
    return _within(field, value_of(field.name, typed, kinds_of(field.expected, {})))


def _chosen(field: FormField, typed: str) -> object:
    for at, choice in enumerate(field.choices, 1):
        if typed in (str(at), choice.shown, str(choice.value)):
            return choice.value
    raise WrongUsage(f"{typed!r} is not one of these: type a number")


def _within(field: FormField, value: object) -> object:
    """As far as a person can be told in a few words; the server looks at the rest."""
    size = len(value) if isinstance(value, str) else value
    names = ("minLength", "maxLength") if isinstance(value, str) else ("minimum", "maximum")
    low, high = (field.expected.get(name) for name in names)
    unit = " letters" if isinstance(value, str) else ""
    if isinstance(size, int | float) and isinstance(low, int | float) and size < low:
        raise WrongUsage(f"{field.name} has at least {low}{unit}" if unit else f"{field.name} is at least {low}")
    if isinstance(size, int | float) and isinstance(high, int | float) and size > high:
        raise WrongUsage(f"{field.name} has at most {high}{unit}" if unit else f"{field.name} is at most {high}")
    return value
