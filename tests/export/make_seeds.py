#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with small recordings of heaptrack and heaphook, in the form that
fuzz_import reads.
"""

import gzip
import subprocess
import sys
from pathlib import Path

HEAPTRACK = """v 10400 3
x 8 /no/such
X /no/such a b
I 1000 100
m 1 -
m 1 x 400000 0 1000
m 7 /lib/x. 700000 0 1000 2000 1000
t 400100 0
t 400200 1
t 700100 2
+ 10 1 1000
+ 20 2 2000
c a
R 5
- 1000
m 1 -
t 7000 0
+ 8 3 3000
A
"""
INTERPRETED = """v 10400 3
X /no/such a b
I 1000 100
s 6 /no/so
s 4 main
s 3 a.c
i 400100 1 2 3 5 2 3 9
i 500 0
t 1 0
t 2 1
a 10 1
a 20 2
+ 0
+ 1
c a
R 5
- 1
+ 1
"""
OLD_LOG = """malloc 0x0 100 0x1000
calloc 0x0 200 0x2000
realloc 0x1000 300 0x3000
free 0x2000 0 0x0
malloc_usable_size 0x3000 0 0x0
posix_memalign 0x0 64 0x4000
"""


def main():
    build, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    (folder / "heaptrack").write_text(HEAPTRACK)
    (folder / "heaptrack.gz").write_bytes(gzip.compress(HEAPTRACK.encode()))
    (folder / "interpreted").write_text(INTERPRETED)
    (folder / "old.log").write_text(OLD_LOG)
    tool, trace, log = build / "bin/heapwright", folder / "true.hwt", folder / "true.heaplog"
    subprocess.run([tool, "record", "--quiet", "--no-children", "-o", trace, "--", "/usr/bin/sort", "/dev/null"], check=True)
    subprocess.run([tool, "export", trace, "-o", log], check=True)
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:100]))
    trace.unlink()


main()
