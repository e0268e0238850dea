"""Builds the documentation as a site: `python -m tools.site`, in the folder of the project, into build/site.

The site is the project's Markdown as it lies, with whatever files it links to, so that a link leads to the
same place here, on GitHub and in an editor. Its contents are those of docs/README.md. Nothing is fetched: not
here, and not by who reads the site; it may be read from the disk.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.links import links

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
CONTENTS = "docs/README.md"


def pages(root: Path = ROOT) -> list[str]:
    """The Markdown files of the site, by their paths in the project."""
    docs = (path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md"))
    return ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "proofs/README.md", *sorted(docs)]


def contents(text: str) -> list[dict[str, object]]:
    """The navigation: the headings of docs/README.md, and the links below each."""
    found: list[dict[str, object]] = [{"Home": "README.md"}, {"Contents": CONTENTS}]
    for section in text.split("\n## ")[1:]:
        listed = [
            {title: _inside(target)}
            for title, target in re.findall(r"^- \[(.+?)\]\((.+?)\)", section, re.MULTILINE)
        ]
        found.append({section.partition("\n")[0]: listed})
    return found


def _inside(target: str) -> str:
    """A link of docs/README.md as a path in the project."""
    folder = target.endswith("/")
    return target.removeprefix("../") if target.startswith("../") else f"docs/{target}{'README.md' * folder}"


def stage(folder: Path, root: Path = ROOT) -> None:
    """Copy all that belongs to the site into an empty folder, each file to where it lies in the project."""
    for page in pages(root):
        text = (root / page).read_text("utf-8")
        _put(folder / page, _folders_named(root / page, text))
        for file in _linked(root / page, text):
            if file.is_file() and file.suffix != ".md":
                target = folder / file.relative_to(root)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)


def _folders_named(page: Path, text: str) -> str:
    """A link to a folder leads to its README, as it does elsewhere."""
    for _, file, _ in links(text):
        if file and (page.parent / file / "README.md").is_file():
            text = text.replace(f"]({file})", f"]({file.rstrip('/')}/README.md)")
    return text


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def _linked(page: Path, text: str) -> Iterator[Path]:
    for _, file, _ in links(text):
        if file:
            yield (page.parent / file).resolve()


def config(source: Path, site: Path, root: Path = ROOT) -> dict[str, object]:
    """The settings of the site generator."""
    return {
        "site_name": "makegood",
        "site_url": "",
        "use_directory_urls": False,
        "docs_dir": str(source),
        "site_dir": str(site),
        "nav": contents((root / CONTENTS).read_text("utf-8")),
        "theme": {"name": "readthedocs", "highlightjs": False, "navigation_depth": 3},
        "extra_css": ["site.css"],
        "validation": {
            "nav": {"omitted_files": "info", "not_found": "warn"},
            "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "info"},
        },
        "markdown_extensions": [
            "tables",
            "pymdownx.superfences",
            {"pymdownx.highlight": {"css_class": "code", "guess_lang": False}},
            {"toc": {"permalink": True}},
        ],
    }


def build(site: Path, work: Path, root: Path = ROOT) -> None:
    """Build the site, with work files beside it. Raises SystemExit with the complaints, if there are any."""
    for folder in (site, work):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    source, settings = work / "source", work / "mkdocs.yml"
    stage(source, root)
    _put(source / "site.css", (Path(__file__).parent / "site.css").read_text("utf-8") + _colours())
    _put(settings, json.dumps(config(source, site, root)))  # JSON is YAML
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(settings)]
    run = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        raise SystemExit(re.sub(r"^INFO .*\n", "", run.stderr, flags=re.MULTILINE))


def _colours() -> str:
    command = [sys.executable, "-m", "pygments", "-f", "html", "-S", "friendly", "-a", ".code"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Build it into build/site."""
    build(BUILD / "site", BUILD / "site-work")
    sys.stdout.write(f"{(BUILD / 'site' / 'index.html').relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
