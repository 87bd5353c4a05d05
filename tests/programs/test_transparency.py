"""Real programs print, write and return the same with the recorder as without it, and the recorder's own checks find no
error; the same holds on the real-time pool or on the heap, and with HW_PROGRAMS=all on both and on an example allocator.

Each program runs by itself, with the recorder, and on one of the two by turns, in the same folder. If anything differs, it runs by
itself once more: differences between these two runs (times, ports, IDs) come from the program itself; then numbers are masked, and
files that differ are left out. Every stack is audited (HEAPWRIGHT_CHECK=1). HW_PROGRAMS=all also runs the slow ones;
HW_ONLY=NAME runs those whose name contains NAME.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import inputs
import program_table
import pytest
from allocators_library import EXAMPLES, build_allocator
from ports import free_port
from trace_header import read_header, traces_of_run

PRELUDE = """wait_for_server() {
  tries=0
  until bash -c "echo >/dev/tcp/127.0.0.1/$PORT" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 400 ] || { echo "nothing listens on $PORT" >&2; exit 99; }
    sleep 0.05
  done
}
"""
SLOWER_WITH_RECORDER = 20  # every stack is walked twice
SLOWER_ON_POOL = 4  # memory is touched at the start of each process
POOL = {"HEAPWRIGHT_POOL_SIZE": "16M", "HEAPWRIGHT_POOL_GROWTH": "64M"}
GROWTH = re.compile(rb"^heapwright: TLSF memory pool exhausted: \d+ bytes additionally mmaped\.( All of it is touched; .*)?\n", re.M)
TIER = os.environ.get("HW_PROGRAMS", "quick")
ALLOWED = [program for program in program_table.chosen(TIER)
           if os.environ.get("HW_ONLY", "") in program.name]


@dataclass(frozen=True)
class Result:
    status: int
    output: bytes
    errors: bytes
    files: dict


def installed_packages():
    listing = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n"], capture_output=True, text=True)
    return {line.split()[1] for line in listing.stdout.splitlines() if line.startswith("installed ")}


INSTALLED = installed_packages()


@pytest.fixture
def folder():
    """A folder that every user can read, unlike pytest's own: a database gives up its privileges."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="heapwright-programs-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def inputs_folder():
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="heapwright-inputs-") as name:
        Path(name).chmod(0o755)
        inputs.make_all(Path(name))
        yield Path(name)


def digests(folder):
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.suffix != ".log":
            files[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return files


class Bench:
    """One program, run in the same place each time."""

    def __init__(self, program, folder, inputs_folder):
        self.program = program
        self.folder = folder
        self.script = folder.with_name(folder.name + ".sh")
        self.script.write_text(PRELUDE + program.script)
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "TZ": "UTC",
                            "TERM": "dumb", "HOME": str(folder), "IN": str(inputs_folder), "PORT": str(free_port())}

    def run(self, before=(), more=None, timeout=None):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        # A static program is the command itself: `record` cannot know which programs a shell will start.
        shell = ["/bin/busybox", "sh"] if self.program.unseen else ["/bin/sh"]
        done = subprocess.run([*before, *shell, "-eu", str(self.script)], cwd=self.folder, capture_output=True,
                              stdin=subprocess.DEVNULL, env={**self.environment, **(more or {})},
                              timeout=timeout or self.program.timeout)
        return Result(done.returncode, done.stdout, done.stderr, digests(self.folder))


def masked(result):
    return Result(result.status, re.sub(rb"[0-9a-fA-F]*\d[0-9a-fA-F]*", b"N", result.output),
                  re.sub(rb"[0-9a-fA-F]*\d[0-9a-fA-F]*", b"N", result.errors), result.files)


def stable_files(first, second):
    return {name for name in first.files.keys() & second.files.keys() if first.files[name] == second.files[name]}


def assert_same(plain, run_again, recorded):
    if recorded == plain:
        return
    again = run_again()
    if (plain.output, plain.errors) != (again.output, again.errors):
        plain, again, recorded = masked(plain), masked(again), masked(recorded)
        assert (plain.output, plain.errors) == (again.output, again.errors), "differs without the recorder, too: make the script print less"
    assert recorded.errors.decode(errors="replace") == plain.errors.decode(errors="replace")
    assert recorded.output.decode(errors="replace") == plain.output.decode(errors="replace")
    assert recorded.status == plain.status
    assert recorded.files.keys() == plain.files.keys()
    for name in stable_files(plain, again):
        assert recorded.files[name] == plain.files[name], f"{name} has other contents"


