"""test_scopes.py - the scopes that a program marked, in each format that can hold them"""

import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
from collections import Counter

import pytest
from pprof_file import Pprof

from conftest import ROOT

ALL_CASES = ["attribute", "recurse", "threads", "fork", "longjmp", "thread exits", "names", "die", "forbidden", "notes", "none"]
LONGEST = "x" * 10000


@pytest.fixture(scope="module")
def marked(build, tmp_path_factory):
    """marked("attribute"): the recording of this case of tests/record/programs/scopes.cc."""
    folder = tmp_path_factory.mktemp("marked")
    program = folder / "program"
    source = ROOT / "tests/record/programs/scopes.cc"
    subprocess.run(["g++", "-std=c++17", "-g", "-O1", "-fno-builtin", "-pthread", f"-I{ROOT}/include", source, "-o", program], check=True)
    traces = {}

    def recording(case, *options):
        key = "".join([case.replace(" ", "-"), *options])
        if key not in traces:
            traces[key] = folder / f"{key}.hwt"
            command = [build / "bin/heapwright", "record", "-q", "-o", traces[key], *options, program, case]
            assert subprocess.run(command, capture_output=True, timeout=60).returncode in (0, 137)
        return traces[key]

    return recording


# --- chrome ---


def slices_of(path):
    """The slices of scopes, each with the names around it; they must nest in each thread."""
    found, open_of_thread = [], {}
    for event in json.loads(path.read_bytes().decode("utf-8"))["traceEvents"]:
        stack = open_of_thread.setdefault((event["pid"], event.get("tid")), [])
        if event["ph"] == "B":
            assert event["cat"] == "scope" and event["ts"] >= (stack[-1]["ts"] if stack else 0)
            stack.append(event)
        elif event["ph"] == "E":
            begun = stack.pop()
            assert begun["name"] == event["name"] and begun["ts"] <= event["ts"]
            path = tuple(outer["name"] for outer in [*stack, begun])
            found.append({"path": path, "tid": event["tid"], "ts": begun["ts"], "end": event["ts"], "begin_args": begun.get("args", {}), **event["args"]})
    assert not any(open_of_thread.values())
    return found


def memory_of(path):
    return {found["path"]: found["Memory(size,count)"] for found in slices_of(path)}


def test_a_slice_has_what_its_scope_did_by_size(export, marked):
    assert memory_of(export(marked("attribute"), "x.trace.json")) == {
        ("region", "inside"): {"1144": 1, "TOTAL": 1144, "CHILDREN": 0},
        ("region",): {"8": -1, "16": 2, "TOTAL": 24, "CHILDREN": 1144},
    }


def test_slices_are_the_instances_of_the_report(export, report, marked):
    for case in ALL_CASES:
        shown = report(marked(case)).get("scopes", [])
        found = slices_of(export(marked(case), "x.trace.json"))
        assert Counter(s["path"] for s in found) == {tuple(scope["path"]): scope["instances"] for scope in shown}
        for scope in shown:
            same = [s for s in found if s["path"] == tuple(scope["path"])]
            assert sum(s["Memory(size,count)"]["TOTAL"] for s in same) == scope["self"]["net_bytes"]
            assert sum(s["Memory(size,count)"]["TOTAL"] + s["Memory(size,count)"]["CHILDREN"] for s in same) == scope["net_bytes"]
            assert sum("left_open" in s for s in same) == scope["instances_left_open"]
            assert abs(sum(s["end"] - s["ts"] for s in same) * 1000 - scope["duration_ns"]) < 1 + len(same)


def test_slices_of_sixteen_threads(export, report, marked):
    found = slices_of(export(marked("threads"), "x.trace.json"))
    threads = {s["begin_args"]["number"]: s for s in found if s["path"] == ("thread",)}
    assert sorted(threads) == list(range(16)) and len({s["tid"] for s in threads.values()}) == 16
    for number, thread in threads.items():
        work = [s["Memory(size,count)"] for s in found if s["tid"] == thread["tid"] and s["path"] == ("thread", "work")]
        size = (number + 1) * 7
        kept, freed = {str(size): 1, "TOTAL": size, "CHILDREN": 0}, {"TOTAL": 0, "CHILDREN": 0}
        assert work == [kept, freed] * 50
        assert thread["Memory(size,count)"] == {"TOTAL": 0, "CHILDREN": 50 * size}


