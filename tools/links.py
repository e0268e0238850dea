"""The links of a Markdown text and the anchors it offers, as GitHub makes them."""

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote

LINK = re.compile(r'(?:\]\(<?|(?:src|srcset|href)=")([^)"\s>]+)')
HEADING = re.compile(r"#{1,6} +(.+?)[ #]*")
FENCE = re.compile(r" *(`{3,}|~{3,})")


def links(markdown: str) -> Iterator[tuple[int, str, str]]:
    """Each link inside the project: its line, the file ("" for the page itself), the anchor ("" for none)."""
    for number, line in _prose(markdown):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if not re.match(r"[a-z]+:", target):
                file, _, anchor = target.partition("#")
                yield number, unquote(file), anchor


def anchors(markdown: str) -> set[str]:
    """What may stand after a # in a link to this text."""
    seen: Counter[str] = Counter()
    found = set(re.findall(r'<a (?:id|name)="([^"]+)"', markdown))
    for _, line in _prose(markdown):
        if heading := HEADING.fullmatch(line):
            name = slug(heading[1])
            found.add(name if not seen[name] else f"{name}-{seen[name]}")
            seen[name] += 1
    return found


def slug(heading: str) -> str:
    """The anchor of a heading: `What it's for` is at #what-its-for."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def _prose(markdown: str) -> Iterator[tuple[int, str]]:
    """The lines outside of fenced blocks."""
    fence = ""
    for number, line in enumerate(markdown.splitlines(), 1):
        mark = FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark:
            fence = mark[1]
        else:
            yield number, line
