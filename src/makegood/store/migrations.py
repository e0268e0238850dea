"""Numbered SQL files, each applied once; what was applied is kept in the store with a checksum."""

import hashlib
from collections.abc import Sequence
from functools import cache

import msgspec

from makegood.errors import SchemaMismatch
from makegood.store.queries import sql_folder


class Applied(msgspec.Struct, frozen=True):
    """A migration as a store remembers it."""

    number: int
    name: str
    checksum: str


class Migration(msgspec.Struct, frozen=True):
    """One change of the schema."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the text: tells whether a store was given this very migration."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """The migrations this code has for one kind of database, in order."""
    files = sorted((sql_folder() / "migrations" / dialect).iterdir(), key=lambda file: file.name)
    names = [file.name.removesuffix(".sql") for file in files]
    return tuple(
        Migration(int(name[:4]), name, file.read_text("utf-8"))
        for name, file in zip(names, files, strict=True)
    )


def pending(place: str, known: Sequence[Migration], applied: Sequence[Applied]) -> tuple[Migration, ...]:
    """What this code knows and the store lacks; raises SchemaMismatch where the store has something else."""
    by_number = {migration.number: migration for migration in known}
    for old in applied:
        new = by_number.pop(old.number, None)
        if new is None:
            raise SchemaMismatch(
                f"{place} was written by a newer makegood: it has migration {old.name}, "
                "which this version does not know; upgrade makegood"
            )
        if new.checksum != old.checksum:
            raise SchemaMismatch(
                f"{place} has migration {old.name} in another form than this makegood's {new.name}: "
                "it was made by another build; use that build, or start on a new store"
            )
    return tuple(by_number.values())
