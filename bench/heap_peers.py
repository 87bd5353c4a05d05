"""heap_peers.py - the heap and the allocators of Debian that it is compared with: their libraries, and programs that run on them"""
import os
import subprocess

import pool

BASE = "glibc"  # of ratios

# The heap's profiles, as in docs/heap.md, apart from the default.
PROFILES = {"fast": {"HEAPWRIGHT_HEAP_RETURNS": "on-collect", "HEAPWRIGHT_HEAP_PAGES": "transparent"},
            "compact": {"HEAPWRIGHT_HEAP_RETURNS": "above", "HEAPWRIGHT_HEAP_KEEP_FREE_BYTES": "12M", "HEAPWRIGHT_HEAP_PAGES": "small"}}

# How each one is asked to use huge pages. tcmalloc has no such setting.
HUGE = {"heap": {"HEAPWRIGHT_HEAP_PAGES": "transparent"}, "glibc": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, "jemalloc": {"MALLOC_CONF": "thp:always"},
        "mimalloc": {"MIMALLOC_ALLOW_LARGE_OS_PAGES": "1", "MIMALLOC_LARGE_OS_PAGES": "1"}, "tbb": {"TBB_MALLOC_USE_HUGE_PAGES": "1"}}

# {what is asked for: the settings that do it}
PAGES = {"by default": None, "huge pages": HUGE}


def find_libraries(build):
    """Name and path of the heap and of each installed allocator; None is the program's own."""
    peers = pool.find_libraries(build)
    del peers["pool"]
    return {"heap": os.path.join(build, "lib", "libheapwright-heap.so"), **peers}


def build_program(name, folder):
    """Compiles bench/NAME.c so that each malloc is called. Returns the program's path."""
    program = os.path.join(folder, name)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-fno-builtin", "-pthread", os.path.join(pool.HERE, name + ".c"), "-o", program], check=True)
    return program


def environment(library, more=None):
    return {**os.environ, **(more or {}), **({"LD_PRELOAD": library} if library else {})}


def run(program, library, arguments, more=None):
    """The numbers that the program prints."""
    done = subprocess.run([program, *map(str, arguments)], env=environment(library, more), check=True, capture_output=True, text=True)
    if done.stderr:
        raise SystemExit(f"{os.path.basename(program)}: {done.stderr}")
    return [int(word) for word in done.stdout.split()]


def asked(libraries, settings=None):
    """{allocator: (library, settings)} of those that have settings; None: of all of them, by default."""
    return {name: (library, settings and settings[name]) for name, library in libraries.items() if settings is None or name in settings}


def taking_turns(program, choices, rounds, arguments):
    """{name: [what the program prints, ...]}, for choices {name: (library, settings)}."""
    return pool.taking_turns(choices, rounds, lambda one: run(program, one[0], arguments, one[1]))


def table(title, libraries, rows):
    """Markdown. `rows`: (title, a text for each allocator)."""
    text = f"\n| {title} | " + " | ".join(libraries) + " |\n|---|" + "---:|" * len(libraries) + "\n"
    return text + "".join(f"| {row} | " + " | ".join(cells) + " |\n" for row, cells in rows)
