"""test_callgrind.py - callgrind_annotate reads the profile and finds the report's totals and functions"""

import re
import shutil
import subprocess

import pytest

needs_annotate = pytest.mark.skipif(not shutil.which("callgrind_annotate"), reason="callgrind_annotate is not installed (valgrind)")
EVENTS = ["peak_bytes", "live_bytes_at_end", "allocation_calls", "allocated_bytes", "temporary_calls"]


def annotate(path, *options):
    done = subprocess.run(["callgrind_annotate", "--show-percs=no", "--threshold=100", "--auto=no", *options, path],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def numbers(line):
    return [int(field.replace(",", "")) for field in re.findall(r"[\d,]+(?= |$)", line)[:5]]


@needs_annotate
def test_totals(export, report, tracks):
    text = annotate(export(tracks, "x.callgrind"))
    line = next(line for line in text.splitlines() if "PROGRAM TOTALS" in line)
    assert numbers(line) == [report(tracks)[name] for name in EVENTS]


@needs_annotate
def test_self_and_inclusive_costs(export, report, tracks):
    def of(text, function):
        return numbers(next(line for line in text.splitlines() if re.search(rf"[:/]{function}( |$)", line)))

    path = export(tracks, "x.callgrind")
    assert of(annotate(path), "keep")[0] == 300000 + 30 * 64
    inclusive = annotate(path, "--inclusive=yes", "--sort=Calls")
    assert of(inclusive, "work")[2] == 1001 and of(inclusive, "churn")[2] == 1000
    groups = report(tracks, "--by", "function")["by_function"]
    for group in groups:
        if group["function"] in ("main", "work", "churn", "keep", "grow"):
            assert of(inclusive, group["function"])[2:5] == [group["total"][name] for name in ("calls", "bytes", "temporary_calls")]


def test_recursion_is_counted_once(export, report, record, compile_c):
    program = compile_c("""
#include <stdlib.h>
__attribute__((noinline)) void *down(int depth) { void *volatile block = depth ? down(depth - 1) : malloc(1000); return block; }
int main(void) { void *volatile block = down(10); return block == NULL; }
""")
    trace = record([program]).trace
    text = export(trace, "x.callgrind").read_text()
    edge = re.search(r"fn=\(\d+\) down\n\d+ 0 0 0 0 0\ncfi=.*\ncfn=\(\d+\) down\ncalls=(\d+) 0\n\d+ (\d+)", text)
    assert edge.groups() == ("1", "1000")
    assert f"summary: {report(trace)['peak_bytes']} " in text


@needs_annotate
def test_strange_names(export, evil):
    text = annotate(export(evil, "x.callgrind"))
    assert "evil\"quo'ted\";<script>alert(1)</script>" in text


CONTAINERS = """
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <unistd.h>

static void fill()
{
  std::map<int, std::string> names;
  std::vector<std::unique_ptr<int>> numbers;
  for (int i = 0; i < 500; i++) {
    names[i] = std::string(100, 'x');
    numbers.push_back(std::make_unique<int>(i));
  }
}

int main()
{
  char byte;
  fill();
  (void)!write(1, ".", 1), (void)!read(0, &byte, 1);
  fill();
}
"""


@needs_annotate
def test_file_with_calls_alone(export, record, compile_c, tmp_path):
    """The only source that is there has no costs of its own: callgrind_annotate adds up those that it shows."""
    (tmp_path / "there.c").write_text("/* */\n" * 4)
    program = compile_c(f"""
#include <stdlib.h>
#line 2 "absent.c"
__attribute__((noinline)) void *get(void) {{ void *volatile block = malloc(1000); return block; }}
#line 3 "{tmp_path / 'there.c'}"
int main(void) {{ void *volatile block = get(); return block == NULL; }}
""", "-g")
    text = annotate(export(record([program]).trace, "x.callgrind"), "--auto=yes")
    assert re.search(r"annotated source: .*there\.c\n", text) and re.search(r" => .*absent\.c:get \(1x\)", text)


@needs_annotate
@pytest.mark.parametrize("options", [[], ["--auto=yes", "--inclusive=yes"], ["--auto=yes", "--tree=both"]], ids=str)
def test_nothing_is_warned_of(export, record, record_with_marks, compile_cxx, tmp_path, options):
    """Lines for which callgrind_annotate had no costs used to make it read variables that it had not set."""
    program = compile_cxx(CONTAINERS, "-g", "-O1")
    traces = [record_with_marks(program, tmp_path / "marked.hwt", "filled").trace,
              record(["/usr/bin/python3", "-c", "import json; x = [json.loads('[1, 2]') for i in range(100)]"]).trace]
    for trace in traces:
        annotate(export(trace, "x.callgrind"), *options)
