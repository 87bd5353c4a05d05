"""test_scopes.py - the page's document has the scopes and instances of `report --json`, and the program's counters

Breaks if a figure of a path is lost or read as another one; if an instance of the page differs from the same instance
of `--instances`; or if a recording without scopes has any of it.
"""

import pytest
from conftest import ROOT
from page_document import read_instances, read_page, signed, unpack

PROGRAM = r"""
#include <heapwright/monitor.h>
#include <stdio.h>
#include <pthread.h>
#include <stdlib.h>
static void *volatile kept[3];
static void step(int i)
{
  HW_SCOPE("step");
  kept[0] = malloc(i == 7 ? 5000 : 24);
  free(kept[0]);
  if (i % 2) {
    HW_SCOPE("odd");
    kept[1] = malloc(100 + (size_t)i);
  }
}
static void *work(void *name)
{
  hw_thread_name(name);
  for (int i = 0; i < 50; i++) {
    char text[32];
    snprintf(text, sizeof text, "/item <%d>", i);
    HW_SCOPE_TEXT("request", text);
    kept[2] = malloc((size_t)i + 1);
    HW_COUNTER("queue", i - 10);
  }
  return NULL;
}
int main(void)
{
  pthread_t worker;
  pthread_create(&worker, NULL, work, "worker");
  pthread_join(worker, NULL);
  for (int i = 0; i < 100; i++) {
    HW_SCOPE_NUMBER("frame", 1000 - 3 * i);
    step(i);
  }
  return 0;
}
"""
MANY_NAMES = r"""
#include <heapwright/monitor.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
  for (int i = 0; i < 1500; i++) {
    char name[32];
    snprintf(name, sizeof name, "name %d", i);
    struct hw_scope outer = hw_scope_begin("outer"), inner = hw_scope_begin(name);
    void *volatile block = malloc((size_t)i + 1);
    (void)block;
    hw_scope_end(inner);
    hw_scope_end(outer);
  }
}
"""
MONITOR = f"-I{ROOT}/include"


@pytest.fixture
def document_of(hw, record, compile_c, tmp_path):
    """document_of(program): (the page's document, the recording)"""

    def run(program):
        recording = record([compile_c(program, "-pthread", "-fno-builtin", MONITOR)])
        page = tmp_path / "run.page.json"
        written = hw("report", "-o", page, recording.trace)
        assert written.returncode == 0, written.stderr
        return read_page(page).document, recording

    return run


def paths_of(scopes):
    """By row: the names, outermost first."""
    found = []
    for name, outer in zip(scopes["name"], scopes["outer"]):
        found.append([*(found[outer] if outer >= 0 else []), name])
    return found


def test_the_figures_are_those_of_the_report(document_of):
    document, recording = document_of(PROGRAM)
    scopes, expected = document["scopes"], recording.report["scopes"]
    assert scopes["count"] == scopes["recorded"] == len(expected)
    assert paths_of(scopes) == [scope["path"] for scope in expected]

    def check(prefix, figures, row):
        for key, value in figures.items():
            if isinstance(value, int):
                read = unpack(scopes[prefix + key])[row]
                assert value == (signed(read) if "net_" in key and not key.startswith("max_") else read), key

    for row, scope in enumerate(expected):
        check("", scope, row)
        check("self_", scope["self"], row)


def test_the_instances_are_those_of_the_report(document_of):
    document, recording = document_of(PROGRAM)
    instances, paths = read_instances(document), paths_of(document["scopes"])
    assert document["instances"]["recorded"] == len(instances) == 50 + 100 + 100 + 50
    by_path = {}
    for each in instances:
        by_path.setdefault(tuple(paths[each["scope"]]), {})[each["sequence"]] = each
    compared = 0
    for scope in recording.report_with("--instances", "--cost", "bytes")["scopes"]:
        found = by_path[tuple(scope["path"])]
        assert sorted(found) == list(range(1, scope["instances"] + 1))
        assert sum(each["allocation_calls"] for each in found.values()) == scope["allocation_calls"]
        assert sum(each["free_calls"] for each in found.values()) == scope["free_calls"]
        assert sum(each.get("net_bytes", 0) for each in found.values()) == scope["net_bytes"]
        assert max(each["duration_ns"] for each in found.values()) == scope["max_duration_ns"]
        for worst in scope["worst"]:
            same = found[worst["number"]]
            assert same["lane"]["name"] == worst["thread"]
            assert same["sizes"] == {int(size): blocks for size, blocks in worst["sizes"].items()} and not same["has_others"]
            assert same["number"] == worst.get("value") and same.get("text") == worst.get("text")
            assert [same[key] for key in ("begin_ns", "duration_ns", "allocation_calls", "allocated_bytes", "max_net_bytes")] == [
                worst[key] for key in ("begin_ns", "duration_ns", "allocation_calls", "allocated_bytes", "max_net_bytes")]
            assert (same["inside_bytes"], same["net_bytes"] - same["inside_bytes"]) == (worst["children_bytes"], worst["total_bytes"])
            compared += 1
    assert compared == 40


def test_counters_are_those_of_the_report(document_of):
    document, recording = document_of(PROGRAM)
    assert document["counters"] == recording.report["counters"]
    assert (document["counters"][0]["min"], document["counters"][0]["max"]) == (-10, 39)


def test_many_paths_are_cut(document_of):
    document, _ = document_of(MANY_NAMES)
    scopes = document["scopes"]
    assert (scopes["count"], scopes["recorded"]) == (1000, 1501)
    assert scopes["name"][0] == "outer" and set(scopes["name"][1:]) == {f"name {i}" for i in range(501, 1500)}
    assert document["instances"]["count"] == 1500 + 999 and document["instances"]["recorded"] == 3000


def test_a_recording_without_scopes_has_none(document_of):
    document, _ = document_of("#include <stdlib.h>\nint main(void) { void *volatile b = malloc(9); (void)b; return 0; }\n")
    assert not {"scopes", "instances", "counters"} & set(document)
