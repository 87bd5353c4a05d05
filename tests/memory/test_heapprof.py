"""test_heapprof.py - heapprof's listing: three programs like its own tests, with the assertions of its own tests"""

import json
import os
import re
import resource
import subprocess

import pytest

from heap_listing import build_program

BLOCKS = [131073] * 4 + [131071] * 4
FRAMES = {"HEAPWRIGHT_FRAMES": "8"}


@pytest.fixture(scope="module")
def snapshots(program_folder):
    return build_program(program_folder, "snapshots.c", "snapshots", "-pthread")


@pytest.fixture
def annotated(build):
    return {**os.environ, "LD_PRELOAD": str(build / "lib/libheapwright-annotate.so"), **FRAMES}


@pytest.fixture
def crash(annotated, tmp_path):
    """crash(command): the core dump of a command that a signal ends, on the annotating library."""
    pattern = open("/proc/sys/kernel/core_pattern", encoding="ascii").read()
    if pattern.startswith("|") or "/" in pattern:
        pytest.skip("core dumps are not written to the working directory")

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, env=annotated, capture_output=True, check=False, timeout=120,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
        assert done.returncode == -11, done
        return next(tmp_path.glob("core*"))

    return run


def stacks_of(text):
    """[(percent, bytes, sizes, lines of functions)] of a listing, each of whose lines has heapprof's form."""
    stacks = []
    for line in text.splitlines():
        head = re.fullmatch(r"(\d+)% (\d+) \[(\d+(?:, \d+)*)\]", line)
        if head:
            stacks.append((int(head[1]), int(head[2]), [int(size) for size in head[3].split(", ")], []))
        else:
            assert re.fullmatch(r"  0x[0-9a-f]+ \S.*", line), line
            stacks[-1][3].append(line)
    for _, total, sizes, _ in stacks:
        assert total == sum(sizes) and sizes == sorted(sizes, reverse=True)
    totals = [total for _, total, _, _ in stacks]
    assert totals == sorted(totals, reverse=True)
    assert [percent for percent, *_ in stacks] == [100 * total // sum(totals) for total in totals]
    return stacks


def listing(hw, *words):
    done = hw("core", "--format", "heapprof", *words)
    assert done.returncode == 0, done.stderr
    return stacks_of(done.stdout)


def check_second(stacks):
    [pairs, large] = [stack for stack in stacks if stack[1] == 1 << 20]
    if large[2] != [1 << 20]:
        pairs, large = large, pairs
    assert pairs[2] == BLOCKS and large[2] == [1 << 20]
    assert " pairs_function (" in pairs[3][0] and "snapshots.c:" in pairs[3][0] and " large_function (" in large[3][0]
    assert len(pairs[3]) <= 8


def test_two_snapshots_of_a_process(hw, snapshots, annotated, tmp_path):
    """The second one has the block that the first one does not have; the trace of both differs in it alone."""
    with subprocess.Popen([snapshots], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=annotated, cwd=tmp_path) as process:
        try:
            process.stdout.readline()
            first = listing(hw, process.pid)
            assert hw("core", process.pid, "-o", tmp_path / "first.hwt").returncode == 0
            process.stdin.write(b"x")
            process.stdin.flush()
            process.stdout.readline()
            second = listing(hw, process.pid)
            subprocess.run(["gcore", "-o", tmp_path / "second", str(process.pid)], capture_output=True, check=True)
        finally:
            process.kill()
    assert [stack[2] for stack in first if stack[1] == 1 << 20] == [BLOCKS]
    check_second(second)
    check_second(listing(hw, snapshots, tmp_path / f"second.{process.pid}"))
    done = hw("core", tmp_path / f"second.{process.pid}", "-o", tmp_path / "second.hwt")
    assert done.returncode == 0, done.stderr
    difference = hw("diff", tmp_path / "first.hwt", tmp_path / "second.hwt")
    assert difference.returncode == 0 and "large_function" in difference.stdout and "pairs_function" not in difference.stdout


def test_threads(hw, snapshots, crash):
    stacks = [stack for stack in listing(hw, snapshots, crash(snapshots, "threads")) if stack[1] == 1024]
    assert len(stacks) == 2 and all(stack[2] == [1] * 1024 and " churn (" in stack[3][0] for stack in stacks)


def test_python(hw, crash, tmp_path):
    dump = crash("/usr/bin/python3", "-c", "import os; os.kill(os.getpid(), 11)")
    stacks = listing(hw, "/usr/bin/python3", dump)
    assert len(stacks) > 100
    report = json.loads(hw("core", "--json", "/usr/bin/python3", dump).stdout)
    assert sum(stack[1] for stack in stacks) == report["live_bytes_at_end"] > 100000
    done = hw("core", "/usr/bin/python3", dump, "-o", tmp_path / "python.heapprof")
    assert done.returncode == 0 and stacks_of((tmp_path / "python.heapprof").read_text()) == stacks


def test_a_recording(hw, build, snapshots, tmp_path):
    """What was live when the program crashed."""
    trace = tmp_path / "run.hwt"
    subprocess.run([build / "bin/heapwright", "record", "-q", "-o", trace, "--", snapshots], cwd=tmp_path, input=b"xx",
                   capture_output=True, check=False)
    done = hw("export", trace, "--format", "heapprof", "-o", "-")
    assert done.returncode == 0, done.stderr
    stacks = stacks_of(done.stdout)
    check_second(stacks)
    assert sum(stack[1] for stack in stacks) == json.loads(hw("report", "--json", trace).stdout)["live_bytes_at_end"]
