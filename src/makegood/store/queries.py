"""SQL is kept in .sql files, with `-- name --` above each query."""

import re
from pathlib import Path

_NAME = re.compile(r"^-- (\w+) --\n", re.MULTILINE)


def sql_folder() -> Path:
    """Where the queries and migrations of every backend lie."""
    return Path(__file__).parent / "sql"


def load_queries(file_name: str) -> dict[str, str]:
    """The queries of one file, by name."""
    _, *parts = _NAME.split((sql_folder() / file_name).read_text("utf-8"))
    return {name: text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
