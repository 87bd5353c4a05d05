"""libheapwright-heap linked with a program: as a shared library, as an archive in a program that is not static, and in static
ones; and its threads and sections with heaps of their own."""

import os
import re
import shutil
import signal
import subprocess

import pytest

from allocators_library import LIBRARIES, NOT_A_BLOCK, PROGRAMS, ROOT, WARNINGS, run

INCLUDE = f"-I{ROOT}/include"
ARCHIVE = ["-Wl,--undefined=malloc", f"-L{LIBRARIES}", "-l:libheapwright-heap.a", "-pthread"]
KINDS = {
    "shared": [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-Wl,--no-as-needed", "-lheapwright-heap", "-pthread"],
    "linked-in": ARCHIVE,
    "static": ["-static", *ARCHIVE],
    "static-pie": ["-static-pie", *ARCHIVE],
}


@pytest.fixture(scope="module")
def program(programs):
    """program(kind): thread_heaps.c."""
    return lambda kind: programs(PROGRAMS / "thread_heaps.c", INCLUDE, *KINDS[kind], name=f"thread_heaps-{kind}")


def start(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **environment}, check=False)


def expect_done(process):
    assert (process.returncode, process.stdout, process.stderr) == (0, "done\n", "")


CONFIGS = {"usual": {}, "checked": {"HEAPS": "checked", "HEAPWRIGHT_CHECK": "1"}, "central": {"HEAPS": "central"},
           "central malloc": {"HEAPWRIGHT_HEAP_THREADS": "central"}}


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("what", ["set", "nest", "mix", "end", "threads", "fork", "fork-sections", "no-memory"])
def test_threads_have_heaps(program, what, config):
    """A heap without caches has its state from the beginning, so that no memory is needed to set it."""
    if (what, config) != ("no-memory", "central"):
        expect_done(start(program("shared"), what, **CONFIGS[config]))


@pytest.mark.parametrize("what", ["set", "nest", "mix", "end", "fork-sections"])
def test_threads_have_heaps_without_a_lock(program, what):
    expect_done(start(program("shared"), what, HEAPS="without-lock"))


def test_a_thread_whose_heap_has_no_lock_does_not_wait_for_a_fork(program):
    expect_done(start(program("shared"), "fork-streams"))


@pytest.mark.parametrize("kind", ["linked-in", "static"])
@pytest.mark.parametrize("what", ["mix", "fork"])
def test_linked_in(program, kind, what):
    expect_done(start(program(kind), what))


def test_they_have_no_effect_on_libcs_malloc(program):
    expect_done(start(program("shared"), "libc", HEAPWRIGHT_HEAP_LIBC="1"))


@pytest.mark.parametrize("kind", ["static", "static-pie"])
def test_a_static_program_has_no_other_malloc(program, kind):
    """It ended at its first malloc, without a message."""
    process = start(program(kind), "mix", HEAPWRIGHT_HEAP_LIBC="1")
    assert (process.returncode, process.stdout) == (0, "done\n")
    assert process.stderr == "heapwright: HEAPWRIGHT_HEAP_LIBC=1 has no effect: the program has no other malloc\n"


@pytest.mark.parametrize("before", [[], ["valgrind", "-q", "--error-exitcode=9", "--soname-synonyms=somalloc=nouserintercepts"]],
                         ids=["", "valgrind"])
@pytest.mark.parametrize("kind", ["shared", "linked-in"])
def test_blocks_of_heaps_are_freed_once_in_libcs_malloc(program, kind, before):
    """free and realloc take a block out of its heap, which freed it again when it was destroyed."""
    if before and not shutil.which(before[0]):
        pytest.skip("no valgrind")
    expect_done(start(*before, program(kind), "libc-free", HEAPWRIGHT_HEAP_LIBC="1"))


def test_short_threads_need_no_more_memory(program):
    expect_done(start(program("shared"), "short"))


@pytest.mark.parametrize("check", ["0", "1"])
def test_soak(program, check):
    """Half an hour each in `make soak`."""
    seconds = os.environ.get("HW_SOAK_SECONDS", "1")
    process = subprocess.run([program("shared"), "soak", seconds], capture_output=True, text=True, timeout=300 + 2 * int(seconds),
                             env={**os.environ, "HEAPWRIGHT_CHECK": check}, check=False)
    expect_done(process)


def test_statistics_have_all_heaps(program):
    """What a thread left in a heap of its own is not among the blocks of the process's heap."""
    process = start(program("shared"), "leave", HEAPWRIGHT_STATS="stderr")
    of_process, of_thread = re.split(r"heapwright: process \d+ has another heap, which was not destroyed: 0x[0-9a-f]+\n", process.stderr)
    rows = [dict(re.findall(r"^heapwright: +(\d+) +(?:\d+ +){4}(\d+) ", text, re.M)) for text in (of_process, of_thread)]
    assert process.returncode == 0 and rows[0].get("1024", "0") != "3" and rows[1] == {"1024": "3"}