def test_recursive_slices_have_their_numbers(export, marked):
    found = slices_of(export(marked("recurse"), "x.trace.json"))
    assert {len(s["path"]): s["begin_args"] for s in found} == {depth: {"number": 6 - depth} for depth in range(1, 6)}
    assert {len(s["path"]): s["Memory(size,count)"] for s in found} == {
        depth: {"10": 1, "TOTAL": 10, "CHILDREN": 50 - 10 * depth} for depth in range(1, 6)
    }


def test_slices_left_open_end_with_the_last_event(export, marked):
    found = {s["path"][-1]: s for s in slices_of(export(marked("die"), "x.trace.json"))}
    assert found["at the end"]["Memory(size,count)"] == {"77": 1, "TOTAL": 77, "CHILDREN": 0}
    assert found["at the end"]["end"] == found["before"]["end"] > found["at the end"]["ts"]
    assert all(s["left_open"] for s in found.values())


def test_slices_with_strange_names(export, marked):
    assert {s["path"] for s in slices_of(export(marked("names"), "x.trace.json"))} == {
        ('"quoted" \\ and <b>',), ("\U0001f418 emoji",), (LONGEST,), ("",)
    }


def test_slices_of_all_processes(export, marked):
    found = slices_of(export(marked("fork"), "x.trace.json", "--children"))
    child = next(s for s in found if s["path"] == ("outer", "inner", "of the child"))
    assert child["Memory(size,count)"] == {"300": 1, "TOTAL": 300, "CHILDREN": 0}
    inner = [s["Memory(size,count)"] for s in found if s["path"] == ("outer", "inner")]
    assert [sizes["CHILDREN"] for sizes in inner].count(300) == 1 and any(sizes.get("400") == 1 for sizes in inner)


def test_slices_of_an_interval(export, marked):
    """The slices that are open when the interval begins are begun there, and those that are open at its end are ended there."""
    whole = {s["path"]: s for s in slices_of(export(marked("recurse"), "x.trace.json"))}
    innermost = max(whole.values(), key=lambda s: len(s["path"]))
    outer = whole[innermost["path"][:-1]]
    from_ns = round(outer["ts"] * 1000) + 1
    to_ns = round(innermost["end"] * 1000) + 1
    part = {s["path"]: s for s in slices_of(export(marked("recurse"), "y.trace.json", "--from", f"{from_ns}ns", "--to", f"{to_ns}ns"))}
    assert set(part) == set(whole)
    assert all(from_ns - 1 <= round(s["ts"] * 1000) and round(s["end"] * 1000) <= to_ns for s in part.values())
    assert part[("level",)]["Memory(size,count)"]["TOTAL"] == 0 < part[innermost["path"]]["Memory(size,count)"]["TOTAL"]


def test_slices_of_chosen_threads(export, report, marked):
    tid = report(marked("threads"))["by_thread"][-1]["tid"]
    found = slices_of(export(marked("threads"), "x.trace.json", "--thread", str(tid)))
    assert found and {s["tid"] for s in found} == {tid}


def test_slices_of_chosen_scopes(export, marked):
    """A slice is written if its scope, or one around it, is chosen; only the chosen blocks are counted."""
    def chosen(*options):
        return memory_of(export(marked("attribute"), "x.trace.json", *options))

    region, inside = {"8": -1, "16": 2, "TOTAL": 24, "CHILDREN": 1144}, {"1144": 1, "TOTAL": 1144, "CHILDREN": 0}
    assert chosen("--only", "scope=inside") == {("inside",): inside}
    assert chosen("--only", "scope=region") == {("region", "inside"): inside, ("region",): {"16": 2, "TOTAL": 32, "CHILDREN": 1144}}
    assert chosen("--ignore", "scope=region") == {}
    assert chosen("--ignore", "scope=inside") == {("region",): {**region, "CHILDREN": 0}}
    assert chosen("--only", "size=8") == {("region",): {"8": -1, "TOTAL": -8, "CHILDREN": 0}, ("region", "inside"): {"TOTAL": 0, "CHILDREN": 0}}


def test_chosen_scopes_of_an_interval(export, marked):
    whole = {s["path"]: s for s in slices_of(export(marked("attribute"), "x.trace.json"))}
    from_ns = round(whole["region", "inside"]["ts"] * 1000) + 1
    part = slices_of(export(marked("attribute"), "y.trace.json", "--from", f"{from_ns}ns", "--only", "scope=inside"))
    assert [s["path"] for s in part] == [("inside",)]


