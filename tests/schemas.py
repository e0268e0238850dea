"""What is printed as JSON, held against its schema: no field is lost, and the schema tells of every one."""

from typing import Any

from jsonschema import Draft202012Validator

from tools.reference.schemas import FORMS, schema_of

SCHEMAS = {name: schema_of(name) for name in FORMS}


def strict(schema: Any) -> Any:
    """The same, and of every object that has its fields told, no other field is taken."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {"additionalProperties": False} if "properties" in schema else {}
    return {name: strict(value) for name, value in schema.items()} | closed


def faults(name: str, printed: Any) -> list[str]:
    """What of a document is not as its schema says."""
    validator = Draft202012Validator(strict(SCHEMAS[name]))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(printed)]
