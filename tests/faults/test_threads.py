"""test_threads.py - threads that come and go, small stacks, handlers that allocate; every figure beside an independent count

Breaks if a stream is lost or shared when threads end, or if an event is written twice or torn by a handler.
"""

from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize("stack_bytes", [16384, 131072, 8 << 20])
def test_thread_churn(compile_c, check_counts_preload, stack_bytes):
    program = compile_c(PROGRAMS / "thread_churn.c", "-pthread", name="thread_churn")
    recording = check_counts_preload([program, "1000", "50", str(stack_bytes)])
    assert recording.process.stdout == "done\n"
    report = recording.report
    assert report["threads"] == 1001
    assert report["missed_frees"] == report["unmatched_frees"] == 0


@pytest.mark.parametrize("jump", [0, 1])
@pytest.mark.parametrize("alternate", [0, 1])
def test_signal_storm(compile_c, preload, jump, alternate):
    program = compile_c(PROGRAMS / "signal_storm.c", name="signal_storm")
    recording = preload([program, "1000000", str(jump), str(alternate)])
    assert recording.process.stdout == "done\n" and recording.process.returncode == 0
    report = recording.report
    assert report["damaged_chunks"] == report["audit_differences"] == 0
    ordinary = next(size for size in report["sizes"] if size["size"] == 777)
    handler = next(size for size in report["sizes"] if size["size"] == 449)
    if jump:
        # a handler that leaves while the recorder is at work takes that one event with it
        assert ordinary["calls"] >= 990000 and handler["calls"] > 10
    else:
        assert ordinary["calls"] == 1000000 and ordinary["live_blocks"] == 0
        assert handler["calls"] > 10 and handler["live_blocks"] == 0
        assert report["lost_events"] == 0


def test_threads_race(compile_c, check_counts_preload):
    program = compile_c("""
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
enum { THREADS = 4, ROUNDS = 200000, SLOTS = 64 };
static _Atomic(void *) slots[SLOTS];
static void *work(void *seed)
{
  unsigned long x = (unsigned long)seed;
  for (int i = 0; i < ROUNDS; i++) { /* blocks go from hand to hand at once: order across threads must be right */
    x = x * 6364136223846793005u + 1442695040888963407u;
    free(atomic_exchange(&slots[x >> 58], malloc(16 + (x >> 33) % 64)));
  }
  return NULL;
}
int main(void)
{
  pthread_t ids[THREADS];
  for (long i = 0; i < THREADS; i++)
    pthread_create(&ids[i], NULL, work, (void *)(i + 1));
  for (int i = 0; i < THREADS; i++)
    pthread_join(ids[i], NULL);
  for (int i = 0; i < SLOTS; i++)
    free(slots[i]);
}
""", "-pthread", name="race")
    report = check_counts_preload([program]).report
    assert report["missed_frees"] == report["unmatched_frees"] == 0
    assert report["allocation_calls"] >= 800000