def test_filters_do_not_narrow_the_net_of_scopes(report, marked, export):
    whole, part = report(marked("attribute"))["scopes"], report(marked("attribute"), "--only", "size=16")["scopes"]
    assert [scope["allocated_bytes"] for scope in part] == [32, 0] and [scope["allocated_bytes"] for scope in whole] == [1176, 1144]
    assert [(scope["net_bytes"], scope["net_blocks"]) for scope in part] == [(scope["net_bytes"], scope["net_blocks"]) for scope in whole]
    with open(export(marked("attribute"), "x.csv", "--table", "scopes", "--only", "size=16"), newline="", encoding="utf-8") as file:
        assert [row["net_bytes"] for row in csv.DictReader(file)] == [str(scope["net_bytes"]) for scope in whole]


def test_forbidden_zones_are_slices_that_say_so(export, marked):
    found = slices_of(export(marked("forbidden"), "x.trace.json"))
    zones = [s for s in found if s["path"] == ("around", "control")]
    assert len(zones) == 6 and [s["begin_args"] for s in zones] == [{}] * 2 + [{"forbidden": True}] * 4
    assert [s["Memory(size,count)"]["TOTAL"] for s in zones] == [40, 40, 0, 40, 0, 0]


@pytest.mark.parametrize("options", [[], ["--no-pack"]])
def test_slices_have_the_texts_of_their_instances(export, marked, options):
    found = slices_of(export(marked("instances", *options), "x.trace.json"))
    requests = [s for s in found if s["path"] == ("frame", "request")]
    assert [s["begin_args"] for s in requests] == [{"text": f'/{i}?"\x1b[31m<b>\n\ufffd'} for i in range(20)]
    assert [s["begin_args"] for s in found if s["path"] == ("frame",)] == [{"number": 1000 + i} for i in range(20)]


def test_slices_that_are_open_when_an_interval_begins_have_their_texts(export, marked):
    whole = [s for s in slices_of(export(marked("instances"), "x.trace.json")) if s["path"] == ("frame", "request")]
    from_ns = round(max(whole, key=lambda s: s["end"] - s["ts"])["ts"] * 1000) + 1
    part = [s for s in slices_of(export(marked("instances"), "y.trace.json", "--from", f"{from_ns}ns")) if s["path"] == ("frame", "request")]
    assert part[0]["begin_args"]["text"] in [s["begin_args"]["text"] for s in whole if s["ts"] * 1000 <= from_ns <= s["end"] * 1000]
    assert [s["begin_args"] for s in part] == [s["begin_args"] for s in whole][-len(part):]


def test_texts_of_threads_and_processes(export, record, compile_c):
    """Each thread of each process has its own texts; they are read in other orders than their events."""
    program = compile_c("""
#include <heapwright/monitor.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *number)
{
  char text[64];
  for (int i = 0; i < 3000; i++) {
    snprintf(text, sizeof text, "%d %ld %d", (int)getpid(), (long)number, i);
    HW_SCOPE_TEXT("job", text);
    free(malloc(1000 + (size_t)(long)number));
  }
  return NULL;
}
int main(void)
{
  const pid_t child = fork();
  pthread_t ids[4];
  for (long i = 0; i < 4; i++)
    pthread_create(&ids[i], NULL, work, (void *)i);
  for (int i = 0; i < 4; i++)
    pthread_join(ids[i], NULL);
  if (child)
    waitpid(child, NULL, 0);
  return 0;
}
""", f"-I{ROOT}/include", "-fno-builtin", "-pthread")
    path = export(record([program]).trace, "x.trace.json", "--children")
    texts = {}
    for event in json.loads(path.read_bytes())["traceEvents"]:
        if event["ph"] == "B":
            texts.setdefault((event["pid"], event["tid"]), []).append(event["args"]["text"].split())
    assert len(texts) == 8
    for (pid, _), words in texts.items():
        assert words == [[str(pid), words[0][1], str(i)] for i in range(3000)]


