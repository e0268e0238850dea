"""Python values <-> JSON, exactly or not at all; and templates, which carry recorded values to a step.

A payload (an input, a result, a task's output) is stored as compact JSON and read back through its type
hint. Before it is stored it is read back: if what comes back is not equal to what was given, nothing is
written, and PayloadError names the path of what could not be kept (`input.legs[3].price`). Nor is anything
dropped when it is read: a field that the type does not have is refused.
"""

from makegood.payload.codec import PAYLOAD_MAX, Codec, codec_for, convert, decode, encode
from makegood.payload.comparing import canonical, differing_paths
from makegood.payload.envelope import Envelope, PayloadCodec
from makegood.payload.fields import Part, fields_of, further_fields
from makegood.payload.finding import UnknownField
from makegood.payload.foreign import field_as_written, is_model, is_root_model
from makegood.payload.hints import alternatives, unwrapped
from makegood.payload.outlines import outline_of
from makegood.payload.parts import at, field_names
from makegood.payload.schemas import names_in_json, schema_of
from makegood.payload.secrets import Secret, is_marked, mentions_mark, names_in
from makegood.payload.templates import MissingPath, Resolve, Template, compile_template, resolve

__all__ = [
    "PAYLOAD_MAX",
    "Codec",
    "Envelope",
    "MissingPath",
    "Part",
    "PayloadCodec",
    "Resolve",
    "Secret",
    "Template",
    "UnknownField",
    "alternatives",
    "at",
    "canonical",
    "codec_for",
    "compile_template",
    "convert",
    "decode",
    "differing_paths",
    "encode",
    "field_as_written",
    "field_names",
    "fields_of",
    "further_fields",
    "is_marked",
    "is_model",
    "is_root_model",
    "mentions_mark",
    "names_in",
    "names_in_json",
    "outline_of",
    "resolve",
    "schema_of",
    "unwrapped",
]
