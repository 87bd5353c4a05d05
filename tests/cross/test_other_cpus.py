"""test_other_cpus.py - programs of another CPU are recorded under qemu-user, and the traces are reported on this machine

Needs the build of `tools/cross.sh ARCH build`, and is run by `tools/cross.sh ARCH test`, in part by `make test`. If this fails, recordings of that CPU have
wrong stacks or counts, or a trace is not the same on both machines. qemu-user starts no other program without help of the kernel,
so that the recorder is preloaded directly here, and it has neither ptrace nor perf: `core PID` and `leaks PID` are not tested.
"""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from clock_source import OF_CPU, TSC, check_order, in_own_mounts
from linked_programs import fake_allocator, notes_of
from other_cpus import (ARCH, COMPILERS, CPU, CROSS, CXX, EMULATOR, HAS_POINTERS, MACHINE, PROGRAMS, SYSROOT, TRIPLE, needs_cpu, record_to, report_of, run)
from trace_header import read_header

RACE = Path(__file__).resolve().parents[1] / "faults/programs/race.c"
ROUNDS = 30
pytestmark = needs_cpu


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """compiled("gcc", "x.c"): the program's path; each is compiled once."""
    folder, made = tmp_path_factory.mktemp("programs"), {}

    def compile_it(compiler, source):
        words = COMPILERS.get(compiler, CXX)
        if (compiler, source) not in made:
            made[compiler, source] = path = folder / f"{compiler}-{Path(source).stem}"
            subprocess.run([*words, "-g", "-pthread", str(PROGRAMS / source), "-o", str(path)], check=True)
        return made[compiler, source]

    return compile_it


@pytest.fixture
def recorded(tmp_path):
    """recorded([command...], SETTING="1"): records a run. Returns its trace and what it printed."""
    return lambda command, **env: record_to(tmp_path / "run.hwt", command, **env)


def stacks_of(report):
    """{functions from the innermost to main, or to the beginning of a thread: calls}"""
    found = Counter()
    for row in report["top"]:
        names = [frame["function"] for frame in row["stack"]]
        last = next((i for i, name in enumerate(names) if name in ("main", "thread")), len(names) - 1)
        found[tuple(names[:last + 1])] += row["calls"]
    return found


DOWN = ("take", "plain")
EXPECTED = {
    (*DOWN, "main"): ROUNDS,
    (*DOWN, "middle_frame", "main"): ROUNDS,
    (*DOWN, "large_frame", "main"): ROUNDS,
    (*DOWN, "variable_frame", "main"): ROUNDS,
    (*DOWN, *["recursive"] * 21, "main"): ROUNDS,
    (*DOWN, "without_table", "beyond", "main"): ROUNDS,
    (*DOWN, "thread"): 400,
}


def known_stacks(compiled, compiler):
    """The command; without frame pointers, code without tables is left out."""
    return [compiled(compiler, "known_stacks.c"), ROUNDS, *([] if compiler in HAS_POINTERS else ["without"])]


def expected_of(compiler):
    return {stack: count for stack, count in EXPECTED.items() if compiler in HAS_POINTERS or "without_table" not in stack}


def check_stacks(report, printed, expected):
    calls, size = map(int, printed.split())
    stacks = stacks_of(report)
    own = {stack: count for stack, count in stacks.items() if "take" in stack}
    signal = {stack: count for stack, count in own.items() if "in_handler" in stack}
    assert {stack: count for stack, count in own.items() if stack not in signal} == expected
    # Between the handler and the function that the signal interrupted there is the kernel's or the emulator's return from handlers.
    assert sum(signal.values()) == ROUNDS
    for stack in signal:
        assert stack[:3] == ("take", "in_handler", "handler") and stack[-3:] == ("leaf", "interrupted", "main"), stack
    assert sum(own.values()) == calls + 400
    assert sum(row["bytes"] for row in report["top"] if row["stack"][0]["function"] == "take") == size + 100 * sum(range(1000, 1004))
    assert report["lost_events"] == 0 and report["truncated_stacks"] == 0


