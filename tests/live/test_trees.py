"""test_trees.py - the live view of runs of many processes, and of long ones, has the figures of the report in the end

Breaks if a process is missed that is short, that ends while it is looked at, or that begins when there are many; or if an event is lost
or counted twice while the recording is packed.
"""

import json
import signal
import time

from waiting import child_of, has_ended, wait_until

FIGURES = ("allocation_calls", "free_calls", "failed_calls", "temporary_calls", "allocated_bytes", "usable_bytes", "peak_bytes", "peak_blocks",
           "live_blocks_at_end", "live_bytes_at_end", "unmatched_frees", "inherited_frees", "events", "lost_events", "children_unseen",
           "unseen_programs", "unreadable_images", "damaged_chunks", "missing_chunks", "threads", "stacks", "sizes")
OF_IMAGES = ("pid", "command", "counted", "being_written", "exit_code", "allocation_calls", "free_calls", "allocated_bytes", "live_bytes_at_end")

TREE = """
i=0
while [ $i -lt 10 ]; do
  (sleep 0.3; /bin/true) &
  /bin/true | /bin/cat
  /bin/true
  i=$((i+1))
done
wait
"""

CHURN = """
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static _Atomic bool is_over;
static void *work(void *seed)
{
  void **kept = calloc(1000, sizeof *kept);
  unsigned long r = (unsigned long)seed;
  for (long i = 0; !is_over; i++) {
    r = r * 6364136223846793005u + 1442695040888963407u;
    free(kept[(r >> 33) % 1000]);
    kept[(r >> 33) % 1000] = malloc(16 + (r >> 40) % 1000);
    if (i % 1000 == 0)
      usleep(2000);
  }
  return kept;
}
int main(void)
{
  pthread_t threads[3];
  for (long i = 0; i < 3; i++)
    pthread_create(&threads[i], NULL, work, (void *)(i + 1));
  is_over = getchar() == EOF;
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], NULL);
  return 0;
}
"""


def images_of(report):
    return sorted([[image.get(figure) for figure in OF_IMAGES] for image in report["images"]], key=str)


def assert_shows_the_report(viewer, hw, trace):
    """Times are left out: they follow a clock whose rate becomes more exact."""
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    live, report = viewer.report(), json.loads(hw("report", "--children", "--json", trace).stdout)
    for figure in FIGURES:
        assert live[figure] == report[figure], figure
    assert images_of(live) == images_of(report)
    for figure in ("calls", "bytes", "live_bytes"):
        assert [row[figure] for row in live["top"]] == [row[figure] for row in report["top"]], figure


def follow(process, viewer):
    """Asks for documents until the recording has ended. Returns the calls that they showed."""
    seen = []
    while process.poll() is None:
        seen.append(viewer.json("/document")["run"]["allocation_calls"])
        time.sleep(0.05)
    assert seen == sorted(seen)
    return seen


def test_processes_come_and_go(begin, view, hw):
    process, trace = begin("sh", "-c", TREE, options=("--durations",))
    viewer = view(trace)
    follow(process, viewer)
    assert process.wait() == 0
    assert_shows_the_report(viewer, hw, trace)
    assert len(viewer.report()["images"]) >= 50
    report = json.loads(hw("report", "--children", "--durations", "--json", trace).stdout)
    calls, expected = ({row["entry"]: (row["calls"], row["untimed_calls"]) for row in document["durations"]}
                       for document in (viewer.json("/document"), report))
    assert calls == expected


def test_more_than_a_thousand_short_processes(begin, view, hw):
    process, trace = begin("sh", "-c", "i=0; while [ $i -lt 1200 ]; do /bin/true; i=$((i+1)); done")
    viewer = view(trace)
    assert len(set(follow(process, viewer))) > 3
    assert process.wait() == 0
    assert_shows_the_report(viewer, hw, trace)
    assert len(viewer.report()["images"]) > 1200


def test_the_launcher_writes_the_status_later(begin, view, hw):
    """The command has ended, but its launcher is stopped: its status is still to come."""
    process, trace = begin("sh", "-c", "read line; exit 3")
    viewer = view(trace)
    command = child_of(process)
    assert viewer.report()["images"][0].get("exit_code") is None
    process.send_signal(signal.SIGSTOP)
    process.stdin.close()
    wait_until(lambda: has_ended(command) and not viewer.report()["images"][0]["being_written"])
    assert viewer.ask("/document")[1]["Heapwright-State"] == "running"
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: viewer.ask("/document")[1]["Heapwright-State"] == "over")
    assert viewer.report()["images"][0]["exit_code"] == 3
    assert process.wait() == 3
    assert_shows_the_report(viewer, hw, trace)


def test_the_status_is_that_of_all_programs_of_the_process(begin, view, hw):
    process, trace = begin("sh", "-c", "read line; exec sh -c 'read line; exit 4'")
    viewer = view(trace)
    process.stdin.write(b"\n")
    process.stdin.flush()
    wait_until(lambda: len(viewer.report()["images"]) == 2)
    process.stdin.write(b"\n")
    process.stdin.close()
    assert process.wait() == 4
    assert_shows_the_report(viewer, hw, trace)
    assert [image["exit_code"] for image in viewer.report()["images"]] == [4, 4]


def test_a_launcher_that_was_killed_writes_no_status(begin, view, hw):
    process, trace = begin("sh", "-c", "read line")
    viewer = view(trace)
    assert viewer.report()["images"][0]["being_written"]
    process.kill()
    process.wait()
    process.stdin.close()
    assert_shows_the_report(viewer, hw, trace)


def test_a_viewer_that_is_killed_is_started_again(begin, view, hw, compile_c, tmp_path):
    """Meanwhile the recording is packed."""
    (tmp_path / "churn.c").write_text(CHURN)
    process, trace = begin(compile_c(tmp_path / "churn.c", "-pthread", name="churn"))
    calls = 0
    for _ in range(3):
        viewer = view(trace)
        wait_until(lambda: viewer.report()["allocation_calls"] > calls + 10000)
        calls = viewer.report()["allocation_calls"]
        viewer.process.kill()
        viewer.process.wait()
    viewer = view(trace)
    wait_until(lambda: viewer.report()["allocation_calls"] > calls)
    process.stdin.close()
    follow(process, viewer)
    assert process.wait() == 0
    assert_shows_the_report(viewer, hw, trace)