STAYS = """
#include <heapwright/monitor.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
int main(void)
{
  struct hw_task task = hw_task_create("task");
  hw_task_enter(&task);
  const struct hw_scope number = hw_scope_begin_number("number", 7), text = hw_scope_begin_text("text", "/index");
  kept = malloc(10);
  hw_task_leave(&task);
  {
    HW_SCOPE_TEXT("other", "/other");
    kept = malloc(30);
    usleep(20000);
    kept = malloc(30);
  }
  hw_task_enter(&task);
  kept = malloc(20);
  hw_scope_end(text);
  hw_scope_end(number);
  hw_task_leave(&task);
  hw_task_finish(&task);
  return 0;
}
"""


def test_slices_of_a_task_have_the_texts_of_their_instances(export, record, compile_c):
    found = slices_of(export(record([compile_c(STAYS, f"-I{ROOT}/include", "-fno-builtin")]).trace, "x.trace.json"))
    stays = [(s["path"][-1], s["begin_args"]) for s in found if s["path"][0] == "task"]
    assert stays == 2 * [("text", {"text": "/index"}), ("number", {"number": 7}), ("task", {})]
    assert [s["Memory(size,count)"]["TOTAL"] for s in found if s["path"][-1] == "text"] == [10, 20]


def test_a_slice_has_its_text_in_an_interval_without_events(export, record, compile_c):
    trace = record([compile_c(STAYS, f"-I{ROOT}/include", "-fno-builtin")]).trace
    other, = [s for s in slices_of(export(trace, "x.trace.json")) if s["path"] == ("other",)]
    begin_ns = round(other["ts"] * 1000) + 5000000
    part = slices_of(export(trace, "y.trace.json", "--from", f"{begin_ns}ns", "--to", f"{begin_ns + 10000000}ns"))
    assert [(s["path"], s["begin_args"], round((s["end"] - s["ts"]) * 1000)) for s in part] == [(("other",), {"text": "/other"}, 10000000)]


def test_the_memory_does_not_grow_with_the_texts(build, record, compile_c, tmp_path):
    """All texts together have 160 MB."""
    program = compile_c("""
#include <heapwright/monitor.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
  static char text[4001];
  for (int i = 0; i < 40000; i++) {
    memset(text, 'a' + i % 26, 4000);
    HW_SCOPE_TEXT("job", text);
  }
  return 0;
}
""", f"-I{ROOT}/include")
    command = [build / "bin/heapwright", "export", record([program]).trace, "-o", tmp_path / "x.trace.json"]
    _, status, usage = os.wait4(os.spawnv(os.P_NOWAIT, command[0], command), 0)
    assert status == 0 and usage.ru_maxrss < 64 << 10
    assert (tmp_path / "x.trace.json").read_bytes().count(b'"text":"') == 40000


def test_marks_and_counters_of_the_program(export, report, marked):
    shown = report(marked("notes"))
    events = json.loads(export(marked("notes"), "x.trace.json").read_bytes().decode("utf-8"))["traceEvents"]
    marks = [event for event in events if event["ph"] == "i" and not event["name"].startswith("Memory Leaks")]
    assert [event["name"] for event in marks] == [mark["text"] for mark in shown["marks"]]
    assert [round(event["ts"] * 1000) for event in marks] == [mark["time_ns"] for mark in shown["marks"]]
    for counter in shown["counters"]:
        values = [event["args"] for event in events if event["ph"] == "C" and event["name"] == counter["name"]]
        assert values == [{"value": point["value"]} for point in counter["points"] if point["value"] is not None]
        assert values or counter["name"] == "not a number"


# --- pprof ---


def samples_by_scope(path, name):
    """The sums of one sample type by label; None: no label."""
    found = Pprof(path)
    sums = Counter()
    for (_, values), labels in zip(found.samples, found.labels):
        assert set(labels) <= {"scope"}
        sums[labels.get("scope")] += values[found.types.index(name)]
    return sums


def test_pprof_has_scopes_as_labels(export, report, marked):
    sums = samples_by_scope(export(marked("attribute"), "x.pb.gz"), "alloc_space")
    rest = report(marked("attribute"))["allocated_bytes"] - 32 - 1144
    assert sums == {"region": 32, "region > inside": 1144, None: rest}


