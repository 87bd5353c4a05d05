#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with edits of a summary, in the form that fuzz_summary reads."""

import sys
from pathlib import Path


def main():
    folder = Path(sys.argv[2])
    (folder / "none").write_bytes(b"")
    for off in range(0, 2000, 7):
        (folder / f"edit-{off}").write_bytes(bytes([off & 255, off >> 8, 0x7F]))


main()
