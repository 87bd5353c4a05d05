"""test_layers.py - no folder under src/ includes one that is below it in the table of CONTRIBUTING.md

If this fails, code of the target may come to depend on code of the tools, or two folders on each other.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = re.findall(r"^\| `(\w+)/` \| ", (ROOT / "CONTRIBUTING.md").read_text(), re.M)


def test_the_table_has_every_folder():
    assert sorted(FOLDERS) == sorted(folder.name for folder in (ROOT / "src").iterdir() if folder.is_dir())


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_include_earlier_ones(folder):
    allowed, found = set(FOLDERS[:FOLDERS.index(folder) + 1]), set()
    for path in (ROOT / "src" / folder).rglob("*.[ch]"):
        found |= set(re.findall(r'^#\s*include "(\w+)/', path.read_text(), re.M))
    assert found & set(FOLDERS) <= allowed
