"""The site is built from docs/ without a complaint, and fetches nothing from anywhere."""

import re
from pathlib import Path

import pytest

from tools.site import CONTENTS, ROOT, build, contents, pages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(folder / "site", folder / "work")
    return folder / "site"


def html(site: Path, page: str) -> Path:
    """Where a page of the project lies in the site."""
    return site / page.replace("README.md", "index.html").replace(".md", ".html")


def test_every_page_is_there(site: Path) -> None:
    assert [page for page in pages() if not html(site, page).is_file()] == []


def test_nothing_is_fetched(site: Path) -> None:
    for file in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = file.read_text("utf-8")
        assert re.findall(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=.(?:https?:)?//[^>]*", text) == []
        assert re.findall(r"(?:url\(|@import)\s*.?(?:https?:)?//", text) == []


def test_links_between_pages_lead_to_files(site: Path) -> None:
    for file in site.rglob("*.html"):
        for target in re.findall(r'href="([^"#?]+)', file.read_text("utf-8")):
            if file.name != "404.html" and not re.match(r"\w+:", target):
                assert (file.parent / target).exists(), f"{file.relative_to(site)}: {target}"


def test_code_is_coloured_and_named(site: Path) -> None:
    text = html(site, "docs/first-plan.md").read_text("utf-8")
    assert '<span class="filename">shop.py</span>' in text
    assert '<span class="k">class</span>' in text
    assert "```" not in text


def test_the_contents_come_in_the_order_of_docs_readme() -> None:
    sections = [next(iter(each)) for each in contents((ROOT / CONTENTS).read_text("utf-8"))]
    assert sections == ["Home", "Contents", "Begin", "Understand", "Build", "Operate", "Reference", "Inside"]


def test_a_dead_link_stops_the_build(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "proofs/README.md", CONTENTS):
        (project / page).parent.mkdir(parents=True, exist_ok=True)
        (project / page).write_text("# A page\n")
    build(tmp_path / "site", tmp_path / "work", project)
    (project / CONTENTS).write_text("# A page\n\n[x](nowhere.md)\n")
    with pytest.raises(SystemExit, match=r"nowhere\.md"):
        build(tmp_path / "site", tmp_path / "work", project)