@pytest.mark.parametrize("compiler", list(COMPILERS))
def test_stacks_and_counts_are_exact(compiler, compiled, recorded, hw):
    """Each stack of the program is as it is written, all audits of cached stacks agree, and all walks reach the outermost frame."""
    trace, printed = recorded(known_stacks(compiled, compiler), HEAPWRIGHT_CHECK="1")
    check_stacks(report_of(hw, trace), printed, expected_of(compiler))
    header = read_header(trace)
    assert header.machine == MACHINE
    assert header.audited_stacks > 0 and header.audit_differences == 0
    if ARCH != "armhf": # there libc's code that starts threads has no tables
        assert header.unfinished_stacks == 0


def test_symbols_alone_name_functions(compiled, recorded, hw, tmp_path):
    """Also a function that was interrupted at its first instruction."""
    stripped = tmp_path / "stripped"
    subprocess.run([f"{TRIPLE}-strip", "-g", "-o", str(stripped), str(compiled("gcc-frame-pointer", "known_stacks.c"))], check=True)
    trace, printed = recorded([stripped, *known_stacks(compiled, "gcc-frame-pointer")[1:]])
    check_stacks(report_of(hw, trace), printed, expected_of("gcc-frame-pointer"))


@pytest.mark.skipif(ARCH != "armhf", reason="only there code without tables cannot be passed")
def test_code_without_tables_ends_stacks(compiled, recorded, hw):
    """Frames outward of such code are unknown: the stack ends there and is counted. All other stacks are whole."""
    trace, _ = recorded([compiled("gcc", "known_stacks.c"), ROUNDS])
    report = report_of(hw, trace)
    assert stacks_of(report)[(*DOWN, "without_table")] == ROUNDS
    for row in report["top"]:
        names = [frame["function"] for frame in row["stack"]]
        assert names[-1] == "_start" or "without_table" in names or "thread" in names or "/ld-linux" in row["stack"][0]["module"], names
    assert read_header(trace).unfinished_stacks >= ROUNDS


@pytest.mark.skipif(ARCH != "armhf", reason="its tables are read by another unwinder there")
@pytest.mark.parametrize("compiler", ["gcc", "gcc-O0", "gcc-arm", "clang"])
def test_stacks_are_those_of_backtrace(compiler, compiled, recorded, hw):
    """The program prints the return addresses that glibc's backtrace() finds, for frames of many forms and callbacks of libc. It leaves
    out the frame that it cannot unwind, which is the last one of each stack."""
    trace, printed = recorded([compiled(compiler, "backtraces.c")], HEAPWRIGHT_CHECK="1")
    expected = {int(size): [int(word, 16) & ~1 for word in words] for size, *words in map(str.split, printed.splitlines())}
    assert len(expected) == 40
    found = {}
    for row in report_of(hw, trace)["top"]:
        stack = [frame["address"] for frame in row["stack"] if not frame.get("inlined")]
        found.update({size: stack for size in (row["smallest"], row["largest"])})
    assert len(found.keys() & expected.keys()) >= 18
    for size in found.keys() & expected.keys():
        assert found[size][1:-1] == expected[size]


def test_a_long_recording_is_whole(compiled, recorded, hw):
    """The emulator maps no page a second time, by which a recording goes on after its first 4 MiB elsewhere."""
    trace, printed = recorded([compiled("gcc", "many_events.c"), 2_000_000])
    assert read_header(trace).used_bytes > 12 << 20
    report = report_of(hw, trace)
    assert report["lost_events"] == 0
    assert [row["calls"] for row in report["top"] if row["bytes"] == int(printed)] == [2_000_000]


@pytest.mark.skipif(CPU not in OF_CPU, reason="its recorder always reads the kernel's clock")
def test_events_are_ordered_by_the_timer(compiled, hw, tmp_path):
    """The emulator reads the host's clock source, which a mount replaces by that of a kernel that trusts the CPU's timer."""
    trace = tmp_path / "run.hwt"
    command = [*EMULATOR, "-E", f"LD_PRELOAD={CROSS}/lib/libheapwright-record.so", compiled("gcc", RACE)]
    subprocess.run(in_own_mounts(command, tmp_path, OF_CPU[CPU]), env={**os.environ, "HEAPWRIGHT_OUTPUT": str(trace)}, timeout=120, check=True)
    assert read_header(trace).clock == TSC
    check_order(report_of(hw, trace))