def test_one_stack_has_a_sample_for_each_scope(export, report, marked):
    for case in ALL_CASES:
        shown = report(marked(case))
        path = export(marked(case), "x.pb.gz")
        for name, key in ("alloc_objects", "allocation_calls"), ("alloc_space", "allocated_bytes"), ("inuse_space", "peak_bytes"):
            sums = samples_by_scope(path, name)
            expected = {" > ".join(scope["path"]) or None: scope["self"][key] for scope in shown.get("scopes", [])}
            expected[None] = shown[key] - sum(amount for text, amount in expected.items() if text)
            assert +sums == +Counter(expected)


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed (golang-go)")
def test_go_splits_by_scope(export, marked, tmp_path):
    path = export(marked("attribute"), "x.pb.gz")
    command = ["go", "tool", "pprof", "-tags", "-unit", "B", "-sample_index", "alloc_space", path]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, timeout=60)
    assert done.returncode == 0, done.stderr
    amounts = dict(map(reversed, re.findall(r"([\d.]+)B \(.*?%\): (.+)", done.stdout)))
    assert amounts == {"region > inside": "1144.0", "region": "32.0"}, done.stdout


# --- tables ---


@pytest.fixture
def database(export, marked):
    def run(case, *options):
        connection = sqlite3.connect(export(marked(case), "x.sqlite", *options))
        connection.row_factory = sqlite3.Row
        return connection

    return run


SUMS = ["duration_ns", "allocation_calls", "free_calls", "failed_calls", "temporary_calls", "allocated_bytes", "net_bytes", "net_blocks",
        "peak_bytes", "live_bytes_at_end", "live_blocks_at_end"]
OF_A_PATH = ["instances", "instances_left_open", "allocating_instances", "last_allocating_instance", "max_duration_ns", "max_net_bytes"]


def test_the_table_of_scopes_is_the_report_s(database, report, marked, export):
    for case in ALL_CASES:
        shown = report(marked(case)).get("scopes", [])
        found = database(case)
        assert list(found.execute("PRAGMA foreign_key_check")) == []
        rows = list(found.execute("SELECT * FROM scopes ORDER BY id"))
        assert [row["path"] for row in rows] == [" > ".join(scope["path"]) or None for scope in shown]
        assert [row["name"] for row in rows] == [scope["path"][-1] or None for scope in shown]
        for row, scope in zip(rows, shown):
            assert {key: row[key] for key in OF_A_PATH + SUMS} == {key: scope[key] for key in OF_A_PATH + SUMS}
            assert {key: row[f"self_{key}"] for key in SUMS} == {key: scope["self"][key] for key in SUMS}
        with open(export(marked(case), "x.csv", "--table", "scopes"), newline="", encoding="utf-8") as file:
            assert [list(line) for line in csv.reader(file)][1:] == [["" if value is None else str(value) for value in row] for row in rows]


def test_what_is_freed_makes_the_net_negative(database, export, build, marked, compile_c, record):
    program = compile_c("""
#include <heapwright/monitor.h>
#include <stdlib.h>
int main(void) { void *volatile block = malloc(100); { HW_SCOPE("frees"); free(block); } return 0; }
""", f"-I{ROOT}/include", "-fno-builtin")
    trace = record([program]).trace
    with open(export(trace, "x.csv", "--table", "scopes"), newline="", encoding="utf-8") as file:
        row, = csv.DictReader(file)
    assert (row["net_bytes"], row["self_net_blocks"], row["allocation_calls"], row["free_calls"]) == ("-100", "-1", "0", "1")


def test_scopes_of_stacks(database):
    found = database("recurse")
    rows = list(found.execute("SELECT depth, calls, bytes FROM scope_stacks JOIN scopes ON id = scope_id ORDER BY depth"))
    assert [tuple(row) for row in rows] == [(depth, 1, 10) for depth in range(1, 6)]
    found = database("attribute", "--only", "size=16")
    assert [tuple(row) for row in found.execute("SELECT path, sum(bytes) FROM scope_stacks JOIN scopes ON id = scope_id GROUP BY path")] == [("region", 32)]


def query_of_the_docs(words):
    query, = [text for text in re.findall(r"```sql\n(.*?)```", (ROOT / "docs/formats.md").read_text(encoding="utf-8"), re.S) if words in text]
    return query


def test_the_query_of_stacks_in_the_docs(database):
    rows = [tuple(row) for row in database("attribute").execute(query_of_the_docs("scope_stacks"))]
    assert rows[0][:3] == ("region > inside", 1, 1144) and rows[0][3].startswith("attribute < main")
    assert [row[2] for row in rows] == [1144, 16, 16]


