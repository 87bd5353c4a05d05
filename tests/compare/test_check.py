"""test_check.py - heapwright check: budgets hold, fail or cannot be judged, each with the right figure and exit status

If this fails, a continuous integration is green though a budget was broken, or red though none was.
"""

import json
import os
import re
import signal
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest
from format_reader import HEADER_BYTES

# Known figures: 10 blocks of 1,000 bytes are kept by `load`, and 100 of 64 bytes are freed at once by `parse_line`.
# Thread "control" allocates 7 blocks of 200 bytes in `steer` before the mark and 3 after it, and frees them all at the
# end of each loop.
PROGRAM = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
void *volatile kept[1000];
__attribute__((noinline)) void load(void)
{
  for (int i = 0; i < 10; i++)
    kept[i] = malloc(1000);
}
__attribute__((noinline)) void parse_line(void)
{
  char *volatile line = malloc(64);
  free(line);
}
__attribute__((noinline)) void steer(int count)
{
  for (int i = 0; i < count; i++)
    kept[100 + i] = malloc(200);
  for (int i = 0; i < count; i++)
    free(kept[100 + i]);
}
static void *control(void *unused)
{
  pthread_setname_np(pthread_self(), "control");
  steer(7);
  char byte = '.';
  if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1) /* the mark */
    _exit(1);
  steer(3);
  return unused;
}
int main(void)
{
  load();
  for (int i = 0; i < 100; i++)
    parse_line();
  pthread_t thread;
  pthread_create(&thread, 0, control, 0);
  pthread_join(thread, 0);
  return malloc(PTRDIFF_MAX_) != 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The path of the program, compiled once."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "app.c").write_text(PROGRAM.replace("PTRDIFF_MAX_", "((size_t)1 << 62)"))
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-fno-builtin", "-fno-optimize-sibling-calls", "-o", "app", "app.c"], cwd=folder, check=True)
    return folder / "app"


@pytest.fixture(scope="module")
def trace(record_with_marks, program, tmp_path_factory):
    """A recording of it, made once."""
    path = tmp_path_factory.mktemp("trace") / "app.hwt"
    record_with_marks(program, path, "warm")
    return path


@pytest.fixture
def check(hw, trace):
    """check("peak=1MB", ...): the verdicts' JSON, rule by rule."""

    def run(*rules, options=(), of=None):
        maxima = [part for rule in rules for part in ("--max", rule)]
        done = hw("check", "--json", *options, of or trace, *maxima)
        verdicts = json.loads(done.stdout)
        assert done.returncode == {"ok": 0, "failed": 1, "unknown": 2}[verdicts["verdict"]], done.stderr
        return {verdict["rule"]: verdict for verdict in verdicts["rules"]}

    return run


@pytest.mark.parametrize("rule,figure", [
    ("calls(func=load)=10", 10),
    ("calls(func=parse_*)=100", 100),
    ("bytes(func=parse_*)=6400", 6400),
    ("temporary(func=parse_line)=100", 100),
    ("live(func=load)=10kB", 10000),
    ("live_blocks(func=load)=10", 10),
    ("unfreed=10kB", 10000),
    ("unfreed_blocks=10", 10),
    ("peak(func=load)=10000", 10000),
    ("own_peak(func=parse_*)=64", 64),
    ("own_peak(func=steer)=1400", 1400),
    ("calls(thread=control)=10", 10),
    ("calls(thread=contr?l,func=steer)=10", 10),
    ("calls(thread=control,func=load)=0", 0),
    ("calls(size=64)=100", 100),
    ("calls(size=64..200)=110", 110),
    ("calls(size=200..,func=load)=10", 10),
    ("calls(size=1000,size=200)=20", 20),
    ("calls(func=load,func=parse_line)=110", 110),
    ("calls(func=load,module=nothing*)=0", 0),
    ("calls(file=app.c,func=load)=10", 10),
    ("calls(module=app,func=load)=10", 10),
    ("failed=1", 1),
    ("lost=0", 0),
    ("calls(thread=control,from=mark:warm)=3", 3),
    ("calls(thread=control,to=mark:warm)=7", 7),
    ("calls(func=steer,from=mark:warm,to=100%)=3", 3),
    ("live(func=load,to=mark:warm)=10000", 10000),
    ("own_peak(func=steer,from=mark:warm)=600", 600),
    ("peak(func=load,from=mark:warm)=10000", 10000),
    ("temporary(func=parse_line,from=mark:warm)=0", 0),
])
def test_figure_is_exact(check, rule, figure):
    """It holds at the figure, and fails just below it."""
    assert (check(rule)[rule]["figure"], check(rule)[rule]["verdict"]) == (figure, "ok")
    if figure > 0:
        tight = rule[:rule.rindex("=") + 1] + str(figure - 1)
        assert check(tight)[tight]["verdict"] == "failed"


def test_figures_of_the_whole_run_are_the_report_s(check, hw, trace):
    """The same figures from the totals, from the stacks, and from a replay."""
    report = json.loads(hw("report", "--json", trace).stdout)
    keys = {"peak": "peak_bytes", "live": "live_bytes_at_end", "live_blocks": "live_blocks_at_end", "calls": "allocation_calls",
            "bytes": "allocated_bytes", "temporary": "temporary_calls", "failed": "failed_calls"}
    for metric, key in keys.items():
        whole, replayed = f"{metric}=0", f"{metric}(from=0s)=0"
        found = check(whole, replayed)
        assert found[whole]["figure"] == found[replayed]["figure"] == report[key], metric
    assert check("own_peak=0")["own_peak=0"]["figure"] == report["peak_bytes"]


def test_a_run_that_ended_before_the_rule_s_part(check):
    """It does not show that the budget is kept there; a budget that is exceeded fails at once."""
    found = check("calls(from=1h)=0", "live(from=1h)=1e9", "calls(from=100%)=0", "calls(to=1h)=1e9")
    assert [each["verdict"] for each in found.values()] == ["unknown", "unknown", "ok", "ok"]
    assert found["calls(from=1h)=0"]["why"].startswith("the run ended before")


def test_who_is_to_blame(check):
    rule = "calls(func=steer)=0"
    rows = check(rule)[rule]["stacks"]
    assert [row["figure"] for row in rows] == [7, 3]
    for row in rows:
        assert [frame["function"] for frame in row["stack"]][:2] == ["steer", "control"]


def test_text(hw, trace):
    done = hw("check", trace, "--max", "peak=1MB", "--max", "calls(func=parse_*)=99", env={"COLUMNS": "80", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 1
    assert re.search(r"^ok       peak=1MB                [\d.,]+ k?B of 1\.0 MB$", done.stdout, re.M)
    assert re.search(r"^FAILED   calls\(func=parse_\*\)=99  100 of 99\n  1         100 100\.0 %\n +parse_line +app\.c:\d+\n +main +app\.c:\d+$", done.stdout, re.M)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_rounded_figures_are_told_apart(hw, trace):
    done = hw("check", trace, "--max", "unfreed=9999")
    assert "10.0 kB of 9,999 B" in done.stdout
    done = hw("check", trace, "--max", "live=83000")
    assert re.search(r"\d\d,\d\d\d of 83,000|[\d.]+ kB of 83\.0 kB", done.stdout)


def test_rules_file(hw, trace, tmp_path):
    rules = tmp_path / "budgets"
    rules.write_text("# budgets of app\n\n  peak = 1\n".replace(" = ", "=") + "calls(func=load)=10\r\n")
    done = hw("check", trace, "--rules", rules, "--max", "lost=0")
    assert [line.split()[:2] for line in done.stdout.splitlines() if line[0] not in " "] == [
        ["FAILED", "peak=1"], ["ok", "calls(func=load)=10"], ["ok", "lost=0"]]


def test_a_name_that_is_not_there_is_said(hw, check, trace):
    """A rule about a misspelt function must not pass without a message; a function that was removed on purpose keeps
    its budget of 0."""
    done = hw("check", trace, "--max", "calls(func=parse_lime)=0", "--max", "calls(thread=contrl)=0", "--max", "calls(module=ap)=0")
    assert done.returncode == 0
    assert "no function here matches 'parse_lime'; did you mean 'parse_line'?" in done.stdout
    assert "no thread here matches 'contrl'; did you mean 'control'?" in done.stdout
    assert "no module here matches 'ap'; did you mean 'app'?" in done.stdout
    rule = "calls(func=zzzzzzzzz)=0"
    assert check(rule)[rule]["notes"] == ["no function here matches 'zzzzzzzzz'"]
    assert "no function here matches 'zzzzzzzzz'" in hw("check", "--json", trace, "--max", rule).stderr


# --- baseline ---

LOADS = "#include <stdlib.h>\nvoid *volatile kept[1000];\nint main(void) { for (int i = 0; i < COUNT; i++) kept[i] = malloc(1000); return 0; }\n"


@pytest.mark.parametrize("rule,verdict,limit", [
    ("unfreed=+5%", "failed", 10500), ("unfreed=+10%", "ok", 11000), ("unfreed=+999", "failed", 10999),
    ("unfreed=+1kB", "ok", 11000), ("unfreed_blocks=+1", "ok", 11), ("unfreed_blocks=+0", "failed", 10),
    ("unfreed=-1kB", "failed", 9000), ("unfreed=-50%", "failed", 5000), ("calls(func=main)=+0%", "failed", 10)])
def test_baseline(record, compile_c, check, rule, verdict, limit):
    old = record([compile_c(LOADS, "-DCOUNT=10", name="old")])
    new = record([compile_c(LOADS, "-DCOUNT=11", name="new")])
    found = check(rule, options=["--baseline", old.trace], of=new.trace)[rule]
    assert (found["verdict"], found["limit"]) == (verdict, limit)


# --- rules that cannot be judged ---


# Four tables that are equally large in both; and with an argument, a small leak by a function that calls itself.
GREW = """
#include <stdlib.h>
static void *volatile kept[100];
__attribute__((noinline)) void load(int at, size_t size) { kept[at] = malloc(size); }
__attribute__((noinline)) void handle(int depth)
{
  if (depth > 0)
    handle(depth - 1);
  kept[4] = malloc(64);
}
int main(int count, char **arguments)
{
  load(0, 1000000);
  load(1, 500000);
  load(2, 300000);
  load(3, 200000);
  if (count > 1)
    handle(9);
  return arguments == NULL;
}
"""


def test_blames_what_grew(record, compile_c, hw):
    """Not the stacks that are large and were so before."""
    program = compile_c(GREW)
    old, new = record([program]).trace, record([program, "x"]).trace
    told = hw("check", new, "--baseline", old, "--max", "unfreed=+0", "--max", "peak=1kB", "--top", "2")
    changed, absolute = re.split(r"(?m)^(?=FAILED)", told.stdout)[1:]
    assert re.search(r"^  1 +640 B 100\.0 % +more than in the baseline$", changed, re.M), told.stdout
    assert "handle" in changed and "load" not in changed
    assert "load" in absolute and "handle" not in absolute and "baseline" not in absolute
    rules = json.loads(hw("check", "--json", new, "--baseline", old, "--max", "unfreed=+0", "--max", "peak=1kB").stdout)["rules"]
    assert [stack["growth"] for stack in rules[0]["stacks"]] == [640]
    assert all("growth" not in stack for stack in rules[1]["stacks"])


def test_blames_what_is_large_where_nothing_grew(record, compile_c, hw):
    trace = record([compile_c(GREW)]).trace
    told = hw("check", trace, "--baseline", trace, "--max", "unfreed=-1%").stdout
    assert "load" in told and "more than in the baseline" not in told


def test_a_recording_that_fell_silent(record, compile_c, check):
    """After the limit, anything may have happened: a rule that holds so far is not known to hold, a rule that failed
    has failed."""
    source = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 3000000; i++) { void *volatile p = malloc(i % 5000 + 1); free(p); } return 0; }\n"
    run = record([compile_c(source)], "--max-size", "16MiB")
    assert any("size limit" in silence["why"] for silence in run.report["images"][0]["silences"])
    found = check("calls=1e9", "calls=1", "peak=1GB", "unfreed=0", "lost=1e9", of=run.trace)
    assert found["calls=1"]["verdict"] == "failed"
    for rule in ("calls=1e9", "peak=1GB", "unfreed=0"):
        assert found[rule]["verdict"] == "unknown"
        assert "size limit of the trace reached" in found[rule]["why"]
    early = "calls(to=1us)=1e9"
    assert check(early, of=run.trace)[early]["verdict"] == "ok"  # all of this part is recorded


@pytest.mark.parametrize("share", [0.1, 0.7])
def test_a_damaged_recording(hw, check, trace, tmp_path, share):
    """A cut that lost events leaves no limit certain, least of all lost=0: it used to be "ok"."""
    whole = trace.read_bytes()
    cut = tmp_path / "cut.hwt"
    cut.write_bytes(whole[:HEADER_BYTES + int((len(whole) - HEADER_BYTES) * share)])
    calls = [json.loads(hw("report", "--json", path).stdout)["allocation_calls"] for path in (trace, cut)]
    assert calls[1] < calls[0]
    found = check("calls=1e9", "peak=1TB", "lost=0", of=cut)
    assert {rule: each["verdict"] for rule, each in found.items()} == dict.fromkeys(found, "unknown")
    assert all("damaged" in each["why"] for each in found.values())
    assert hw("check", cut, "--max", "calls=1e9").returncode == 2


def test_a_damaged_recording_that_exceeds_a_limit(hw, check, trace, tmp_path):
    """Only its last byte is missing, and no event is lost."""
    cut = tmp_path / "cut.hwt"
    cut.write_bytes(trace.read_bytes()[:-1])
    found = check("calls=10", "calls=1e9", of=cut)
    assert [each["verdict"] for each in found.values()] == ["failed", "unknown"]
    assert hw("check", cut, "--max", "calls=10").returncode == 1


def test_a_program_that_still_runs(hw, compile_c, recorder, tmp_path):
    source = "#include <stdlib.h>\n#include <unistd.h>\nvoid *volatile kept;\nint main(void) { kept = malloc(10); write(1, \"x\", 1); pause(); }\n"
    path = tmp_path / "running.hwt"
    environment = {**os.environ, "LD_PRELOAD": str(recorder), "HEAPWRIGHT_OUTPUT": str(path)}
    with subprocess.Popen([compile_c(source)], env=environment, stdout=subprocess.PIPE) as process:
        try:
            process.stdout.read(1)
            done = hw("check", path, "--max", "calls=1000")
            assert done.returncode == 2
            assert "still being written" in done.stdout
        finally:
            process.send_signal(signal.SIGKILL)
    done = hw("check", path, "--max", "calls(func=main)=1")
    assert done.returncode == 0, done.stdout


def test_names_that_are_missing(record, compile_c, check):
    """The program was replaced since: calls without names may be those of the rule."""
    program = compile_c(LOADS, "-DCOUNT=10", name="app")
    run = record([program])
    program.unlink()
    found = check("calls(func=main)=5", "calls(func=main)=1000", of=run.trace)
    assert found["calls(func=main)=5"]["verdict"] == "unknown"
    assert "whose names are missing" in found["calls(func=main)=5"]["why"]
    assert found["calls(func=main)=1000"]["verdict"] == "ok"


# --- files ---

def test_junit(hw, trace, tmp_path):
    path = tmp_path / "budgets.xml"
    done = hw("check", trace, "--max", "peak=1MB", "--max", "calls(func=operator<*)=0", "--max", "unfreed=0", "-o", path)
    assert done.returncode == 1
    suite = ElementTree.parse(path).getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == ["peak=1MB", "calls(func=operator<*)=0", "unfreed=0"]
    assert {case.get("classname") for case in cases} == {"heapwright.app"}
    failure = cases[2].find("failure")
    assert "10.0 kB of 0" in failure.get("message") and "load" in failure.text
    assert done.stdout.count("FAILED") == 1


def test_junit_of_odd_names(hw, record, compile_c, tmp_path):
    """A rule and a command with characters that XML does not allow."""
    program = compile_c(LOADS, "-DCOUNT=1", name='a"<b>&\x01c')
    run = record([program])
    path = tmp_path / "odd.xml"
    hw("check", run.trace, "--max", 'calls(func=a"<&\x02\xff)=0', "-o", path)
    case = ElementTree.parse(path).getroot().find("testsuite/testcase")
    assert case.get("classname") == 'heapwright.a"<b>&?c'
    assert case.get("name").startswith('calls(func=a"<&?')


def test_json_file(hw, trace, tmp_path):
    path = tmp_path / "verdicts.json"
    assert hw("check", trace, "--max", "lost=0", "-o", path).returncode == 0
    assert json.loads(path.read_text())["verdict"] == "ok"


def test_formats(hw, trace, tmp_path):
    """The output of --format equals the file that -o writes with that suffix, and a file does not change the printed
    output."""
    rules = ("check", trace, "--max", "unfreed=0", "--max", "lost=0")
    for name, suffix in (("text", "txt"), ("json", "json"), ("junit", "xml")):
        path = tmp_path / f"verdicts.{suffix}"
        printed = hw(*rules, "--format", name)
        assert printed.returncode == 1 and printed.stdout
        assert hw(*rules, "-o", path).stdout == hw(*rules).stdout
        assert path.read_text() == printed.stdout
    assert hw(*rules, "-o", "-").stdout == hw(*rules).stdout
    assert hw(*rules, "--json").stdout == hw(*rules, "--format", "json").stdout


def test_suppressions(hw, check, trace, tmp_path):
    rules = tmp_path / "known.supp"
    rules.write_text("# known leaks\nleak:load\nleak:nothing_like_it\n")
    found = check("unfreed=0", "live(func=load)=0", options=["--suppressions", rules])
    assert found["unfreed=0"]["verdict"] == "ok"
    assert found["live(func=load)=0"]["verdict"] == "failed"  # the figure itself is not touched
    done = hw("check", trace, "--max", "unfreed=0", "--suppressions", rules)
    assert f"{rules}, line 3: leak:nothing_like_it matches no leak" in done.stderr
    assert "line 2" not in done.stderr


@pytest.mark.parametrize("arguments,complaint", [
    ([], "check takes one recording, not 0"),
    (["{trace}"], "check needs a rule"),
    (["{trace}", "--max", "peek=1"], "there is no figure 'peek'; did you mean 'peak'?"),
    (["{trace}", "--max", "calls(fun=x)=1"], "there is no filter 'fun'; did you mean 'func'?"),
    (["{trace}", "--max", "calls(load)=1"], "a filter is KIND=PATTERN, not 'load'"),
    (["{trace}", "--max", "calls(func=)=1"], "has no pattern for 'func'"),
    (["{trace}", "--max", "calls(size=big)=1"], "size takes N, N..M, N.. or ..M, not 'big'"),
    (["{trace}", "--max", "calls(size=9..1)=1"], "size takes"),
    (["{trace}", "--max", "calls"], "a rule is FIGURE=LIMIT"),
    (["{trace}", "--max", "calls(func=x"], "a rule is FIGURE=LIMIT"),
    (["{trace}", "--max", "calls=many"], "a limit is a number"),
    (["{trace}", "--max", "calls="], "a limit is a number"),
    (["{trace}", "--max", "lost(func=x)=1"], "takes no filter"),
    (["{trace}", "--max", "calls=+5%"], "add --baseline OLD"),
    (["{trace}", "--max", "calls(from=tomorrow)=1"], "'tomorrow' is no moment"),
    (["{trace}", "--max", "calls(from=2s,to=1s)=1"], "it ends before it begins"),
    (["{trace}", "--max", "calls=1", "-o", "x.pdf"], "the known ones are .txt, .json and .xml"),
    (["{trace}", "--max", "calls=1", "--rules", "/nowhere"], "/nowhere: cannot be opened"),
    (["{trace}", "--max", "calls=1", "--rules", "/"], "/: cannot be"),
    (["{trace}", "--max", "calls=1", "--suppressions", "{trace}"], "is not a text file"),
    (["/nowhere.hwt", "--max", "calls=1"], "/nowhere.hwt"),
])
def test_wrong_usage(hw, trace, arguments, complaint):
    done = hw("check", *[argument.format(trace=trace) for argument in arguments])
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stdout == ""


# --- durations ---

TIMED_LOG = """alloc, 800, 1, 0x00000000196afeb0, 1788
alloc, 800, 1, 0x00000000197afeb0, 100
alloc_zeroed, 100, 0x0000000019000010, 200
alloc, 512, 256, 0x0000000019000100, 12
realloc, 0x0000000019000010, 4000, 0x0000000019001000, 300
dealloc, 0x0000000019001000, 7
dealloc, 0x0000000019ffff00, 9
"""


@pytest.fixture
def timed(hw, tmp_path):
    """A recording whose calls took the times in TIMED_LOG."""
    (tmp_path / "timed.log").write_text(TIMED_LOG)
    assert hw("import", tmp_path / "timed.log", "-o", tmp_path / "timed.hwt").returncode == 0
    return tmp_path / "timed.hwt"


@pytest.mark.parametrize("rule, figure", [
    ("duration_max", 1788), ("duration_max(entry=free)", 9), ("duration_max(entry=calloc,entry=realloc)", 300), ("duration_max(entry=*alloc)", 1788),
    ("duration_mean(entry=malloc)", 944), ("duration_p50", 100), ("duration_max(size=..512)", 200), ("duration_max(from=2us)", 300),
    ("duration_max(thread=nobody)", 0)])
def test_how_long_calls_took(hw, timed, rule, figure):
    """A limit equal to the figure holds, and one that is a nanosecond less does not."""
    found = json.loads(hw("check", "--json", timed, "--max", f"{rule}={figure}ns").stdout)["rules"][0]
    assert (found["verdict"], found["figure"], found["limit"]) == ("ok", figure, figure)
    if figure:
        assert hw("check", timed, "--max", f"{rule}={figure - 1}ns").returncode == 1


def test_durations_in_text(hw, timed):
    lines = hw("check", timed, "--max", "duration_max=250ns", "--max", "duration_max=1787ns").stdout.splitlines()
    assert lines[0].split() == ["FAILED", "duration_max=250ns", "1.79", "us", "of", "250", "ns"]
    assert [line.split()[:3] for line in lines if line.endswith("the slowest")] == [["1", "1.79", "us"], ["2", "300", "ns"], ["1", "1.79", "us"]]
    assert lines[5].endswith("1,788 ns of 1,787 ns")


def test_durations_against_a_baseline(hw, timed):
    assert hw("check", timed, "--baseline", timed, "--max", "duration_p99=+0%", "--max", "duration_max=+1us").returncode == 0
    assert hw("check", timed, "--baseline", timed, "--max", "duration_p99=-1%").returncode == 1


def test_a_recording_without_durations(hw, trace):
    done = hw("check", trace, "--max", "duration_p99=1ms")
    assert done.returncode == 2 and done.stdout.startswith("unknown") and "record --durations" in done.stdout


@pytest.mark.parametrize("rule, complaint", [("duration_max(entry=nosuch)=1us", "'nosuch'"), ("calls(entry=malloc)=1", "entry="), ("duration_p99=12x", "12x")])
def test_wrong_rules_about_durations(hw, timed, rule, complaint):
    done = hw("check", timed, "--max", rule)
    assert done.returncode == 2 and complaint in done.stderr and done.stdout == ""


def test_commas_and_parentheses_in_patterns(record, compile_cxx, check):
    source = """
#include <cstdlib>
#include <map>
template <class A, class B> struct Table { void add(A, B) { kept = malloc(50); } static void *volatile kept; };
template <class A, class B> void *volatile Table<A, B>::kept;
int main() { Table<int, long> table; table.add(1, 2); operator delete[](operator new[](33)); return 0; }
"""
    run = record([compile_cxx(source, "-O0")])
    found = check("calls(func=Table<int, long>::add,module=program)=1", "calls(func=Table<int, long>::add(int, long))=1",
                  "bytes(func=operator new[])=33", of=run.trace)
    assert [verdict["figure"] for verdict in found.values()][:2] == [1, 1]
