#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with cached names, in the form that fuzz_name_cache reads."""

import struct
import sys
from pathlib import Path


def names(modules, answers, frames, texts):
    """`modules`: (name, mark, first answer); `answers`: (address, first frame); `frames`: (start, function, file,
    line, inlined, reason). Each list has a final entry that its count does not include."""
    head = struct.pack("<4H", len(modules) - 1, len(answers) - 1, len(frames), len(texts))
    return (head + b"".join(struct.pack("<QQQ", *module) for module in modules)
            + b"".join(struct.pack("<QQ", *answer) for answer in answers)
            + b"".join(struct.pack("<QIIIBBH", *frame, 0) for frame in frames) + texts)


def main():
    folder = Path(sys.argv[2])
    texts = b"\0main\0/a.c\0"
    (folder / "one").write_bytes(names([(1, 2, 0), (0, 0, 1)], [(3, 0), (0, 1)], [(0, 1, 6, 7, 0, 0)], texts))
    (folder / "two").write_bytes(names([(1, 2, 0), (2, 2, 2), (0, 0, 3)], [(3, 0), (9, 1), (3, 2), (0, 4)],
                                       [(0, 1, 6, 7, 1, 0), (5, 0, 0, 0, 0, 2), (0, 1, 0, 0, 0, 1), (0, 1, 6, 3, 0, 0)], texts))
    (folder / "none").write_bytes(names([(0, 0, 0)], [(0, 0)], [], b"\0"))


main()
