"""test_links.py - the targets of the documents' links, and the files that they name, exist: a page that moved leaves
readers without it
"""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
FOLDERS = "src|tests|tools|docs|bench|examples|include|web|cmake|packaging"


def anchors_of(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        if re.match(r"https?:", link):
            continue
        target = (page.parent / path) if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_are_there(page):
    for name in re.findall(rf"`((?:{FOLDERS})/[\w./*-]+)`", page.read_text()):
        if re.search(r"[A-Z]{4}", name):  # NAME, AREA, FLOOR: placeholders for the reader
            continue
        assert list(ROOT.glob(name.rstrip("/"))) or name.startswith("web/node_modules"), name


def test_sources_in_the_architecture_are_there():
    """By their names alone, or by paths that begin with a floor."""
    sources = [str(path.relative_to(ROOT)) for folder in ("src", "include", "web/src", "docs", "tests") for path in (ROOT / folder).rglob("*")]
    names = re.findall(r"`([\w./*-]+\.(?:c|h|ts|tsx))`", (ROOT / "docs/architecture.md").read_text())
    assert len(names) > 50
    for name in names:
        if not re.search(r"[A-Z]{4}", name):
            assert any(fnmatch(source, f"*/{name}") or source == name for source in sources), name


def test_each_page_is_linked():
    texts = {page: page.read_text() for page in PAGES}
    for page in ROOT.glob("docs/*.md"):
        assert any(f"{page.name})" in text for other, text in texts.items() if other != page), page.name
