#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with edits of a summary, in the form that fuzz_summary reads."""

import sys
from pathlib import Path


def main():
    folder = Path(sys.argv[2])
    for recording in range(2):
        (folder / f"none-{recording}").write_bytes(bytes([recording]))
        for off in range(0, 2000, 7):
            (folder / f"edit-{recording}-{off}").write_bytes(bytes([recording, off & 255, off >> 8, 0x7F]))


main()
