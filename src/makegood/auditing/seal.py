"""Seals: what a record's digest was on a day, kept elsewhere, so that no later rewriting goes unseen.

A seal is a file of JSON lines, one for each task. The last one is the SHA-256 over those before, as a string:
a seal that was cut short, or is empty, proves nothing.
"""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from makegood.auditing.records import Audited, Records
from makegood.errors import MakegoodError, PayloadError, UnknownTask
from makegood.reading.audit import Finding, Kind
from makegood.reading.proof import digest_at


class Sealed(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One line of a seal: up to this version the history of the task had this digest."""

    task_id: str
    version: int
    digest: str
    plan_version: str


_decode = msgspec.json.Decoder(Sealed | str).decode


class Seal:
    """A new seal file; use it in `with`. It is there in full afterwards, or not at all.

    Raises MakegoodError where it cannot be made or written, or is there already.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file: BinaryIO = path.open("xb")
        except FileExistsError:
            raise MakegoodError(f"{path} is there already; a seal is evidence: name a new file") from None
        except OSError as error:
            raise _unwritten(path, error) from None
        self._path = path
        self._over = hashlib.sha256()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        whole = False
        try:
            with self._file:
                if kind is None:
                    self._write(self._over.hexdigest())
            whole = kind is None
        except OSError as error:
            raise _unwritten(self._path, error) from None
        finally:
            if not whole:
                self._path.unlink(missing_ok=True)

    def add(self, audited: Audited) -> None:
        """Seal a task, unless its record does not hold together."""
        written, statement = audited
        if any(finding.kind is Kind.RECORD for finding in statement.findings):
            return
        self._write(Sealed(written.task_id, written.version, statement.digest, written.plan_version))

    def _write(self, what: Sealed | str) -> None:
        line = msgspec.json.encode(what) + b"\n"
        self._over.update(line)
        try:
            self._file.write(line)
        except OSError as error:
            raise _unwritten(self._path, error) from None


def _unwritten(path: Path, error: OSError) -> MakegoodError:
    return MakegoodError(f"{path}: {error.strerror}; name a file that can be written")


async def broken_seals(records: Records, path: Path) -> AsyncIterator[Finding]:
    """Every sealed task that no longer has the history it was sealed with; a longer one is fine.

    Raises PayloadError for a line that is no seal, and in the end for a seal that is not whole, MakegoodError
    for a file that cannot be read.
    """
    over, whole = hashlib.sha256(), False
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                sealed = _read(path, number, line)
                whole = sealed == over.hexdigest()
                over.update(line)
                if isinstance(sealed, Sealed) and (what := await _broken(records, sealed)):
                    yield Finding(Kind.SEAL, what, sealed.task_id, version=sealed.version)
    except OSError as error:
        raise MakegoodError(
            f"{path}: {error.strerror}; name a file that `makegood audit --seal` made"
        ) from None
    if not whole:
        raise PayloadError(
            f"{path} is no whole seal, it was cut short or changed: its last line is not the digest of those "
            "before; name a file that is as `makegood audit --seal` made it"
        )


def _read(path: Path, number: int, line: bytes) -> Sealed | str:
    try:
        return _decode(line)
    except msgspec.DecodeError as error:
        raise PayloadError(
            f"{path}, line {number}: {error}; name a file that `makegood audit --seal` made"
        ) from None


async def _broken(records: Records, sealed: Sealed) -> str:
    """What became of the sealed history; empty if it is still there."""
    try:
        written = (await records.one(sealed.task_id)).written
    except UnknownTask:
        return f"it was sealed at version {sealed.version}, and is not in the store any more"
    if written.version < sealed.version:
        return f"it was sealed at version {sealed.version}, and is at version {written.version} now"
    digest = digest_at(written, sealed.version)
    if digest is None or digest.hex() != sealed.digest:
        return f"its history up to version {sealed.version} is not the one that was sealed"
    if written.plan_version != sealed.plan_version:
        was, now = sealed.plan_version[:12], written.plan_version[:12]
        return f"it was sealed with plan {was}, and is pinned to {now} now"
    return ""