def test_statistics_do_not_look_at_a_heap_without_a_lock(program):
    process = start(program("shared"), "leave", HEAPS="without-lock", HEAPWRIGHT_STATS="stderr")
    other = r"heapwright: process \d+ has another heap, which was not destroyed: 0x[0-9a-f]+; it has no lock, so that its figures are not read\n$"
    assert process.returncode == 0 and re.search(other, process.stderr)


@pytest.mark.parametrize("what, text", [("late", NOT_A_BLOCK), ("interior", NOT_A_BLOCK), ("double", "the block is free already")])
def test_faults_in_a_heap_of_a_thread(program, what, text):
    """A block that is freed after its heap was destroyed is not written."""
    process = start(program("shared"), "wrong", what)
    assert (process.returncode, process.stdout) == (0, "done\n")
    assert re.match(rf"heapwright: block 0x[0-9a-f]+: {text}; it stays as it is\n.*#0 0x[0-9a-f]+ .*/thread_heaps-shared\+0x", process.stderr)


# --- the malloc of the program ---

def test_all_of_malloc_is_the_heaps(tmp_path):
    """Also of a program that calls no function of heap.h itself, and of the C++ runtime; a double free is found, with its place."""
    subprocess.run(["g++", "-O1", "-fno-builtin", "-c", PROGRAMS / "plain.cc", "-o", tmp_path / "plain.o"], check=True)
    for kind, flags in KINDS.items():
        program = tmp_path / f"plain-{kind}"
        subprocess.run(["g++", tmp_path / "plain.o", "-o", program, *flags], check=True, stderr=subprocess.DEVNULL)  # of dlopen in static programs
        process = start(program)
        assert (process.returncode, process.stdout) == (0, "done\n")
        assert re.match(rf"heapwright: block 0x[0-9a-f]+: the block is free already; .*\n.*#0 0x[0-9a-f]+ .*/plain-{kind}\+0x", process.stderr), process.stderr
        assert start(program, HEAPWRIGHT_CHECK="1").returncode == -signal.SIGABRT


def test_the_archive_has_no_other_names():
    """Of the heap's own functions and variables, none can collide with the program's."""
    symbols = run(["nm", "--defined-only", "--extern-only", LIBRARIES / "libheapwright-heap.a"])
    names = {line.split()[2] for line in symbols.splitlines() if len(line.split()) == 3}
    shared = run(["nm", "-D", "--defined-only", LIBRARIES / "libheapwright-heap.so"])
    assert names == {line.split()[2] for line in shared.splitlines()}
    assert not [name for name in names if name.startswith("hwi_")] and {"malloc", "_Znwm", "hw_heap_push", "hw_heap_alloc"} <= names


def test_a_section_in_cxx(tmp_path):
    source = tmp_path / "section.cc"
    source.write_text("""#include <heapwright/heap.hpp>
#include <cstdio>
#include <memory>
#include <string>
int main()
{
  heapwright::unique_heap heap = heapwright::make_heap();
  std::unique_ptr<std::string> text;
  {
    heapwright::heap_section section(heap.get());
    text = std::make_unique<std::string>(1000, 'x');
    if (!section.has_heap() || !hw_heap_usable_bytes(heap.get(), text.get()) || !hw_heap_usable_bytes(heap.get(), text->data()))
      return 1;
  }
  auto other = std::make_unique<std::string>("outside");
  if (hw_heap_of_thread() || hw_heap_usable_bytes(heap.get(), other.get()))
    return 2;
  text.reset();
  hw_heap_stats stats;
  hw_heap_get_stats(heap.get(), &stats);
  if (stats.used_bytes)
    return 3;
  std::puts("done");
}
""")
    subprocess.run(["g++", "-std=c++17", "-O1", *WARNINGS, INCLUDE, source, "-o", tmp_path / "section", *KINDS["shared"]], check=True)
    expect_done(start(tmp_path / "section"))


def test_an_archive_of_heaps_next_to_the_library(programs):
    """A program with its own copy of the functions of heap.h, on the library: each uses its own."""
    module = programs(PROGRAMS / "heap_module.c", "-shared", "-fPIC", INCLUDE, LIBRARIES / "static/libheapwright-heaps.a", "-pthread", name="module.so")
    process = start(programs(PROGRAMS / "close_module.c", "-pthread"), module, LD_PRELOAD=str(LIBRARIES / "libheapwright-heap.so"))
    expect_done(process)
