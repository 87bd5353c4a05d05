"""test_threads.py - threads that come and go, small stacks, handlers that allocate; every figure beside an independent count

Breaks if a stream is lost or shared when threads end, or if an event is written twice or torn by a handler.
"""

import json
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("stack_bytes, at_once", [(16384, 8), (131072, 8), (8 << 20, 8), (65536, 1000)])
def test_thread_churn(compile_c, check_counts_preload, stack_bytes, at_once):
    program = compile_c(PROGRAMS / "thread_churn.c", "-pthread", name="thread_churn")
    recording = check_counts_preload([program, 1000, 50, stack_bytes, at_once])
    assert recording.process.stdout == "done\n"
    report = recording.report
    assert report["threads"] == 1001
    assert report["missed_frees"] == report["unmatched_frees"] == 0


def test_events_after_the_last_destructor(compile_c, check_counts_preload):
    """A stream is taken over once its thread is gone, and not when the recorder's own destructor has run."""
    program = compile_c(PROGRAMS / "late_destructors.c", "-pthread", name="late_destructors")
    report = check_counts_preload([program, 1000, 6]).report
    late = next(size for size in report["sizes"] if size["size"] == 222)
    assert late["calls"] == 1000 * 4 * 500 and late["live_blocks"] == 0
    assert report["damaged_chunks"] == report["missing_chunks"] == report["missed_frees"] == report["unmatched_frees"] == 0


@pytest.fixture
def on_allocator(preload, recorder, tmp_path):
    """on_allocator("ring", [command...]): recorded with programs/NAME_allocator.c in the place of libc's malloc."""

    def run(name, command):
        library = tmp_path / f"{name}.so"
        source = PROGRAMS / f"{name}_allocator.c"
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", source, "-o", library], check=True)
        return preload(command, env={"LD_PRELOAD": f"{recorder}:{library}"})

    return run


@pytest.mark.parametrize("jump", [0, 1])
@pytest.mark.parametrize("alternate", [0, 1])
def test_signal_storm(compile_c, on_allocator, jump, alternate):
    """A handler may strike anywhere: on an allocator that may be interrupted anywhere."""
    program = compile_c(PROGRAMS / "signal_storm.c", "-Wno-unused-result", name="signal_storm")
    recording = on_allocator("ring", [program, 1000000, jump, alternate])
    assert recording.process.stdout == "done\n" and recording.process.returncode == 0
    report = recording.report
    assert report["damaged_chunks"] == report["missing_chunks"] == report["audit_differences"] == 0
    ordinary = next(size for size in report["sizes"] if size["size"] == 777)
    handler = next(size for size in report["sizes"] if size["size"] == 449)
    assert handler["calls"] > 1000 and handler["live_blocks"] == 0
    assert report["lost_events"] == 0
    if jump:  # a round that is left comes again; the event that was in work then is gone
        assert 1000000 <= ordinary["calls"] <= 1000000 + handler["calls"]
    else:
        assert ordinary["calls"] == 1000000 and ordinary["live_blocks"] == 0


def test_forks_in_a_handler(compile_c, on_allocator):
    """The child goes on in the middle of the event that the handler interrupted, and neither it nor its parent may notice."""
    program = compile_c(PROGRAMS / "fork_in_handler.c", name="fork_in_handler")
    recording = on_allocator("ring", [program, 100])
    assert recording.process.returncode == 0, recording.process
    assert len(recording.traces) == 101
    for trace in recording.traces:
        done = recording.hw("report", "--json", trace)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        size = next(size for size in report["sizes"] if size["size"] == 333)
        assert size["calls"] >= 2000
        assert size["live_blocks"] <= 100  # an event that was interrupted by a fork may be spoilt (docs/recording.md)


def test_threads_race(compile_c, check_counts_preload):
    report = check_counts_preload([compile_c(PROGRAMS / "race.c", "-pthread", name="race")]).report
    assert report["missed_frees"] == report["unmatched_frees"] == 0
    assert report["allocation_calls"] >= 800000


def test_a_block_that_is_freed_is_the_next_one(compile_c, on_allocator):
    """Stamps lie outside the real calls: a block's end never comes after the birth of the next block at its address."""
    recording = on_allocator("hot", [compile_c(PROGRAMS / "race.c", "-pthread", name="race")])
    assert recording.process.returncode == 0
    report = recording.report
    assert report["allocation_calls"] >= 1000000
    assert report["missed_frees"] == report["unmatched_frees"] == report["lost_events"] == 0


def test_a_realloc_has_two_moments(compile_c, on_allocator):
    """While a realloc is at work, the old block's place becomes another's, and the new block's was another's until then: with one
    moment for both, whichever it is, a block would be born where one still lives."""
    recording = on_allocator("swap", [compile_c(PROGRAMS / "swap.c", "-pthread", name="swap")])
    assert recording.process.returncode == 0
    report = recording.report
    size = next(size for size in report["sizes"] if size["size"] == 4000)
    assert size["calls"] == 2 + 2 * 50 and size["live_blocks"] == 0
    assert report["missed_frees"] == report["unmatched_frees"] == report["lost_events"] == 0


def test_all_cheap_keys_are_taken(compile_c, check_counts_preload, tmp_path):
    """libc callocs room for the values of keys from the 33rd on, so a value of the recorder's would add to the program's heap."""
    source, library = tmp_path / "keys.c", tmp_path / "keys.so"
    source.write_text("""
#include <pthread.h>
static __attribute__((constructor)) void take(void)
{
  pthread_key_t key;
  for (int i = 0; i < 40; i++)
    pthread_key_create(&key, 0);
}
""")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    program = compile_c(PROGRAMS / "thread_churn.c", "-pthread", "-Wl,--no-as-needed", library, name="thread_churn")
    report = check_counts_preload([program, "200", "50", "131072", "4"]).report
    assert report["threads"] == 201
    second_level = 32 * 16  # what libc would calloc in each thread
    assert not any(size["size"] == second_level for size in report["sizes"])
    assert report["missed_frees"] == report["unmatched_frees"] == 0
