"""test_core.py - heapwright core: what it says of a core dump agrees with what the program knows, in every form"""

import json
import os
import resource
import signal
import subprocess

import pytest

CLASSES = """
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>
namespace shop {
struct Item { virtual ~Item() {} int data[10]; };
struct Book : Item { long more[4]; };
struct Other { virtual void f() {} long x; };
struct Both : Item, Other { char c[100]; };
}
std::vector<std::unique_ptr<shop::Item>> all;
std::map<int, std::shared_ptr<shop::Both>> shared;
int main()
{
  for (int i = 0; i < 900; i++) {
    all.emplace_back(new shop::Book);
    if (i % 2)
      all.emplace_back(new shop::Item);
    if (i % 3 == 0)
      shared[i] = std::make_shared<shop::Both>();
  }
  abort();
}
"""

PIN = """
#include <stdlib.h>
static void *blocks[100000];
void *last;
int main(void)
{
  for (int i = 0; i < 100000; i++)
    blocks[i] = malloc(800);
  last = malloc(48);
  for (int i = 0; i < 100000; i++)
    free(blocks[i]);
  abort();
}
"""


@pytest.fixture
def crash(tmp_path):
    """crash(command): runs it until it is killed by a signal, and returns its core dump."""
    pattern = open("/proc/sys/kernel/core_pattern", encoding="ascii").read()
    if pattern.startswith("|") or "/" in pattern:
        pytest.skip("core dumps are not written to the working directory")

    def run(*command, **more):
        def allow():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        done = subprocess.run(command, cwd=tmp_path, preexec_fn=allow, capture_output=True, **more)
        assert done.returncode != 0
        dump = tmp_path / "dump"
        next(tmp_path.glob("core*")).rename(dump)
        return dump

    return run


@pytest.fixture
def classes(tmp_path):
    (tmp_path / "shop.cc").write_text(CLASSES)
    subprocess.run(["g++", "-O1", "-g", "shop.cc", "-o", "shop"], cwd=tmp_path, check=True)
    return tmp_path / "shop"


