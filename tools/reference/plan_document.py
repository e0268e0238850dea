"""The plan document as a JSON Schema: what `PlanDefinition.from_document` and PLAN.json take."""

from typing import Any

import msgspec

from makegood.core.document import PLAN_NAME, RESERVED_NAMES, STEP_NAME, StepNode

Schema = dict[str, Any]

PART = {"$ref": "#/$defs/Part"}
TEMPLATE = {"$ref": "#/$defs/Template"}
PATH = {"type": "array", "items": {"type": ["string", "integer"]}}
WAYS_BACK = (
    {"required": ["undo"]},
    {"required": ["reads"], "properties": {"reads": {"const": True}}},
    {"required": ["pivot"], "properties": {"pivot": {"const": True}}},
)
"""Of which a step declares exactly one."""


def schema() -> Schema:
    """The schema, without its head. References, names used twice and numbers are checked by from_document."""
    _, defs = msgspec.json.schema_components([StepNode], ref_template="#/$defs/{name}")
    step = defs.pop("StepNode")
    return _object(
        {
            "format": {"const": 1, "default": 1},
            "plan": {"type": "string", "pattern": f"^{PLAN_NAME.pattern}$"},
            "input": {"type": "object", "default": {}, "description": "the JSON Schema of the input"},
            "body": PART,
            "output": TEMPLATE | {"default": None},
            "secrets": {
                "type": "object",
                "default": {},
                "description": 'by step, or "input", the paths that nobody shall see; "*" is every item',
                "additionalProperties": {"type": "array", "items": PATH},
            },
        },
        required=["plan", "body"],
    ) | {"$defs": {"Part": _part(), "Step": _step(step), "Template": _template(), **defs}}


def _part() -> Schema:
    groups = {
        "series": "parts that run one after the other",
        "parallel": "branches that run at the same time",
    }
    parts = {"type": "array", "items": PART, "minItems": 1}
    told = [_object({name: parts}, required=[name], description=what) for name, what in groups.items()]
    return {"anyOf": [{"$ref": "#/$defs/Step"}, *told]}


def _step(made: Schema) -> Schema:
    """What msgspec makes of a step, with what it cannot know."""
    fields = made["properties"]
    fields["step"] |= {"pattern": f"^{STEP_NAME.pattern}$", "not": {"enum": sorted(RESERVED_NAMES)}}
    fields["args"] |= {"additionalProperties": TEMPLATE}
    for name in ("agent", "action"):
        fields[name] |= {"minLength": 1}
    return made | {"title": "Step", "oneOf": [*WAYS_BACK]}


def _template() -> Schema:
    """What stands in a document for a value of a task."""
    reference = {"$ref": {"type": "string", "description": 'a step, or "input"'}, "path": PATH}
    return {
        "description": "JSON, in which a recorded value, or a part of one, is referred to",
        "anyOf": [
            _object(reference, required=["$ref"]),
            _object({"$lit": {"description": "JSON that is taken as it is"}}, required=["$lit"]),
            {
                "type": "object",
                "propertyNames": {"pattern": r"^(?!\$)"},
                "additionalProperties": TEMPLATE,
            },
            {"type": "array", "items": TEMPLATE},
            {"type": ["string", "number", "boolean", "null"]},
        ],
    }


def _object(properties: Schema, *, required: list[str], **more: Any) -> Schema:
    """An object that has these fields and no others."""
    known = {"type": "object", "properties": properties, "required": required}
    return more | known | {"additionalProperties": False}
