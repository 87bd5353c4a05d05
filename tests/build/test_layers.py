"""test_layers.py - includes go one way: between the folders under src/, and between the rooms of a folder

If this fails, what runs in the target may come to need what runs in the tools, or two folders or rooms each other.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
FOLDERS = re.findall(r"^\| `(\w+)/` \| ", (ROOT / "CONTRIBUTING.md").read_text(), re.M)
# {folder: [room, ...]}, in the order of docs/architecture.md
ROOMS = {}
for folder, room in re.findall(r"^\| `(\w+)/(\w+)/` \| ", (ROOT / "docs/architecture.md").read_text(), re.M):
    ROOMS.setdefault(folder, []).append(room)


def included(path):
    return re.findall(r'^#\s*include "([\w/]+\.h)"', path.read_text(), re.M)


def test_the_table_has_every_folder():
    assert sorted(FOLDERS) == sorted(folder.name for folder in SOURCES.iterdir() if folder.is_dir())


def test_the_table_has_every_room():
    rooms = {}
    for room in SOURCES.glob("*/*/"):
        if room.is_dir():
            rooms.setdefault(room.parent.name, set()).add(room.name)
    assert rooms == {folder: set(names) for folder, names in ROOMS.items()}


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_include_earlier_ones(folder):
    allowed, found = set(FOLDERS[:FOLDERS.index(folder) + 1]), set()
    for path in (SOURCES / folder).rglob("*.[ch]"):
        found |= {name.split("/")[0] for name in included(path)}
    assert found & set(FOLDERS) <= allowed


@pytest.mark.parametrize("folder", ROOMS)
def test_rooms_include_earlier_ones(folder):
    """A room, with the folders in it, includes itself, earlier rooms, and the headers that belong to the whole folder. Those include
    no room."""
    rooms = ROOMS[folder]
    wrong = []
    for path in sorted((SOURCES / folder).rglob("*.[ch]")):
        _, *within, _ = path.relative_to(SOURCES).parts
        own = within[0] if within else None
        if own is None and path.suffix == ".c":
            continue  # sources of the whole folder join its rooms
        allowed = rooms[:rooms.index(own) + 1] if own else []
        for name in included(path):
            parts = name.split("/")
            if parts[0] == folder and len(parts) >= 3 and parts[1] not in allowed:
                wrong.append(f"{path.relative_to(SOURCES)} includes {name}")
    assert not wrong


def test_platform_knows_the_cpus():
    """What differs between CPUs is in platform/ (CONTRIBUTING.md, "Add a platform"), so that a port finds it there."""
    elsewhere = {
        "include/heapwright/annotate.h",  # programs compile it: how it follows their stacks
        "src/export/import/names_file.c", "src/export/synthetic.c",  # files of other tools do not say the CPU: any one is written
        "src/record/collectors/itt_abi.h",  # a layout is checked at compile time on one CPU
    }
    named = re.compile(r"\b__(x86_64|i386|aarch64|riscv|arm)\w*|\bEM_(X86_64|386|AARCH64|ARM|RISCV)\b")
    found = set()
    for path in [*SOURCES.rglob("*.[ch]"), *(ROOT / "include").rglob("*.[ch]")]:
        code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        if named.search(code) and (SOURCES / "platform") not in path.parents:
            found.add(str(path.relative_to(ROOT)))
    assert found == elsewhere
