"""Why something that is meant to be JSON is none, and the way out."""

import os
import re
import shlex
from codecs import BOM_UTF16_BE, BOM_UTF16_LE

import msgspec

UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE, b"{\0", b"[\0", b'"\0', b"\0{", b"\0[", b'\0"')
"""How text in UTF-16 begins, with its mark or without."""
TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"?')
"""The texts in what is meant to be JSON; the last of them may have no end."""
NO_NUMBER = re.compile(rb"(?:^|[\[:,])\s*-?(?:NaN|Infinity|nan|inf)\s*(?:$|[\],}])")
"""NaN or infinity, in the place of a value."""
MALFORMED = "JSON is malformed: "
NO_QUOTES = f"{MALFORMED}its texts stand in double quotes, not in single ones"
CUT = f"{MALFORMED}it ends in the middle"
BY_A_SHELL = ("must be strings", "invalid character", "trailing characters", "in the middle")
"""What is said of JSON that lost its quotes to a shell, or what stands behind a blank."""
WORD_MAX = 60
"""Characters of what is no JSON up to which it is shown as the text that may be meant."""


def is_utf16(raw: bytes) -> bool:
    """Whether it is text in UTF-16, as some editors and shells write it."""
    return raw.startswith(UTF16)


def reason(error: Exception, raw: bytes) -> str:
    """Why it is no JSON; one message of the decoder stands for several."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply; make it flatter, a list of parts say"
    if is_utf16(raw):
        return "it is UTF-16, and JSON is UTF-8; save it as that"
    if isinstance(error, UnicodeError) or "UTF-8" in str(error):
        return "it is not valid UTF-8; save it as that"
    bare = TEXTS.sub(b'""', raw)
    if NO_NUMBER.search(bare):
        return f"{MALFORMED}NaN and infinity have no JSON; give null, or leave it out"
    if isinstance(error, msgspec.ValidationError):  # without a type it only says this, and no place
        return (
            "a number in it is too large: neither a double nor an integer of 4,300 digits can hold it; "
            "write it as a text"
        )
    if b"'" in bare and bare.lstrip()[:1] in b"{['":
        return NO_QUOTES
    if str(error) != "Input data was truncated":
        return str(error)
    if b"\\ud" in raw.lower():
        return f"{MALFORMED}it holds half of a surrogate pair, which is no text; give both halves, or neither"
    return CUT


def way_out(source: str, why: str) -> str:
    """What may be meant by JSON that stands on a command line and is none; empty where `why` says it all."""
    if os.path.isfile(source):
        return f"; a file is given as {shlex.quote(f'@{source}')}"
    if why == NO_QUOTES:
        return """; in a shell write '{"key": "text"}'"""
    if not any(words in why for words in BY_A_SHELL):
        return ""
    if source[0] not in '{["' and source.isprintable() and len(source) <= WORD_MAX:
        return f"; a text is written {shlex.quote(msgspec.json.encode(source).decode())}"
    lost = '"' not in source or why == CUT
    return "; in a shell, put it in single quotes" if lost else ""