def test_the_query_of_threads_in_the_docs(database):
    rows = [tuple(row) for row in database("threads").execute(query_of_the_docs("scope_threads"))]
    assert rows == [("thread > work", "program", 100, (number + 1) * 700) for number in range(15, 5, -1)]


def test_the_query_of_warm_ups_in_the_docs(database):
    query = query_of_the_docs("last_allocating_instance")
    assert list(database("warm up").execute(query)) == []
    assert [tuple(row) for row in database("threads").execute(query)] == [("thread > work", 1600, 1600, 1600), ("thread", 16, 16, 16)]


def test_the_query_of_marks_in_the_docs(database, report, marked):
    rows = [tuple(row) for row in database("notes").execute(query_of_the_docs("FROM marks"))]
    shown = report(marked("notes"))
    assert [row[:2] for row in rows] == [(mark["time_ns"], mark["text"]) for mark in shown["marks"] if mark["time_ns"] <= 10**9]
    assert {row[2] for row in rows} <= {point["live_bytes"] for point in shown["timeline"]}


def test_tables_of_marks_and_counters(database, report, marked, export):
    shown, found = report(marked("notes")), database("notes")
    assert list(found.execute("PRAGMA foreign_key_check")) == []
    marks = found.execute("SELECT time_ns, text FROM marks WHERE kind = 'mark' AND image_id IS NULL ORDER BY time_ns")
    assert [dict(row) for row in marks] == shown["marks"]
    counters = [dict(row) for row in found.execute("SELECT name, sets, min, max, last FROM counters ORDER BY id")]
    assert counters == [{key: counter[key] for key in ["name", "sets", "min", "max", "last"]} for counter in shown["counters"]]
    points = [tuple(row) for row in found.execute("SELECT name, time_ns, value FROM counter_points JOIN counters ON id = counter_id ORDER BY id, time_ns")]
    assert points == [(counter["name"], point["time_ns"], point["value"]) for counter in shown["counters"] for point in counter["points"]]
    assert {value for name, _, value in points if name == "temperature"} >= {0.25}
    with open(export(marked("notes"), "x.csv", "--table", "counter_points"), newline="", encoding="utf-8") as file:
        assert [float(row["value"]) for row in csv.DictReader(file)] == [value for _, _, value in points]


def test_moments_of_several_images_are_times_of_the_run(record_with_marks, compile_c, export, tmp_path):
    """Marks of both kinds, and samples of resident memory. The largest image begins later than the run."""
    program = compile_c("""
#include <heapwright/monitor.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
int main(int count, char **words)
{
  if (count == 1) {
    hw_mark("begins");
    usleep(50000);
    execl(words[0], words[0], "second", NULL);
  }
  hw_mark("second");
  kept = malloc(1 << 20);
  (void)!write(STDOUT_FILENO, ".", 1);
  char c;
  (void)!read(STDIN_FILENO, &c, 1);
  hw_mark("ends");
  return 0;
}
""", f"-I{ROOT}/include", "-fno-builtin")
    recording = record_with_marks(program, tmp_path / "two.hwt", "from outside")
    shown = recording.report_with("--children")
    texts = ["begins", "second", "from outside", "ends"]
    assert [mark["text"] for mark in shown["marks"]] == texts
    found = sqlite3.connect(export(recording.trace, "x.sqlite", "--children"))
    second_ns, end_ns = shown["marks"][1]["time_ns"], shown["duration_ns"]
    assert found.execute("SELECT text, time_ns FROM marks ORDER BY time_ns").fetchall() == [(mark["text"], mark["time_ns"]) for mark in shown["marks"]]
    assert found.execute("SELECT text FROM marks WHERE image_id IS NOT NULL").fetchall() == [("from outside",)]
    late = found.execute("SELECT min(time_ns), max(time_ns) FROM rss JOIN images ON id = image_id WHERE command LIKE '% second'").fetchone()
    assert late == (None, None) or 50000000 < late[0] <= late[1] <= end_ns
    events = json.loads(export(recording.trace, "x.trace.json", "--children").read_bytes())["traceEvents"]
    marks = [(event["name"], round(event["ts"] * 1000)) for event in events if event["ph"] == "i" and event["name"] in texts]
    assert marks == [(mark["text"], mark["time_ns"]) for mark in shown["marks"]]
    assert all(event["ts"] > 50000 for event in events if event["name"] == "RSS(bytes)")
    only = json.loads(export(recording.trace, "y.trace.json", "--children", "--from", f"{second_ns + 1}ns").read_bytes())["traceEvents"]
    assert [event["name"] for event in only if event["ph"] == "i" and event["name"] in texts] == texts[2:]


