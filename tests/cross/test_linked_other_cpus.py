"""test_linked_other_cpus.py - programs of another CPU that have jemalloc, mimalloc or tcmalloc linked in are recorded under qemu-user

As record/test_linked_allocators.py. Breaks if a function of an allocator is not redirected on that CPU, or does something else then.
qemu-user has a thread of its own, so that nothing would be redirected: it is given a folder of libraries with a /proc/self/task
in which there is one thread.
"""

import subprocess

import pytest

from linked_programs import KINDS, REFUSED, SOURCE, THROWS, Toolchain, check_calls, check_is_complete, counts_of, fake_allocator, notes_of, recorded_counts
from other_cpus import ARCH, CLANG, CPU, GCC, OPTION, PROGRAMS, SYSROOT, TRIPLE, WHERE, needs_cpu, record_to, report_of, run

pytestmark = [needs_cpu, pytest.mark.skipif(ARCH != "arm64", reason="on other CPUs nothing is redirected yet")]
# Of own_allocator.c, in a library.
BUILDS = {
    "gcc": [*GCC, "-O2"],
    "gcc-O0": [*GCC, "-O0"],
    "gcc-guarded": [*GCC, "-O2", OPTION],
    "gcc-guarded-O0": [*GCC, "-O0", OPTION],
    "gcc-guarded-leaf": [*GCC, "-Os", "-mbranch-protection=bti+pac-ret+leaf"],
    "gcc-guarded-b-key": [*GCC, "-O2", "-mbranch-protection=bti+pac-ret+b-key"],
    "gcc-own-atomics": [*GCC, "-O3", "-mno-outline-atomics", "-fno-plt"],
    "clang-guarded": [*CLANG, "-O2"],
    "clang-guarded-O0": [*CLANG, "-O0"],
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    return Toolchain(tmp_path_factory.mktemp("linked"), TRIPLE, WHERE)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The libraries, and one thread."""
    folder = tmp_path_factory.mktemp("root")
    for name in ("lib", "usr"):
        (folder / name).symlink_to(f"{SYSROOT}/{name}")
    (folder / "proc/self/task/1").mkdir(parents=True)
    return folder


@pytest.fixture
def recorded(root, tmp_path):
    """recorded([command...], status): records a run. Returns its trace and what it printed."""
    return lambda command, status=0, **env: record_to(tmp_path / "run.hwt", command, status, root, **env)


@pytest.mark.parametrize("env", [{}, {"HEAPWRIGHT_DURATIONS": "1"}], ids=["usual", "durations"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_call_is_recorded_once(kind, env, tools, recorded, hw):
    program = tools.build(kind)
    trace, printed = recorded([program], 7, HEAPWRIGHT_CHECK="1", **env)
    assert printed == run([program], 7).stdout
    check_calls(report_of(hw, trace, "--top", "0"), counts_of(printed), KINDS[kind][3])


def build_library(folder, options):
    library = folder / "libown.so"
    subprocess.run([*BUILDS[options], "-g", "-shared", "-fPIC", "-nostartfiles", PROGRAMS / "own_allocator.c", "-pthread", "-o", library], check=True)
    return library


@pytest.mark.parametrize("options", BUILDS)
def test_compilers_and_options(options, tools, recorded, hw, tmp_path):
    library, program = build_library(tmp_path, options), tmp_path / "program"
    tools.compile("c", "-g", "-O1", "-fno-builtin", "-w", "-DNAME(name)=je_##name", "-DPREFIXED", SOURCE, library, f"-Wl,-rpath,{tmp_path}", "-pthread", "-o", program)
    trace, printed = recorded([program], 7, HEAPWRIGHT_CHECK="1")
    assert printed == run([program], 7).stdout
    check_calls(report_of(hw, trace, "--top", "0"), counts_of(printed), "jemalloc (je_malloc)")


@pytest.mark.parametrize("options", [options for options in BUILDS if "guarded" in options])
def test_guarded_code_stays_guarded(options, tools, recorded, hw, tmp_path):
    """Its functions can still be called by address, and nothing else can."""
    library, program = build_library(tmp_path, options), tmp_path / "program"
    tools.compile("c", "-O1", PROGRAMS / "guarded.c", library, f"-Wl,-rpath,{tmp_path}", "-o", program)
    assert run([program]).stdout == "guarded\n"
    trace, printed = recorded([program])
    assert printed == "guarded\n" and recorded_counts(report_of(hw, trace), [1013]) == {1013: (1, 0)}


@pytest.mark.parametrize("library", ["libtcmalloc_minimal.a", "libjemalloc.a"])
def test_exceptions(library, tools, recorded, hw, tmp_path):
    (tmp_path / "throws.cc").write_text(THROWS)
    tools.compile("c++", "-O1", "-fno-builtin", tmp_path / "throws.cc", "-x", "none", tools.file_of(library), "-lm", "-pthread", "-o", tmp_path / "throws")
    trace, printed = recorded([tmp_path / "throws"])
    assert printed == run([tmp_path / "throws"]).stdout
    report = report_of(hw, trace, "--top", "0")
    assert recorded_counts(report, [1709, 1811]) == {1709: (1000, 0), 1811: (1, 0)}
    assert report["failed_calls"] >= 1001
    check_is_complete(report)


@pytest.mark.parametrize("code, is_called, why", REFUSED.get(CPU, {}).values(), ids=REFUSED.get(CPU, {}))
def test_all_functions_or_none(code, is_called, why, tools, recorded, hw, tmp_path):
    (tmp_path / "fake.c").write_text(fake_allocator(code, is_called))
    tools.compile("c", tmp_path / "fake.c", "-o", tmp_path / "fake")
    trace, printed = recorded([tmp_path / "fake"])
    report = report_of(hw, trace, "--top", "0")
    [note] = notes_of(report, "linked-in allocator not recorded")
    assert printed == "done\n" and notes_of(report) == [] and all(entry["size"] != 1013 for entry in report["sizes"])
    assert note == f"jemalloc (je_malloc) in {tmp_path}/fake: the code of je_free {why}"


def test_threads_that_ran_before(tools, hw, tmp_path):
    """The emulator's own thread is one."""
    program = tools.build("jemalloc-je_")
    trace, printed = record_to(tmp_path / "run.hwt", [program], 7)
    assert printed == run([program], 7).stdout
    [note] = notes_of(report_of(hw, trace), "linked-in allocator not recorded")
    assert note.endswith("other threads ran already when the recorder started")
