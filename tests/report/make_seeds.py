#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with edits of a saved report, and one whole report, in the form that
fuzz_saved reads.
"""

import subprocess
import sys
from pathlib import Path


def main():
    tool, folder = Path(sys.argv[1]) / "bin/heapwright", Path(sys.argv[2])
    (folder / "none").write_bytes(b"")
    for off in range(0, 3000, 7):
        (folder / f"edit-{off}").write_bytes(bytes([off & 255, off >> 8]) + b"9")
    trace = folder / "true.hwt"
    subprocess.run([tool, "record", "-q", "-o", trace, "--", "/bin/true"], check=True)
    report = subprocess.run([tool, "report", "--json", trace], check=True, capture_output=True).stdout
    trace.unlink()
    (folder / "report").write_bytes(report)


main()
