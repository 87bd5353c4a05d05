"""libheapwright-heap.so: threads, forks, faults and little address space, also recorded."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from allocators_library import LIBRARIES, NOT_A_BLOCK, PROGRAMS, ROOT, expect_done

LIBRARY = LIBRARIES / "libheapwright-heap.so"


@pytest.fixture
def user(user_on):
    return user_on(LIBRARY, 300)


@pytest.mark.parametrize("check", ["0", "1"])
@pytest.mark.parametrize("what", ["churn", "threads", "fork"])
def test_use(user, what, check):
    expect_done(user(what, HEAPWRIGHT_CHECK=check))


@pytest.mark.parametrize("what", ["churn", "threads"])
def test_little_address_space(user, what):
    """Little is mapped that is not used: a tenth of what the pool needs is enough."""
    expect_done(user(what, before=["prlimit", "--as=200000000"]))


def test_a_thread_keeps_some_of_what_it_frees_of_others(programs):
    done = subprocess.run([programs(PROGRAMS / "kept_blocks.c", "-pthread", "-fno-builtin")], env={**os.environ, "LD_PRELOAD": LIBRARY},
                          capture_output=True, text=True, check=True)
    assert done.stdout == "again: 100; back: most\n"


@pytest.mark.parametrize("settings", [{}, {"HEAPWRIGHT_HEAP_THREADS": "central", "HEAPWRIGHT_CHECK": "1"}, {"HEAPWRIGHT_HEAP_RETURNS": "at-once"}],
                         ids=["usual", "central", "at-once"])
def test_each_mapping_may_be_refused(programs, settings):
    done = subprocess.run([programs(PROGRAMS / "no_memory.c", "-fno-builtin")], env={**os.environ, "LD_PRELOAD": LIBRARY, **settings}, capture_output=True,
                          text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert int(re.fullmatch(r"(\d+) limits were too low\n", done.stdout)[1]) > 50


# --- faults ---

@pytest.mark.parametrize("what, text", [("double-free", "the block is free already"), ("realloc", None),
                                        ("interior", NOT_A_BLOCK)])
def test_faults(user, what, text):
    """An address inside a block is found only if each free is checked. A block that realloc gets is not searched in the
    lists of free blocks."""
    process = user("wrong", what)
    if what == "double-free":
        assert (process.returncode, process.stdout) == (0, "done\n")
        assert re.match(rf"heapwright: block 0x[0-9a-f]+: {text}; it stays as it is\n", process.stderr)
        assert re.search(r"\n.*#0 0x[0-9a-f]+ .*/tlsf_user\+0x", process.stderr)
    if text:
        checked = user("wrong", what, HEAPWRIGHT_CHECK="1")
        assert checked.returncode == -signal.SIGABRT
        assert re.match(rf"heapwright: block 0x[0-9a-f]+: {text}; the process ends here\n", checked.stderr)


def test_a_block_of_libcs_is_freed_by_libc(user):
    """When all frees are checked, it is reported, with its stack: it might be no block at all."""
    expect_done(user("wrong", "foreign"))
    checked = user("wrong", "foreign", HEAPWRIGHT_CHECK="1")
    assert (checked.returncode, checked.stdout) == (0, "done\n")
    assert re.match(r"heapwright: free of 0x[0-9a-f]+: not a block of the heap; it goes to the next malloc\nheapwright:   #0 ", checked.stderr)


def test_a_bad_value_is_said(user):
    process = user("churn", HEAPWRIGHT_CHECK="2")
    assert (process.stdout, process.stderr) == ("done\n", "heapwright: HEAPWRIGHT_CHECK=2 must be 0 or 1; the default of this setting is used\n")


# --- heaps as objects ---

def test_a_module_with_a_heap_is_closed_while_its_threads_run(programs, tmp_path):
    """The thread does not run code of the module when it ends."""
    archive, module = LIBRARY.parent / "static/libheapwright-heaps.a", tmp_path / "module.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", module, PROGRAMS / "heap_module.c", f"-I{ROOT}/include", archive, "-pthread"], check=True)
    closed = subprocess.run([programs(PROGRAMS / "close_module.c", "-pthread"), module], capture_output=True, text=True, timeout=60, check=False)
    assert (closed.returncode, closed.stdout, closed.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("source, name", [(["heap_module.c"], "by-call.so"), (["heap_module.c", "-DENDS_BY_ITSELF"], "by-destructor.so"),
                                          (["heap_module.cc"], "by-object.so")])
def test_a_module_with_a_heap_is_loaded_many_times(programs, source, name):
    """Each time it left a mapping where the next one looked for a place: after some twenty times, there was none."""
    program = programs(PROGRAMS / "load_often.c", name="load-often")
    module = programs(PROGRAMS / source[0], *source[1:], "-shared", "-fPIC", f"-I{ROOT}/include", LIBRARY.parent / "static/libheapwright-heaps.a",
                      "-pthread", name=name)
    other = module.with_name(f"other-{name}")
    shutil.copy(module, other)  # two at once: the loader takes room for thread-local variables back only of the length that it expects
    for modules in [module], [module, other]:
        done = subprocess.run([program, *modules], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


# --- by the tool ---

def test_run_knows_it_by_name(hw):
    done = hw("run", "-a", "heap", "--", "sh", "-c", "echo $LD_PRELOAD; exit 3")
    assert done.returncode == 3


def test_a_recording_on_it(hw, programs, tmp_path):
    program, trace = programs(PROGRAMS / "tlsf_user.c", "-pthread"), tmp_path / "run.hwt"
    done = hw("record", "-a", "heap", "-o", str(trace), "--", str(program), "threads")
    assert (done.returncode, done.stdout) == (0, "done\n")
    report = json.loads(hw("report", "--json", str(trace)).stdout)
    assert report["live_blocks_at_end"] < 100 < 100_000 < report["allocation_calls"]
    notes = [note["text"] for note in report["images"][0]["notes"] if note["kind"] == "allocator"]
    assert len(notes) == 1 and notes[0].endswith("libheapwright-heap.so")
