"""Writes docs/reference from the code: `python -m tools.reference`, in the folder of the project."""

from pathlib import Path

from tools.reference import api, cli, facts, schemas

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
AGAIN = "python -m tools.reference"
"""How the pages are written again."""


def pages() -> dict[str, str]:
    """The text of each file, by its name."""
    written = {"cli.md": cli.page(), "api.md": api.page(), "facts.md": facts.page()}
    return written | schemas.files()


def main() -> None:
    """Write every file."""
    (FOLDER / "schemas").mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
