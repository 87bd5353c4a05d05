#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with small traces, raw and packed, in the form that fuzz_reader reads."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from trace_header import read_header  # noqa: E402

PAGE = 4096
TOOL_AREA_OFF = PAGE
CHUNKS_OFF = TOOL_AREA_OFF + (1 << 20)
COMMANDS = {"sort": ["/usr/bin/sort", "/etc/passwd"], "list": ["/bin/ls", "/"], "children": ["/bin/sh", "-c", "(:); ls / | cat; exec true"]}


def without_empty_middle(raw):
    """A raw trace in the form of fuzz_reader's inputs: the header, the first page of the tool area, the chunks."""
    used = read_header(raw).used_bytes
    with open(raw, "rb") as file:
        head = file.read(2 * PAGE)
        file.seek(CHUNKS_OFF)
        return head + file.read(used - CHUNKS_OFF)


def make_raw(build, folder, name, command, **variables):
    trace = folder / f"{name}.hwt"
    environment = {"LD_PRELOAD": str(build / "lib/libheapwright-record.so"), "HEAPWRIGHT_OUTPUT": str(trace),
                   "HEAPWRIGHT_MAX_SIZE": "4M", "HEAPWRIGHT_CHILDREN": "0", "PATH": os.environ["PATH"], **variables}
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    (folder / f"{name}.raw").write_bytes(without_empty_middle(trace))
    trace.unlink()


def make_packed(build, folder, name, command):
    trace = folder / f"{name}.packed"
    subprocess.run([build / "bin/heapwright", "record", "--quiet", "--no-children", "-o", trace, "--", *command],
                   stdout=subprocess.DEVNULL, check=True)


def main():
    build, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    for name, command in COMMANDS.items():
        make_raw(build, folder, name, command)
        make_packed(build, folder, name, command)
    make_raw(build, folder, "timed", COMMANDS["sort"], HEAPWRIGHT_DURATIONS="1")
    make_raw(build, folder, "sampled", COMMANDS["sort"], HEAPWRIGHT_SAMPLE="1K")
    with tempfile.TemporaryDirectory() as place:
        program = Path(place) / "scopes"
        subprocess.run(["g++", "-std=c++17", "-pthread", f"-I{ROOT}/include", ROOT / "tests/record/programs/scopes.cc", "-o", program], check=True)
        make_raw(build, folder, "scopes", [program, "instances"])
        make_packed(build, folder, "scopes", [program, "instances"])


main()
