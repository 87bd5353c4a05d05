"""pool.py - the instructions of single calls of malloc and free, on the pool and on other allocators: pool.py --build BUILD

Each call is counted separately under callgrind (pool_calls.c), so that the machine's noise does not affect the figures. An
allocator that is not installed is left out. With --document the table is written to docs/pool.md.
"""
import argparse
import glob
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(os.path.dirname(HERE), "docs", "pool.md")
END = "<!-- end -->\n"
SEQUENCES = ("random", "threads", "adversarial", "others")
OF_THE_POOL = ("alone",)  # shows which part of `others` is the pool's lock
CALLS = 2000
PEERS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2*",
         "tbb": "libtbbmalloc_proxy.so.2"}


def find_libraries(build):
    """Name and path of each installed allocator; None is the program's own."""
    found = {"pool": os.path.join(build, "lib", "libheapwright-tlsf.so")}
    for name, pattern in PEERS.items():
        paths = sorted(glob.glob(f"/usr/lib/*-linux-gnu/{pattern}")) if pattern else [None]
        if paths:
            found[name] = paths[0]
    return found


def taking_turns(libraries, rounds, one):
    """{allocator: [one(what libraries has for it), ...]}. Each round runs all of them, so that other load on the machine affects all; in
    another order each time, since memory that the program before has touched costs less on a virtual machine."""
    found = {name: [] for name in libraries}
    for number in range(rounds):
        for name in random.Random(number).sample(list(libraries), len(libraries)):
            found[name].append(one(libraries[name]))
    return found


def parts(path):
    """(called function, instructions) of each part of callgrind's output for the first thread, which makes the calls."""
    called = thread = None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("thread:"):
                thread = int(line.split()[1])
            elif line.startswith("desc: Trigger:"):
                called = line.partition("Client Request:")[2].strip()
            elif line.startswith("summary:") and called:
                if thread == 1:
                    yield called, int(line.split()[1])
                called = None


def build_program(folder):
    """Builds pool_calls; it uses the C++ runtime's operators with allocators that have none."""
    program = os.path.join(folder, "pool_calls")
    subprocess.run(["gcc", "-O2", "-fno-builtin", "-pthread", "-Wl,-z,now", os.path.join(HERE, "pool_calls.c"), "-o", program, "-lstdc++"],
                   check=True)
    return program


def count(program, library, sequence, folder):
    """Instructions of each malloc and of each free, sorted."""
    out = os.path.join(folder, "callgrind")
    env = {**os.environ, "HEAPWRIGHT_POOL_SIZE": "50M"}
    if library:
        env["LD_PRELOAD"] = library
    subprocess.run(["valgrind", "-q", "--tool=callgrind", "--combine-dumps=yes", "--separate-threads=yes",
                    f"--callgrind-out-file={out}", program, sequence, str(CALLS)], env=env, check=True, stderr=subprocess.DEVNULL)
    found = {}
    for called, instructions in parts(out):
        found.setdefault(called, []).append(instructions)
    os.remove(out)
    nothing = found.pop("nothing")[0]
    found.pop("moved", None)
    return {called: sorted(each - nothing for each in counts) for called, counts in found.items()}


def row(name, sequence, called, counts):
    at = lambda share: counts[min(len(counts) - 1, int(share * len(counts)))]
    return f"| {name} | {sequence} | {called} | {sum(counts) / len(counts):.0f} | {at(0.5)} | {at(0.99)} | {counts[-1]:,} |\n"


def measure(build):
    table = "| allocator | calls | | mean | median | 99 % | most |\n|---|---|---|---:|---:|---:|---:|\n"
    with tempfile.TemporaryDirectory(prefix="heapwright-pool-") as folder:
        program = build_program(folder)
        for name, library in find_libraries(build).items():
            for sequence in SEQUENCES + (OF_THE_POOL if name == "pool" else ()):
                for called, counts in sorted(count(program, library, sequence, folder).items(), reverse=True):
                    table += row(name, sequence, called, counts)
    return table


def document(table, maker, path=None):
    """Writes a table into the page (None: docs/pool.md), at the mark of `maker`."""
    path = path or PAGE
    begin = f"<!-- made by bench/{maker} --document -->\n"
    with open(path, encoding="utf-8") as page:
        text = page.read()
    if text.count(begin) != 1 or END not in text.partition(begin)[2]:
        raise SystemExit(f"{maker}: {path} has no place for the table")
    before, _, after = text.partition(begin)
    with open(path, "w", encoding="utf-8") as page:
        page.write(before + begin + table + END + after.partition(END)[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(os.path.dirname(HERE), "build"))
    parser.add_argument("--document", action="store_true", help="write the table to docs/pool.md")
    given = parser.parse_args()
    table = measure(os.path.abspath(given.build))
    sys.stdout.write(table)
    if given.document:
        document(table, "pool.py")


if __name__ == "__main__":
    main()