def without_notes(recorded, program):
    """`record` prints its own lines about a program that it cannot record; the rest is the program's output."""
    said = rb"heapwright: " if program.unseen else rb"heapwright: \d+ process(es)? ran without being recorded"
    notes = [line for line in recorded.errors.splitlines(True) if re.match(said, line)]
    assert notes or not program.unseen, "record should report that it cannot record a static program"
    others = b"".join(line for line in recorded.errors.splitlines(True) if line not in notes)
    return Result(recorded.status, recorded.output, others, recorded.files)


def without_growth(pooled):
    """The pool begins small here, so that each helper does not touch 100 MB, and reports its growth."""
    return Result(pooled.status, GROWTH.sub(b"", pooled.output), GROWTH.sub(b"", pooled.errors), pooled.files)


def evidence_against(path):
    """The errors that a trace itself reports, in words."""
    header = read_header(path)
    wrong = []
    if header.audit_differences:
        wrong.append(f"{header.audit_differences} of {header.audited_stacks} audited stacks differ")
    if header.lost_events:
        wrong.append(f"{header.lost_events} events lost")
    if header.state not in (0, 1):
        wrong.append(f"stopped with state {header.state}")
    return [f"{path.name}: {what}" for what in wrong]


def test_every_program_of_the_table_is_told_apart():
    names = [program.name for program in program_table.load()]
    assert len(names) == len(set(names))
    assert len({program.name for program in program_table.chosen("quick")}) >= 60


@pytest.mark.parametrize("program", ALLOWED, ids=lambda program: program.name.replace(" ", "-"))
def test_program(program, hw, build, mallocs, inputs_folder, folder):
    missing = [package for package in program.packages if package not in INSTALLED]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")
    bench = Bench(program, folder / "work", inputs_folder)
    plain, run_again = bench.run(), cache(bench.run)
    assert plain.status == program.exit_status, f"without the recorder: {plain.errors.decode(errors='replace')[-2000:]}"
    trace = folder / "run.hwt"
    recorded = bench.run([str(build / "bin/heapwright"), "record", "--quiet", "-o", str(trace), "--"],
                         {"HEAPWRIGHT_CHECK": "1"}, program.timeout * SLOWER_WITH_RECORDER)
    assert_same(plain, run_again, without_notes(recorded, program) if program.unseen or program.others_unseen else recorded)
    for malloc in mallocs(program) if program.any_malloc else ():
        check_on(malloc, bench, plain, run_again)
    if program.unseen:
        return
    traces = traces_of_run(trace)
    assert traces, "no trace was made"
    assert not [line for path in traces for line in evidence_against(path)]
    report = hw("report", "--json", str(trace))
    assert report.returncode == 0, report.stderr


@pytest.fixture(scope="module")
def mallocs(build):
    """mallocs(program): the libraries that replace libc's malloc. The pool or the heap, in the order of the table by turns; with
    HW_PROGRAMS=all both, and the example that claims to run any program."""
    own = [build / "lib/libheapwright-tlsf.so", build / "lib/libheapwright-heap.so"]
    if TIER != "all":
        names = [program.name for program in program_table.chosen(TIER) if program.any_malloc]
        yield lambda program: [own[names.index(program.name) % len(own)]]
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="heapwright-mallocs-") as name:
        Path(name).chmod(0o755)
        all_of_them = [*own, build_allocator(Path(name), EXAMPLES / "counting.cc")]
        yield lambda program: all_of_them


def check_on(malloc, bench, plain, run_again):
    served = without_growth(bench.run(more={"LD_PRELOAD": str(malloc), **POOL}, timeout=bench.program.timeout * SLOWER_ON_POOL))
    if any(served.files.get(name) != contents for name, contents in plain.files.items()):
        again = run_again()
        if any(served.files.get(name) != plain.files[name] for name in stable_files(plain, again)):
            filled = bench.run(more={"MALLOC_PERTURB_": "85"})  # shows uninitialised memory in files
            again = Result(again.status, again.output, again.errors, filled.files)
            run_again = lambda: again  # noqa: E731
    assert_same(plain, run_again, served)