def report_of(hw, *arguments):
    done = hw("core", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_type(report):
    return {row["stack"][0]["function"]: row["live_blocks"] for row in report["top"]}


def test_types_of_objects(hw, classes, crash):
    report = report_of(hw, classes, crash(classes))
    types = by_type(report)
    assert types["vtable for shop::Book"] == 900 and types["vtable for shop::Item"] == 450
    shared = next(count for name, count in types.items() if name and "shop::Both" in name)
    assert shared == 300
    assert report["signal"] == signal.SIGABRT and report["understood_percent"] == 100 and report["damages"] == 0
    assert report["system_bytes"] == report["understood_bytes"]
    assert sum(row["live_blocks"] for row in report["top"]) == report["live_blocks"]
    text = hw("core", classes, "dump", cwd=classes.parent).stdout
    assert "killed by SIGABRT, 1 thread" in text and "shop::Book" in text and "Understood: all of it" in text


def test_a_recording_has_the_same_blocks(hw, build, classes, crash, tmp_path):
    trace = tmp_path / "shop.hwt"
    dump = crash(str(build / "bin/heapwright"), "record", "-q", "-o", str(trace), "--", str(classes))
    recorded = json.loads(hw("report", "--json", trace).stdout)
    report = report_of(hw, "--recording", trace, classes, dump)
    assert report["recorded_blocks"] == report["live_blocks"] == recorded["live_blocks_at_end"]
    assert report["live_bytes_at_end"] == recorded["live_bytes_at_end"]  # sizes that were asked for
    assert {frame["function"] for row in report["top"] for frame in row["stack"]} >= {"main"}


def test_a_block_that_keeps_an_arena_large(hw, crash, tmp_path, compile_c):
    (tmp_path / "pin.c").write_text(PIN)
    program = compile_c(tmp_path / "pin.c", name="pin")
    dump = crash(program)
    report = report_of(hw, program, dump)
    [pin] = report["pins"]
    assert pin["blocks"] == 1 and pin["bytes"] == 56 and pin["held_bytes"] > 100000 * 800
    assert "1 block of 56 B at" in hw("core", program, dump).stdout


def test_every_form(hw, classes, crash, tmp_path):
    """The trace of the moment is read by every other command; two of them can be compared."""
    dump = crash(classes)
    for name in "now.hwt", "now.html", "now.folded", "now.pb.gz", "now.txt", "now.json":
        done = hw("core", classes, dump, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).stat().st_size > 100
    assert "vtable for shop::Book 7" in (tmp_path / "now.folded").read_text()
    live = json.loads((tmp_path / "now.json").read_text())
    moment = json.loads(hw("report", "--json", tmp_path / "now.hwt").stdout)
    assert moment["live_blocks_at_end"] == live["live_blocks"]
    text = hw("report", tmp_path / "now.hwt").stdout
    assert "the heap of a core dump or a process, at one moment" in text and "Top stacks at that moment" in text
    assert "allocations" not in text and "frees" not in text.replace("threads, frees, times", "")
    difference = hw("diff", tmp_path / "now.hwt", tmp_path / "now.hwt")
    assert difference.returncode == 0, difference.stderr


def test_the_page_is_of_a_moment(hw, classes, crash, tmp_path):
    """Breaks if it shows a heap that was not recorded as a run without time."""
    hw("core", classes, crash(classes), "-o", tmp_path / "now.page.json", "--format", "page")
    page = json.loads((tmp_path / "now.page.json").read_text())
    assert page["schema"] == "heapwright-page/1" and page["memory"]["allocator"] == "glibc"
    assert page["memory"]["live_blocks"] == page["run"]["live_blocks_at_end"] == page["run"]["peak_blocks"]
    hw("core", classes, crash(classes), "-o", tmp_path / "now.hwt")
    hw("report", tmp_path / "now.hwt", "-o", tmp_path / "later.page.json")
    assert json.loads((tmp_path / "later.page.json").read_text())["memory"] == {}


def test_equal_blocks(hw, crash, tmp_path, compile_c):
    source = tmp_path / "equal.c"
    source.write_text("#include <stdlib.h>\n#include <string.h>\nvoid *kept[100];\nint main(void)\n{\n"
                      "  for (int i = 0; i < 100; i++)\n    strcpy(kept[i] = calloc(1, 200), i < 60 ? \"the same text\" : \"\");\n"
                      "  abort();\n}\n")
    report = report_of(hw, "--contents", crash(compile_c(source, name="equal")))
    contents = {row["content"]: row["blocks"] for row in report["contents"]}
    assert contents["text"] == 60 and contents["zeros"] == 40
    assert report["duplicate_blocks"] == 59 + 39
    assert report["duplicates"][0]["copies"] == 60 and report["duplicates"][0]["text"] == "the same text"


def test_a_process_goes_on(hw, tmp_path):
    """Its figures are those of the moment; it notices nothing."""
    with subprocess.Popen(["python3", "-c", "import sys\nkept = [bytes(1000 + i) for i in range(5000)]\nprint('ready', flush=True)\n"
                           "sys.stdin.read()\nprint(len(kept))"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONMALLOC": "malloc"}) as process:
        assert process.stdout.readline() == "ready\n"
        first = report_of(hw, str(process.pid))
        unstopped = report_of(hw, "--no-stop", str(process.pid))
        state = open(f"/proc/{process.pid}/stat", encoding="ascii").read().rpartition(")")[2].split()[0]
        process.stdin.close()
        assert process.stdout.read() == "5000\n" and process.wait() == 0
    assert state == "S" and first["stop_ns"] > 0 and unstopped["stop_ns"] == 0
    assert first["live_blocks"] == unstopped["live_blocks"] > 5000 and first["understood_percent"] == 100


def test_what_is_wrong_is_said(hw, classes, tmp_path):
    (tmp_path / "text").write_text("no core dump")
    cases = [(["core"], "needs a core dump or a process"), (["core", "a", "b", "c"], "'c' is one word too many"),
             (["core", tmp_path / "text"], "not an ELF file"), (["core", classes], "not a core dump"),
             (["core", tmp_path / "missing"], "No such file"), (["core", "--who", "zz", "1"], "is no address"),
             (["core", "--base", "3", "x"], "--raw FILE, which is missing"), (["core", "--raw", "x"], "at which address"),
             (["core", "999999999"], "no process"), (["core", "--who", "-5", "1"], "is no address"),
             (["core", "4294967297"], "No such file"), (["core", "--who", "1", "--retained", "x"], "different questions"),
             (["core", "--no-stop", tmp_path / "text"], "is no PID")]
    for arguments, words in cases:
        done = hw(*arguments)
        assert done.returncode == 2 and words in done.stderr, (arguments, done.stderr)


def test_a_truncated_dump_has_what_is_left(hw, classes, crash, tmp_path):
    dump = crash(classes)
    size = dump.stat().st_size
    for part in 1, 2, 3, 5, 8, 13, 21, 34, 55, 89:
        cut = tmp_path / "cut"
        cut.write_bytes(dump.read_bytes()[:size * part // 100])
        done = hw("core", classes, cut)
        assert done.returncode in (0, 2) and (done.stderr or done.stdout)
