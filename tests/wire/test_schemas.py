"""Schemas that results are promised by: whatever passes can be compiled by the clients that compile all of them."""

import json
import subprocess
from typing import Any

import pytest

from clawft.wire.schemas import MAX_DEPTH, flaw_of
from tests import peers
from tests.requirements import requirement

GOOD: list[Any] = [
    {},
    {"type": "object"},
    {"type": ["object", "null"], "properties": {"id": {}, "a": True, "type": {"type": "string"}}},
    {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"a/b": {}}, "$ref": "#/$defs/a~1b"},
    {"properties": {"a": {"$ref": "#"}}, "required": ["a"], "additionalProperties": {"type": "integer"}},
    {"items": [{"type": "string"}, {}], "additionalItems": False},
    {"anyOf": [{"minimum": 0.5}, {"enum": [1, "x", None]}], "not": {"const": 3}, "if": {}, "then": {}},
    {"pattern": r"^[\w.-]+@\d{2,3}(?:x|y)\.z$", "format": "something", "minLength": 1, "uniqueItems": True},
    {"pattern": r"^[\w\-\.\]{}]+\{\d{1,}\}\\$"},
    {"patternProperties": {"^x-": {"type": "string"}}, "dependentRequired": {"a": ["b"]}},
    {"new": 5, "description": "d", "deprecated": True},
]
BAD: list[Any] = [
    [],
    "x",
    True,
    {"type": "banana"},
    {"type": []},
    {"type": 5},
    {"properties": 5},
    {"properties": {"a": 5}},
    {"properties": {"a": {"type": None}}},
    {"required": "a"},
    {"required": [5]},
    {"enum": []},
    {"enum": "x"},
    {"allOf": []},
    {"anyOf": {}},
    {"anyOf": [5]},
    {"items": 5},
    {"not": None},
    {"additionalProperties": "no"},
    {"pattern": "["},
    {"pattern": 5},
    {"pattern": r"(?P<a>x)"},
    {"pattern": r"\Ax\Z"},
    {"pattern": r"x{,3}"},
    {"pattern": r"x\-y"},
    {"pattern": "x]"},
    {"pattern": "x++"},
    {"pattern": r"(x)\1"},
    {"patternProperties": {"[": {}}},
    {"minimum": "0"},
    {"exclusiveMinimum": True},
    {"minLength": "x"},
    {"uniqueItems": 5},
    {"id": "x"},
    {"$id": 5},
    {"$ref": "https://example.com/schema"},
    {"$ref": "#/$defs/none"},
    {"$ref": "other"},
    {"$ref": 5},
    {"$anchor": "5 5"},
    {"nullable": True},
    {"$defs": {"a": {"type": "banana"}}},
]
COMPILES = """
import Ajv from "ajv"; import formats from "ajv-formats"; import { readFileSync } from "node:fs";
const told = JSON.parse(readFileSync(0, "utf8")).map((schema) => {
  const ajv = new Ajv({ strict: false, validateFormats: true, validateSchema: false, allErrors: true, logger: false });
  formats(ajv);
  try { ajv.compile(schema); return ""; } catch (error) { return String(error); }
});
console.log(JSON.stringify(told));
"""


@requirement("SESS-09")
@pytest.mark.parametrize("schema", GOOD)
def test_a_schema_has_no_flaw(schema: Any) -> None:
    assert flaw_of(json.dumps(schema).encode()) == ""


@requirement("SESS-09")
@pytest.mark.parametrize("schema", BAD)
def test_one_that_is_none_has(schema: Any) -> None:
    assert flaw_of(json.dumps(schema).encode())
    assert flaw_of(json.dumps({"properties": {"a": {"anyOf": [{}, schema]}}}).encode()) or schema is True


@requirement("SESS-09", "QUAL-12")
def test_one_without_end_is_not_followed() -> None:
    assert flaw_of(b'{"not":' * (MAX_DEPTH + 2) + b"{}" + b"}" * (MAX_DEPTH + 2))
    assert flaw_of(b'{"not":' * 100_000 + b"{}" + b"}" * 100_000)


@pytest.mark.slow
@requirement("SESS-09", "QUAL-03")
def test_all_that_have_none_are_compiled_by_what_the_clients_use() -> None:
    ran = subprocess.run(
        [str(peers.node()), "--input-type=module", "-e", COMPILES],
        cwd=peers.PACKAGES.parent,
        input=json.dumps(GOOD),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [""] * len(GOOD)
