"""Python values <-> JSON, exactly or not at all; and templates, which carry recorded values to a step.

A payload (an input, a result, a task's output) is stored as compact JSON and read back through its type
hint. Before it is stored it is read back: if what comes back is not equal to what was given, nothing is
written, and PayloadError names the path of what could not be kept (`input.legs[3].price`).
"""

from makegood.payload.codec import PAYLOAD_MAX, Codec, codec_for, convert, decode, encode
from makegood.payload.comparing import canonical, differing_paths, lost_paths
from makegood.payload.faults import at
from makegood.payload.templates import MissingPath, Resolve, Template, compile_template, resolve

__all__ = [
    "PAYLOAD_MAX",
    "Codec",
    "MissingPath",
    "Resolve",
    "Template",
    "at",
    "canonical",
    "codec_for",
    "compile_template",
    "convert",
    "decode",
    "differing_paths",
    "encode",
    "lost_paths",
    "resolve",
]
