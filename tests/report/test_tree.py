"""test_tree.py - `report --tree`: the figures of a known program add up along every branch, with every filter"""

import json
import os
import pathlib
import re
import subprocess

import pytest

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#define CALLED __attribute__((noipa))
static void *volatile keep[64];
static int kept;
CALLED void leaf(int size) { keep[kept++] = malloc(size); }
CALLED void left(void) { leaf(1000); leaf(3000); }
CALLED void right(void) { leaf(500); keep[kept++] = malloc(7); }
CALLED void b(int depth);
CALLED void a(int depth) { keep[kept++] = malloc(100); if (depth > 0) b(depth - 1); keep[0] = keep[0]; }
CALLED void b(int depth) { keep[kept++] = malloc(10); if (depth > 0) a(depth - 1); keep[0] = keep[0]; }
static void *work(void *unused) { (void)unused; pthread_setname_np(pthread_self(), "worker"); leaf(200); return 0; }
int main(void)
{
  left();
  right();
  a(2); /* a, b, a */
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  pthread_join(thread, 0);
  keep[kept++] = realloc(keep[0], 5000);
  return 0;
}
"""


@pytest.fixture(scope="module")
def trace(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    (folder / "known.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE=", "-O1", "-g", folder / "known.c", "-o", folder / "known", "-pthread"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(build / "lib/libheapwright-record.so"), "HEAPWRIGHT_OUTPUT": str(folder / "known.hwt")}
    subprocess.run([folder / "known"], env=environment, check=True, timeout=60)
    return folder / "known.hwt"


def document(hw, trace, *options):
    done = hw("report", "--json", *options, trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FIGURES = ["calls", "bytes", "temporary_calls", "peak_bytes", "peak_blocks", "live_bytes", "live_blocks"]


def assert_adds_up(found):
    """A node's total is its self and its children. The roots contain everything that is selected, as the stacks do."""
    tree = found["tree"]
    nodes = tree["nodes"]
    for key in FIGURES:
        sums = [node["self"][key] + node.get("cut", {}).get(key, 0) for node in nodes]
        roots = tree.get("cut", {}).get(key, 0)
        for node in nodes:
            if node["parent"] is None:
                roots += node["total"][key]
            else:
                sums[node["parent"]] += node["total"][key]
        assert sums == [node["total"][key] for node in nodes]
        assert roots == sum(stack[key] for stack in found["top"])


def node(found, *path):
    """Returns the node at the end of this path of functions, which begins at a root."""
    nodes = found["tree"]["nodes"]
    at = None
    for name in path:
        at = next(i for i, node in enumerate(nodes) if node["parent"] == at and node["function"] == name)
    return nodes[at]


def outer(found):
    """The frames that lead to main: the C library's own functions, whatever their names are."""
    nodes = found["tree"]["nodes"]
    at = next(i for i, node in enumerate(nodes) if node["function"] == "main")
    path = []
    while at is not None:
        path.insert(0, nodes[at]["function"])
        at = nodes[at]["parent"]
    return path


def test_callers_first(hw, trace):
    found = document(hw, trace, "--tree", "--cost", "bytes", "--ignore", "func=pthread_create*")
    assert found["tree"]["order"] == "callers"
    assert_adds_up(found)
    main = outer(found)
    assert node(found, *main, "left")["total"]["bytes"] == 4000 and node(found, *main, "left")["self"]["bytes"] == 0
    assert node(found, *main, "left", "leaf")["self"]["calls"] == 2
    assert node(found, *main, "right")["total"]["bytes"] == 507 and node(found, *main, "right")["self"]["bytes"] == 7
    assert node(found, *main)["self"]["bytes"] == 5000
    assert node(found, *main, "a", "b", "a")["total"]["bytes"] == 100  # JSON never folds
    assert node(found, *main, "a")["total"]["bytes"] == 210


def test_callees_first(hw, trace):
    found = document(hw, trace, "--tree=callees", "--cost", "bytes")
    assert_adds_up(found)
    leaf = node(found, "leaf")
    assert leaf["total"]["bytes"] == 1000 + 3000 + 500 + 200 and leaf["self"]["bytes"] == 0
    assert node(found, "leaf", "left")["total"]["bytes"] == 4000 and node(found, "leaf", "work")["total"]["calls"] == 1
    assert node(found, "a")["total"]["bytes"] == 200  # both calls of a
    assert node(found, "a", "b", "a")["total"]["bytes"] == 100


@pytest.mark.parametrize("options", [
    ["--thread", "worker"], ["--only", "func=leaf"], ["--ignore", "func=leaf"], ["--only", "size=1000.."], ["--from", "1ns"],
    ["--to", "100%"], ["--at", "peak"], ["--leaks"], ["--frames", "all"], ["--by", "line"], ["--by", "file"], ["--by", "module"],
    ["--cost", "live"], ["--cost", "temporary"],
])
def test_it_adds_up_however_narrowed(hw, trace, options):
    for order in ["--tree", "--tree=callees"]:
        found = document(hw, trace, order, *options)
        assert_adds_up(found)
        assert found["tree"]["nodes"]
        assert hw("report", order, *options, trace).returncode == 0