def test_the_child_of_a_fork_has_its_trace(compiled, recorded, hw):
    if run([compiled("gcc", "wipes_on_fork.c")]).stdout != "wiped\n":
        pytest.skip("this qemu-user does not wipe pages for the child of a fork (MADV_WIPEONFORK), by which the recorder knows of it")
    trace, _ = recorded([compiled("gcc-frame-pointer", "known_stacks.c"), ROUNDS], KNOWN_STACKS_FORKS="1")
    stacks = stacks_of(report_of(hw, trace, "--children"))
    assert stacks[(*DOWN, "child", "main")] == 10
    assert stacks[(*DOWN, "middle_frame", "main")] == ROUNDS


def test_a_sample_has_the_same_stacks(compiled, recorded, hw):
    """In a sample, the entry points leave their frames before the stack is walked. With a distance of one byte all is in the sample."""
    trace, printed = recorded(known_stacks(compiled, "gcc-frame-pointer"), HEAPWRIGHT_SAMPLE="1")
    check_stacks(report_of(hw, trace), printed, expected_of("gcc-frame-pointer"))


def test_operators_and_exceptions(compiled, recorded, hw):
    trace, printed = recorded([compiled("g++", "operators.cc")])
    assert printed == "3 1\n"
    report = report_of(hw, trace)
    by_entry = Counter()
    for row in report["top"]:
        by_entry[(row["stack"][0]["function"] or "").split("(")[0]] += row["calls"]
    assert by_entry["by_new"] == 5 and by_entry["by_aligned_new"] == 3
    assert report["failed_calls"] == 1
    throwing = [row for row in report["top"] if any((frame["function"] or "").startswith("thrower") for frame in row["stack"])]
    assert throwing and all(row["stack"][-1]["function"] == "_start" for row in throwing)


