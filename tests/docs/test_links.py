"""Links inside the project lead somewhere: to a file that is there, and to a heading in it."""

from pathlib import Path

import pytest

from tools.links import anchors, links
from tools.site import ROOT, pages


def dead(page: str, root: Path = ROOT) -> list[str]:
    """The links of a page that lead nowhere, with what is wrong."""
    text = (root / page).read_text("utf-8")
    return [
        f"{page}:{line}: {file}#{anchor}: {wrong}"
        for line, file, anchor in links(text)
        if (wrong := _wrong(root / page, file, anchor, root))
    ]


def _wrong(page: Path, file: str, anchor: str, root: Path) -> str:
    target = (page.parent / file).resolve() if file else page
    if not target.is_relative_to(root):
        return "it is outside of the project"
    if not target.exists():
        return "there is no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8")):
        return "there is no such heading"
    return ""


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str) -> None:
    assert dead(page) == []


def test_every_page_stands_in_the_contents() -> None:
    contents = ROOT / "docs" / "README.md"
    listed = {(contents.parent / file).resolve() for _, file, _ in links(contents.read_text("utf-8"))}
    apart = ROOT / "docs" / "decisions"
    docs = {ROOT / page for page in pages() if page.startswith("docs/")} - {contents}
    assert sorted(str(page) for page in docs - listed if page.parent != apart) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[a](b.md)", "there is no such file"),
        ("![a](b.svg)", "there is no such file"),
        ('<img src="b.svg">', "there is no such file"),
        ("[a](#here)", "there is no such heading"),
        ("[a](other.md#there)", "there is no such heading"),
        ("[a](../../b.md)", "it is outside of the project"),
        ("a `[b](c)` and [d](e.md)", "there is no such file"),
    ],
)
def test_a_dead_link_is_found(text: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Here\n")
    (tmp_path / "page.md").write_text(f"{text}\n\n```text\n# Here\n[c](d.md)\n```\n")
    [found] = dead("page.md", tmp_path)
    assert found.startswith("page.md:1: ")
    assert found.endswith(wrong)


def test_a_living_link_is_none(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("## What `it` is: 2\n\n## What it is 2\n<a id='x'></a>\n")
    (tmp_path / "page.md").write_text(
        "# Here\n[a](other.md#what-it-is-2) [b](other.md#what-it-is-2-1) [c](#here) [d](https://a.example/b)"
        " `[f](g)`\n"
    )
    assert dead("page.md", tmp_path) == []
