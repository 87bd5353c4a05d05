"""test_rss.py - report --rss: the parts of resident memory over time, of one process and of all processes of a run

If this fails, the parts do not add up, a process of the run is missing, or parts are shown that cannot be known.
"""

import json
import os
import re
import subprocess

import pytest

from waiting import HOLD, is_looked_at

# Holds 20 MB; a child that executes another program holds 30 MB; each waits until its mappings have been read.
PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char *volatile kept[30000];
static void fill(int blocks) { for (int i = 0; i < blocks; i++) memset(kept[i] = malloc(1000), 1, 1000); }
int main(int count, char **words)
{
  fill(count > 1 ? 30000 : 20000);
  if (count > 1)
    return HOLD, 0;
  if (fork() == 0)
    execl(words[0], words[0], "child", NULL);
  wait(NULL);
  HOLD;
}
"""


def build_program(folder, source):
    (folder / "program.c").write_text(source.replace("HOLD", HOLD))
    subprocess.run(["gcc", "-O1", "-g", "-o", "program", "program.c"], cwd=folder, check=True)
    return folder / "program"


@pytest.fixture(scope="module")
def family(hw, record_with_marks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("family")
    trace = folder / "run.hwt"

    def are_looked_at(so_far):
        rows = report(hw, "--children", trace)["rss_along_time"]
        since_ns = so_far["images"][0]["marks"][-1]["time_ns"]
        processes = 3 - len(so_far["images"][0]["marks"])
        return any(row["processes"] == processes and not row["unknown_processes"] and row["time_ns"] > since_ns for row in rows)

    record_with_marks(build_program(folder, PROGRAM), trace, "both", "alone", until=are_looked_at)
    return trace


def report(hw, *options):
    done = hw("report", "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_processes_together(hw, family):
    rows = report(hw, "--children", family)["rss_along_time"]
    both = [row for row in rows if row["processes"] == 2 and row["unknown_processes"] == 0]
    assert both
    for row in rows:
        if row["unknown_processes"]:
            assert "asked_bytes" not in row  # the live bytes are known only for all processes together
            continue
        assert row["mapped_bytes"] == (sum(row[f"{part}_bytes"] for part in (
            "asked", "rounding", "free", "own_mapped", "code", "stack", "recorder", "other")) - row["untouched_bytes"])
    assert any(row["asked_bytes"] == pytest.approx(50000000, rel=0.02) and row["mapped_bytes"] > 50000000 for row in both)
    assert rows[-1]["processes"] == 1 and rows[-1]["asked_bytes"] == pytest.approx(20000000, rel=0.02)
    assert re.search(r"RSS at the peak, of 2 processes: 5\d\.\d MB = 5\d\.\d MB asked for",
                     hw("report", "--children", family).stdout)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_table(hw, family, columns):
    done = hw("report", "--rss", "--children", family, env={"COLUMNS": str(columns), "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("Resident memory along time")[2].partition("\n\n")[0].splitlines()
    assert max(map(len, table)) <= max(columns, 75)
    assert re.split(r"\s{2,}", table[1].strip())[:3] == ["at", "RSS", "asked for"]
    assert any(re.search(r"\b5\d\.\d MB +5\d\.\d MB .* 2$", row) for row in table), table
    if columns != 80:  # there it depends on the other parts that are shown
        assert ("code" in table[1]) == (columns > 80)  # else it is in "other"


@pytest.mark.parametrize("options", [("--from", "1s"), ("--by", "size"), ("--leaks",), ("--tree",), ("--only", "func=main")], ids=" ".join)
def test_with_what_it_is_not_about(hw, family, options):
    done = hw("report", "--rss", *options, family)
    assert done.returncode == 2 and "--rss is" in done.stderr


def test_parts_are_of_one_moment(hw, family):
    """The resident memory at one time is not shown as the sum of the live bytes at another time."""
    run = report(hw, family)
    image = next(image for image in run["images"] if image["counted"])
    looks = [point["time_ns"] for point in image["rss"] if "mapped_bytes" in point]
    assert looks
    at = " ".join(hw("report", "--at", f"{looks[-1]}ns", family).stdout.split())
    assert re.search(r"RSS at \S+ \w+: \S+ [kM]?B = \S+ ([kM]?B )?asked for \+", at)
    others = [ns for ns in range(0, run["duration_ns"], 20_000_000) if all(abs(ns - look) > 15_000_000 for look in looks)]
    nearest = min(others, key=lambda ns: abs(ns - looks[-1]))
    near = " ".join(hw("report", "--at", f"{nearest}ns", family).stdout.split())
    assert re.search(r"RSS near \S+ \w+, at \S+ \w+: \S+ [kM]?B, of which .* asked for at", near)
    assert "free in the allocator" not in near


def test_without_samples(hw, build, tmp_path, recorder):
    trace = tmp_path / "raw.hwt"
    subprocess.run(["/bin/true"], env={**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(trace)}, check=True)
    assert "not known: the mappings of the process were not sampled" in hw("report", "--rss", trace).stdout
    assert report(hw, trace)["rss_along_time"] == []


# 50 MB for a very short time, between looks at the mappings; all the rest is touched as soon as it is allocated.
SPIKE = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *volatile kept[20], *volatile spike;
static void fill(int from, int to)
{
  for (int i = from; i < to; i++)
    memset(kept[i] = malloc(1000), 1, 1000);
  HOLD;
}
int main(void)
{
  fill(0, 10);
  memset(spike = malloc(50000000), 1, 50000000);
  free(spike);
  fill(10, 20);
}
"""


def test_a_peak_that_was_over_at_once(hw, record_with_marks, tmp_path):
    """A look after a spike is not reported as a look at the peak. Small blocks are not taken for untouched because
    there were large ones at another time."""
    trace = tmp_path / "spike.hwt"
    record_with_marks(build_program(tmp_path, SPIKE), trace, "before", "after", until=is_looked_at)
    image = next(image for image in report(hw, trace)["images"] if image["counted"])
    looks = [point for point in image["rss"] if "mapped_bytes" in point]
    apart = [point for point in looks if max(point["asked_bytes"], point["rss_bytes"]) < 10000000]
    assert len(apart) >= 2 and all(point["untouched_bytes"] == 0 for point in apart), looks
    if len(apart) == len(looks):  # otherwise a look found the spike itself, or its end
        head = " ".join(hw("report", trace).stdout.split())
        assert "RSS near the peak, at" in head and "RSS at the peak" not in head