def test_variables_are_those_of_the_emulator(compiled, hw, tmp_path):
    """The command of docs/recording.md: variables that the emulator's -E sets reach the loader, but not the recorder."""
    program, recorder = compiled("gcc", "known_stacks.c"), f"LD_PRELOAD={CROSS}/lib/libheapwright-record.so"
    subprocess.run([*EMULATOR, "-E", recorder, program, "3"], env={**os.environ, "HEAPWRIGHT_OUTPUT": "run.hwt"}, cwd=tmp_path, check=True,
                   stdout=subprocess.DEVNULL)
    assert report_of(hw, tmp_path / "run.hwt")["allocation_calls"] > 400
    subprocess.run([*EMULATOR, "-E", recorder, "-E", "HEAPWRIGHT_OUTPUT=set.hwt", program, "3"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert not (tmp_path / "set.hwt").exists() and len(list(tmp_path.glob("heapwright.*.hwt"))) == 1


@pytest.mark.parametrize("allocator", ["tlsf", "heap"])
def test_programs_run_on_the_allocators(allocator, compiled, tmp_path):
    preloaded = f"{CROSS}/lib/libheapwright-{allocator}.so"
    usual = run([compiled("gcc-frame-pointer", "known_stacks.c"), ROUNDS]).stdout
    assert run([compiled("gcc-frame-pointer", "known_stacks.c"), ROUNDS], LD_PRELOAD=preloaded).stdout == usual
    assert run([compiled("g++", "operators.cc")], LD_PRELOAD=preloaded).stdout == "3 1\n"


def functions_at(program, addresses, base):
    """The names of the program's functions at these addresses, by its symbols."""
    listed = subprocess.run([f"{TRIPLE}-nm", "-S", str(program)], capture_output=True, text=True, check=True).stdout
    symbols = [line.split() for line in listed.splitlines() if len(line.split()) == 4]
    return [next((name for start, size, _, name in symbols if int(start, 16) < address - base <= int(start, 16) + int(size, 16)), None)
            for address in addresses]


@pytest.mark.parametrize("has_owners", [False, True])
@pytest.mark.skipif(ARCH == "armhf", reason="registers in core dumps of 32-bit Arm are not read")
def test_a_core_dump_is_explained_here(has_owners, compiled, hw, tmp_path):
    """The emulator writes it, with registers and the thread pointer. Blocks are exact, those in the cache of the thread are free, and
    stacks in owners of blocks are right. The emulator does not list files, so that names are looked up by the test."""
    program = compiled("gcc-option", "crash.c")
    preloaded = {"LD_PRELOAD": f"{CROSS}/lib/libheapwright-annotate.so"} if has_owners else {}
    subprocess.run(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", *EMULATOR, str(program)], env={**os.environ, **preloaded},
                   cwd=tmp_path, capture_output=True, timeout=120, check=False)
    if ARCH == "riscv64" and not list(tmp_path.glob("*.core")):
        pytest.skip("this qemu-user writes no core dumps of RISC-V")
    core, = tmp_path.glob("*.core")
    done = hw("core", "--json", program, core)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["signal"] == 11 and report["threads"] == 1 and report["damages"] == 0
    assert report["live_blocks"] == 10 and report["cached_blocks"] == 2
    assert report["understood_bytes"] == report["system_bytes"]
    if has_owners:
        stacks = {row["live_bytes"]: [frame["address"] for frame in row["stack"]] for row in report["top"]}
        base = min(address for stack in stacks.values() for address in stack) & ~0xffff
        assert {size: functions_at(program, stack[:3], base) for size, stack in stacks.items()} == {
            5000: ["make", "first", "main"], 15000: ["make", "second", "main"]}


@pytest.mark.skipif(ARCH == "armhf", reason="its kernels have pages of 4 KiB, and its libraries cannot be loaded with larger ones")
def test_larger_pages_are_left_alone(compiled, tmp_path):
    """Under a kernel with pages of 64 KiB nothing is recorded, and the program runs."""
    trace = tmp_path / "run.hwt"
    program = [*EMULATOR, "-p", "65536", compiled("gcc-frame-pointer", "known_stacks.c"), str(ROUNDS)]
    usual = subprocess.run(program, capture_output=True, text=True, timeout=120, check=True)
    preloaded = {**os.environ, "LD_PRELOAD": f"{CROSS}/lib/libheapwright-record.so", "HEAPWRIGHT_OUTPUT": str(trace)}
    done = subprocess.run(program, env=preloaded, capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == (usual.stdout, usual.stderr)
    assert not trace.exists()


@pytest.mark.skipif(ARCH == "arm64", reason="about CPUs on which nothing is redirected")
def test_linked_in_allocators_are_left_alone(recorded, hw, tmp_path):
    (tmp_path / "fake.c").write_text(fake_allocator("bx lr" if ARCH == "armhf" else "ret", True).replace("@function", "%function"))
    subprocess.run([*COMPILERS["gcc"], str(tmp_path / "fake.c"), "-o", str(tmp_path / "fake")], check=True)
    trace, printed = recorded([tmp_path / "fake"])
    [note] = notes_of(report_of(hw, trace), "linked-in allocator not recorded")
    assert printed == "done\n" and note.endswith("on this CPU, linked-in allocators cannot be recorded yet")


def without_names_of_libraries(printed):
    """A report; each tool finds only the libraries of its own machine under the paths that were recorded."""
    report = json.loads(printed)
    for row in report["top"]:
        row["stack"] = [{"address": frame["address"]} if "/lib/" in (frame["module"] or "") else frame for frame in row["stack"]]
    return report


def test_both_tools_report_the_same(compiled, recorded, hw, record, tmp_path):
    """A recording of each machine is reported by the tool of the other one."""
    foreign, _ = recorded([compiled("gcc-frame-pointer", "known_stacks.c"), 3])
    subprocess.run(["gcc", "-g", "-O2", "-pthread", str(PROGRAMS / "known_stacks.c"), "-o", str(tmp_path / "own")], check=True)
    own = record([str(tmp_path / "own"), "3"]).trace
    for trace in (foreign, own):
        here = hw("report", "--json", trace)
        there = run([f"{CROSS}/bin/heapwright", "report", "--json", trace])
        assert without_names_of_libraries(there.stdout) == without_names_of_libraries(here.stdout)


def test_names_are_found_by_build_id(compiled, recorded, hw, tmp_path):
    """The program is in another folder now, and its libraries are below the root of the other system."""
    program, kept = tmp_path / "own", tmp_path / "kept"
    kept.mkdir()
    shutil.copy(compiled("gcc-frame-pointer", "known_stacks.c"), program)
    trace, _ = recorded([program, 3])
    program.rename(kept / "own")

    def functions(*options):
        return {frame["function"] for row in report_of(hw, trace, *options)["top"] for frame in row["stack"]}

    own, libcs = {"main", "thread"}, {"__libc_start_main"}
    assert not functions() & (own | libcs)
    assert own <= functions("--debug-dir", kept) and not functions("--debug-dir", kept) & libcs
    assert functions("--debug-dir", kept, "--debug-dir", SYSROOT) & libcs
