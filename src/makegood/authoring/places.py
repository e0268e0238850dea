"""Where in the user's own files something stands, for errors that name the line."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

_AUTHORING = os.path.dirname(__file__)
_PACKAGE = os.path.dirname(_AUTHORING)
_STANDARD_LIBRARY = os.path.dirname(os.__file__)


def place_of(fn: Callable[..., Any]) -> str:
    """`file.py:12`, where a function is defined."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return "<unknown place>" if code is None else place(code.co_filename, code.co_firstlineno)


def here() -> str:
    """`file.py:12`, the innermost line of the user's own code that runs now."""
    frames = [frame for frame in _frames(sys._getframe(1)) if _outside(frame, _AUTHORING)]
    own = next((frame for frame in frames if is_users(frame.f_code.co_filename)), None)
    frame = own or (frames[0] if frames else None)
    return "<unknown place>" if frame is None else place(frame.f_code.co_filename, frame.f_lineno)


def users_frames(trace: TracebackType | None) -> list[str]:
    """`file.py:12 in name` for every frame of the user's own code, outermost first."""
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_users(code.co_filename):
            found.append(f"{place(code.co_filename, trace.tb_lineno)} in {code.co_name}")
        trace = trace.tb_next
    return found


def from_users_code(trace: TracebackType | None) -> TracebackType | None:
    """A traceback from its first frame outside of makegood on."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE + os.sep):
        trace = trace.tb_next
    return trace


def imported_by(trace: TracebackType | None) -> set[str]:
    """The files that were being imported when an error was raised."""
    found = set()
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "<module>":
            found.add(code.co_filename)
        trace = trace.tb_next
    return found


def is_users(filename: str) -> bool:
    """Whether a file is the user's own: not ours, not Python's, not an installed package's."""
    foreign = filename.startswith(("<", _PACKAGE + os.sep, _STANDARD_LIBRARY + os.sep))
    return not foreign and "site-packages" not in Path(filename).parts


def place(filename: str, line: int) -> str:
    """`file.py:12`, seen from the working directory where the file lies below it."""
    path = Path(filename)
    try:
        shown = path.relative_to(Path.cwd()) if path.is_absolute() else path
    except (ValueError, OSError):
        shown = path
    return f"{shown}:{line}"


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _outside(frame: FrameType, folder: str) -> bool:
    return not frame.f_code.co_filename.startswith((folder + os.sep, "<"))