@pytest.mark.parametrize("options", [[], ["--only", "size=7..14"], ["--only", "scope=work"]])
def test_the_threads_of_scopes(database, options):
    found = database("threads", *options)
    assert list(found.execute("PRAGMA foreign_key_check")) == []
    sums = "sum(calls), sum(bytes), sum(temporary_calls), sum(peak_bytes), sum(live_bytes), sum(live_blocks)"
    by_threads, by_stacks = ([tuple(row) for row in found.execute(f"SELECT scope_id, {sums} FROM {table} GROUP BY 1")] for table in ("scope_threads", "scope_stacks"))
    assert by_threads and by_threads == by_stacks


# --- folded ---


def test_folded_with_scopes_in_front(export, report, marked):
    lines = export(marked("attribute"), "x.folded", "--scopes", "--cost", "bytes").read_text().splitlines()
    costs = [line.rpartition(" ") for line in lines]
    assert sum(int(cost) for _, _, cost in costs) == report(marked("attribute"))["allocated_bytes"]
    inside = [(stack, int(cost)) for stack, _, cost in costs if stack.startswith("region;")]
    assert sorted(cost for _, cost in inside) == [16, 16, 1144] or sorted(cost for _, cost in inside) == [32, 1144]
    assert [stack.split(";")[:2] for stack, cost in inside if cost == 1144] == [["region", "inside"]]
    assert all(stack.endswith(";main;attribute") for stack, _ in inside)


def test_folded_scopes_of_one_stack(export, marked):
    lines = export(marked("threads"), "x.folded", "--scopes", "--cost", "calls").read_text().splitlines()
    work = [line for line in lines if line.startswith("thread;work;")]
    assert len(work) == 1 and work[0].endswith("work 1600")


def test_folded_scopes_with_strange_names(export, marked):
    lines = export(marked("names"), "x.folded", "--scopes", "--cost", "calls").read_text(encoding="utf-8").splitlines()
    outermost = {line.split(";")[0] for line in lines}
    assert {'"quoted" \\ and <b>', "\U0001f418 emoji", LONGEST, "[no name]"} <= outermost


def test_folded_without_the_option_has_no_scopes(export, marked):
    plain = export(marked("attribute"), "x.folded").read_text()
    assert "region" not in plain
    assert export(marked("none"), "y.folded", "--scopes").read_text() == export(marked("none"), "z.folded").read_text()


def stacks_of_speedscope(path, name):
    """The sums of one profile by names, the outermost first."""
    found = json.loads(path.read_bytes().decode("utf-8"))
    profile, = [profile for profile in found["profiles"] if profile["name"] == name]
    assert sum(profile["weights"]) == profile["endValue"]
    sums = Counter()
    for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
        sums[tuple(found["shared"]["frames"][frame]["name"] for frame in sample)] += weight
    return sums


@pytest.mark.parametrize("case", ["attribute", "recurse", "threads", "none"])
def test_speedscope_has_the_stacks_of_folded(export, marked, case):
    for options in [], ["--scopes"]:
        folded = Counter()
        for line in export(marked(case), "x.folded", "--cost", "bytes", *options).read_text().splitlines():
            stack, _, cost = line.rpartition(" ")
            folded[tuple(stack.split(";"))] += int(cost)
        assert stacks_of_speedscope(export(marked(case), "x.speedscope", *options), "bytes allocated in all") == folded


def test_speedscope_has_a_frame_for_each_name_of_scopes(export, marked):
    def names(case, *options):
        return [frame["name"] for frame in json.loads(export(marked(case), "x.speedscope", *options).read_bytes())["shared"]["frames"]]

    assert names("recurse", "--scopes") == [*names("recurse"), "level"]
    assert names("names", "--scopes") == [*names("names"), '"quoted" \\ and <b>', "\U0001f418 emoji", LONGEST, "[no name]"]


def test_scopes_in_front_are_for_folded_and_speedscope(hw, marked, tmp_path):
    done = hw("export", marked("attribute"), "-o", tmp_path / "x.pb.gz", "--scopes")
    assert done.returncode == 2 and "--scopes is for folded and speedscope; pprof" in done.stderr