def test_what_is_cut_is_summed_up(hw, trace):
    found = document(hw, trace, "--tree", "--cost", "bytes")
    cut = document(hw, trace, "--tree", "--cost", "bytes", "--min-share", "20%", "--top", "1")
    assert len(cut["tree"]["nodes"]) < len(found["tree"]["nodes"])
    assert_adds_up({"tree": cut["tree"], "top": found["top"]})
    text = hw("report", "--tree", "--cost", "bytes", "--min-share", "20%", trace).stdout
    assert "more below 20 % (--min-share 0)" in text
    assert hw("report", "--tree", "--cost", "bytes", "--min-share", "20", trace).stdout == text
    assert "more below" not in hw("report", "--tree", "--min-share", "0", trace).stdout
    assert "more below" not in hw("report", "--tree", "--top", "0", trace).stdout


def test_a_recursion_is_one_line_in_text(hw, trace):
    text = hw("report", "--tree", "--cost", "bytes", "--only", "func=a", trace, env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "100"}).stdout
    tree = text[text.index("self\n") : text.index("Evidence")]
    assert tree.count(" a ↻") == tree.count(" a ") == tree.count(" b ") == 1
    ascii_text = hw("report", "--tree", "--cost", "bytes", "--only", "func=a", trace, env={**os.environ, "LC_ALL": "C", "COLUMNS": "100"}).stdout
    assert " a (recursive)" in ascii_text and ascii_text.isascii()
    all_frames = hw("report", "--tree", "--cost", "bytes", "--only", "func=a", "--frames", "all", trace).stdout
    assert "↻" not in all_frames and "recursive" not in all_frames


@pytest.mark.parametrize("columns", [80, 100, 200])
@pytest.mark.parametrize("order", ["callers", "callees"])
def test_every_line_fits(hw, trace, columns, order):
    for by in ["function", "file", "line", "module"]:
        done = hw("report", f"--tree={order}", "--by", by, "--frames", "all", trace, env={**os.environ, "COLUMNS": str(columns), "LC_ALL": "C"})
        assert done.returncode == 0
        assert max(map(len, done.stdout.splitlines())) <= columns


def test_the_example_of_the_docs(record, compile_c, hw):
    """docs/questions.md shows this program and this tree."""
    page = (pathlib.Path(__file__).parents[2] / "docs/questions.md").read_text()
    section = page[page.index("## Through whom does the memory come?") :]
    source, shown = re.findall(r"^```(?:c)?\n(.*?)^```$", section, re.M | re.S)[:2]
    source = re.sub(r"^void (?=.*[{;])", "__attribute__((noipa)) void ", source, flags=re.M)
    trace = record([compile_c("#include <stdlib.h>\n" + source.replace("\n\n", "\n", 1))]).trace
    text = hw("report", "--tree", trace, env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "100"}).stdout
    without_lines = lambda text: [re.sub(r" +program\.c(:\d+)?$", "", line) for line in text.splitlines()]
    lines = without_lines(text)
    begin = next(i for i, line in enumerate(lines) if line.startswith("Functions at the peak"))
    expected = without_lines(shown)[1:]
    assert lines[begin : begin + len(expected)] == expected


def test_a_deep_recursion_needs_no_stack_of_ours(record, compile_c, hw):
    """Hundreds of frames; each of them allocates."""
    program = compile_c("""
        #include <stdlib.h>
        static void *volatile keep;
        __attribute__((noipa)) int even(int depth) { keep = malloc(8); return depth > 0 ? even(depth - 1) + 1 : 0; }
        int main(void) { return even(600) == 1; }
    """)
    trace = record([program], "--depth", "2048").trace
    for order in ["--tree", "--tree=callees"]:
        found = document(hw, trace, order, "--only", "func=even", "--cost", "calls")
        assert len(found["tree"]["nodes"]) > 600
        assert hw("report", order, "--frames", "all", "--min-share", "0", "--only", "func=even", trace).returncode == 0
    text = hw("report", "--tree", "--only", "func=even", "--cost", "calls", trace).stdout
    assert "601" in text


@pytest.mark.parametrize("options, complaint", [
    (["--tree", "--by", "thread"], "--tree needs stacks: its nodes are functions, files, lines or modules (--by)"),
    (["--tree", "--lifetimes"], "--lifetimes lists stacks: leave --tree out"),
    (["--min-share", "5%"], "--min-share is about a tree: add --tree"),
    (["--tree", "--min-share", "lots"], "--min-share takes a percentage such as 5% or 0.1, not 'lots'"),
    (["--tree", "--min-share", "101"], "--min-share takes a percentage such as 5% or 0.1, not '101'"),
    (["--tree", "--min-share", "5%%"], "--min-share takes a percentage such as 5% or 0.1, not '5%%'"),
    (["--tree", "--min-share", ""], "--min-share takes a percentage such as 5% or 0.1, not ''"),
    (["--tree", "--min-share", "101%"], "--min-share takes a percentage such as 5% or 0.1, not '101%'"),
    (["--tree=callres"], "--tree takes one of none, callers, callees, scopes, not 'callres'; did you mean 'callers'?"),
])
def test_what_makes_no_sense_is_refused(hw, trace, options, complaint):
    done = hw("report", *options, trace)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"heapwright: {complaint}\n")
