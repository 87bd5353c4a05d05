"""test_sampled.py - what a sampled trace means in each output

The traces are samples of exact recordings (thinned.py), so that each estimate can be compared with the exact figure. Breaks
if an estimate or its error is wrong, if an output does not say that its figures are estimates, or if one that needs every
call takes a sample.
"""

import json
import re
import shutil
import sqlite3
import subprocess

import pytest
from conftest import compile_source
from thinned import thin

from page_document import PLACE, unpack

# From 8 B to 100 MB, with reallocs, temporary blocks, and frees by another thread.
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
static void *kept[8000];
static int count;
__attribute__((noinline)) static void small(void)
{
  for (int i = 0; i < 12000; i++) {
    void *block = malloc(8 + i % 2000);
    if (i % 4 == 0)
      kept[count++] = block;
    else
      free(block);
  }
}
__attribute__((noinline)) static void grow(void)
{
  for (int k = 0; k < 200; k++) {
    char *block = NULL;
    for (size_t size = 16; size < 300000; size *= 2)
      block = realloc(block, size);
    kept[count++] = block;
  }
}
__attribute__((noinline)) static void *large(void *unused)
{
  (void)unused;
  for (int i = 0; i < 2500; i++)
    free(kept[i]);
  for (int i = 0; i < 300; i++)
    kept[count++] = malloc(20000 + i * 1000);
  return malloc(100000000);
}
int main(void)
{
  pthread_t thread;
  void *block;
  small();
  grow();
  pthread_create(&thread, NULL, large, NULL);
  pthread_join(thread, &block);
  free(block);
  return 0;
}
"""
SAMPLE_BYTES = 4096
EXACT = ("allocation_calls", "free_calls", "failed_calls", "allocated_bytes")
ESTIMATES = ("temporary_calls", "peak_bytes", "peak_blocks", "live_bytes_at_end", "live_blocks_at_end")
OF_STACKS = ("calls", "bytes", "live_bytes", "live_blocks", "peak_bytes", "temporary_calls")


def report_of(hw, trace, *options):
    done = hw("report", "--json", *options, trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def exact(hw, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sampled")
    program, trace = compile_source("gcc", ".c", folder, PROGRAM, ["-std=gnu17", "-pthread"], "program"), folder / "exact.hwt"
    assert hw("record", "-q", "-o", trace, "--", program).returncode == 0
    return trace


@pytest.fixture(scope="module")
def sample(exact):
    thin(exact, exact.with_name("sample.hwt"), SAMPLE_BYTES, 1)
    return exact.with_name("sample.hwt")


def by_function(report):
    """The stacks of the program's functions, by function and entry."""
    stacks = {}
    for stack in report["top"]:
        name = next((frame["function"] for frame in stack["stack"] if frame["function"] in ("small", "grow", "large")), None)
        if name:
            sum_of = stacks.setdefault(name, dict.fromkeys([*OF_STACKS, *(f"{key}_error" for key in OF_STACKS)], 0))
            for key in OF_STACKS:
                sum_of[key] += stack[key]
                sum_of[f"{key}_error"] = (sum_of[f"{key}_error"] ** 2 + stack.get(f"{key}_error", 0) ** 2) ** 0.5
    return stacks


def test_estimates_of_many_samples(hw, exact, tmp_path):
    """The mean is right, and about 95 % of the intervals contain the exact figure."""
    runs = 30
    right, trace = report_of(hw, exact), tmp_path / "sample.hwt"
    right_stacks, trials = by_function(right), {}
    for seed in range(runs):
        thin(exact, trace, SAMPLE_BYTES, seed)
        found = report_of(hw, trace)
        assert found["estimated"] is True and found["sample_bytes"] == SAMPLE_BYTES
        assert {key: found[key] for key in EXACT} == {key: right[key] for key in EXACT}
        assert found["unmatched_frees"] == found["missed_frees"] == 0
        for key in ESTIMATES:
            trials.setdefault(key, []).append((found[key] - right[key], found[f"{key}_error"]))
        for name, stack in by_function(found).items():
            for key in OF_STACKS:
                trials.setdefault((name, key), []).append((stack[key] - right_stacks[name][key], stack[f"{key}_error"]))
    assert set(trials) == {*ESTIMATES, *((name, key) for name in ("small", "grow", "large") for key in OF_STACKS)}
    within = everything = 0
    for key, of in trials.items():
        error = sum(error for _, error in of) / len(of)
        bias = error / 4 if key in ("peak_bytes", "peak_blocks") else 0  # of a largest value
        assert abs(sum(off for off, _ in of)) / len(of) <= 1.7 * error / len(of) ** 0.5 + bias, (key, of)
        within += sum(abs(off) <= error for off, error in of)
        everything += len(of)
    assert 0.90 <= within / everything <= 0.99, within / everything


def test_threads_have_all_their_calls(hw, exact, sample):
    right, found = report_of(hw, exact)["by_thread"], report_of(hw, sample)["by_thread"]
    assert len(right) == len(found) == 2
    for a, b in zip(right, found):
        assert {key: a[key] for key in ("tid", "allocation_calls", "free_calls", "allocated_bytes")} == {
            key: b[key] for key in ("tid", "allocation_calls", "free_calls", "allocated_bytes")}
        assert "live_bytes_error" in b and "allocation_calls_error" not in b


def test_sums_of_stacks_are_those_of_all(hw, sample):
    found = report_of(hw, sample)
    for key in OF_STACKS:
        assert sum(stack[key] for stack in found["top"]) == found["selected"][key] == sum(size[key] for size in found["sizes"])
        squares = sum(stack.get(f"{key}_error", 0) ** 2 for stack in found["top"]) ** 0.5
        assert abs(squares - found["selected"][f"{key}_error"]) <= 3
    assert found["selected"]["live_bytes"] == found["live_bytes_at_end"]
    assert sum(found["lifetimes"].values()) == found["selected"]["calls"]


def test_a_packed_trace_says_the_same(hw, sample, tmp_path):
    done = hw("import", sample, "-o", tmp_path / "packed.hwt")
    assert done.returncode == 0, done.stderr
    raw, packed = report_of(hw, sample), report_of(hw, tmp_path / "packed.hwt")
    for report in (raw, packed):
        del report["trace"], report["images"], report["processes"]
    assert raw == packed


def test_parts_of_the_run_are_estimates(hw, sample):
    part = report_of(hw, sample, "--from", "0s")
    assert part["allocation_calls_error"] > 0 and part["allocated_bytes_error"] > 0
    assert part["allocation_calls"] == part["selected"]["calls"]
    moment = report_of(hw, sample, "--at", "peak")
    assert moment["live_bytes_at_end"] == report_of(hw, sample)["peak_bytes"]
    assert "live_bytes_at_end_error" in moment


def test_usable_bytes_have_an_error(record, compile_c):
    source = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 50000; i++) if (!malloc(100)) return 1; return 0; }"
    report = record([compile_c(source, "-O0")], "--sample=4K").report
    largest = max(report["top"], key=lambda stack: stack["calls"])
    usable = largest["usable_bytes"] // largest["calls"]
    assert usable >= 100 and largest["usable_bytes_error"] == pytest.approx(usable * largest["calls_error"], abs=2 * usable)
    assert report["usable_bytes_error"] == pytest.approx(largest["usable_bytes_error"], rel=0.1)


def test_an_exact_trace_has_no_errors(hw, exact):
    found = report_of(hw, exact)
    assert "estimated" not in found and "_error\"" not in json.dumps(found)


# --- text ---


@pytest.mark.parametrize("columns", [80, 120])
def test_the_text_says_so(hw, sample, columns):
    done = hw("report", sample, env={"COLUMNS": str(columns), "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("Sampled: one allocation per 4 KiB.") for line in lines)
    assert "sampled: one allocation per 4 KiB" in " ".join(done.stdout.split())
    assert re.search(r"^  peak .* ± \d", done.stdout, re.M) and re.search(r"^ +at peak +± +calls", done.stdout, re.M)
    assert re.search(r"^  1 .* % +± [\d.]+ ", done.stdout, re.M)
    assert all(len(line) <= columns for line in lines)


@pytest.mark.parametrize("by", ["function", "thread", "size", "entry"])
def test_tables_fit_short_lines(hw, sample, by):
    done = hw("report", sample, "--by", by, env={"COLUMNS": "80", "LC_ALL": "C.UTF-8"})
    assert re.search(r"^  1 .* % +± [\d.]+ ", done.stdout, re.M)
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_the_text_has_all_calls_of_threads(hw, sample):
    found = report_of(hw, sample)["by_thread"]
    text = hw("report", sample, "--by", "thread", env={"COLUMNS": "140", "LC_ALL": "C.UTF-8"}).stdout
    assert "Calls and allocated bytes are exact, the other figures are estimates." in text
    for thread in found:
        assert re.search(rf"^  \d .* {thread['allocation_calls']:,} .* \({thread['tid']}\)", text, re.M), text
    ranked = hw("report", sample, "--by", "thread", "--cost", "calls", env={"COLUMNS": "140", "LC_ALL": "C.UTF-8"}).stdout
    most = max(thread["allocation_calls"] for thread in found)
    share = 100 * most / sum(thread["allocation_calls"] for thread in found)
    assert re.search(rf"^  1 +{most:,} +{share:.1f} % +± 0 ", ranked, re.M), ranked
    part = hw("report", sample, "--by", "thread", "--from", "0s").stdout
    assert "are exact" not in part.split("Threads, by what they allocated")[1]


def test_the_text_in_ascii(hw, sample):
    done = hw("report", sample, env={"COLUMNS": "100", "LC_ALL": "C"})
    assert "(+-: 95 %)" in " ".join(done.stdout.split()) and "±" not in done.stdout


@pytest.mark.parametrize("options", [["--by", "function"], ["--by", "thread"], ["--by", "size"], ["--by", "entry"], ["--leaks"]])
def test_rankings_have_errors(hw, sample, options):
    done = hw("report", *options, sample, env={"COLUMNS": "100", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0 and re.search(r"^  1 .* ± [\d.]+ ", done.stdout, re.M), done.stdout


def test_resizes_are_not_known(hw, sample):
    assert "not known: a sampled recording" in hw("report", "--resizes", sample).stdout


# --- exports ---


@pytest.mark.parametrize("name", ["heaptrack", "heaplog"])
def test_formats_of_single_calls_refuse_it(hw, sample, tmp_path, name):
    done = hw("export", sample, "--format", name, "-o", tmp_path / "out")
    assert done.returncode == 2 and not (tmp_path / "out").exists()
    assert f"{name} lists single calls, and the recording is sampled" in done.stderr and "Record without --sample" in done.stderr


@pytest.mark.parametrize("name", ["folded", "speedscope", "pprof", "massif", "csv", "sqlite", "chrome", "dhat", "callgrind"])
def test_other_formats_have_estimates(hw, sample, tmp_path, name):
    done = hw("export", sample, "--format", name, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "sampled, one allocation per 4 KiB: what is exported are estimates" in done.stderr
    content = (tmp_path / "out").read_bytes()
    if name in ("speedscope", "massif", "dhat", "callgrind"):
        assert b"sampled, one allocation per 4 KiB" in content


def test_exported_sums(hw, sample, tmp_path):
    found = report_of(hw, sample)
    folded = hw("export", sample, "--format", "folded", "-o", "-").stdout
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()) == found["peak_bytes"]
    dhat = json.loads(hw("export", sample, "--format", "dhat", "-o", "-").stdout)
    assert sum(point["gb"] for point in dhat["pps"]) == found["peak_bytes"]
    assert sum(point["tbk"] for point in dhat["pps"]) == found["selected"]["calls"]
    massif = hw("export", sample, "--format", "massif", "-o", "-").stdout
    assert max(int(size) for size in re.findall(r"^mem_heap_B=(\d+)", massif, re.M)) == found["peak_bytes"]


def test_tables_have_errors(hw, sample, exact, tmp_path):
    found = report_of(hw, sample)
    for trace in (sample, exact):
        assert hw("export", trace, "-o", tmp_path / f"{trace.stem}.db", "--format", "sqlite").returncode == 0
    database = sqlite3.connect(tmp_path / f"{sample.stem}.db")
    database.row_factory = sqlite3.Row
    run = database.execute("SELECT * FROM run").fetchone()
    assert run["sample_bytes"] == SAMPLE_BYTES and run["live_bytes_at_end_error"] == found["live_bytes_at_end_error"]
    assert run["allocation_calls"] == found["allocation_calls"] and run["allocation_calls_error"] == 0
    stacks = database.execute("SELECT sum(live_bytes), sum(live_bytes_error * live_bytes_error) FROM stacks").fetchone()
    assert stacks[0] == found["live_bytes_at_end"] and abs(stacks[1] ** 0.5 - found["live_bytes_at_end_error"]) <= 3
    of_exact = sqlite3.connect(tmp_path / f"{exact.stem}.db").execute("SELECT sample_bytes, peak_bytes_error FROM run").fetchone()
    assert of_exact == (None, None)


@pytest.mark.skipif(shutil.which("go") is None, reason="no go")
def test_go_reads_the_estimates(hw, sample, tmp_path):
    assert hw("export", sample, "-o", tmp_path / "sample.pb.gz").returncode == 0
    raw = subprocess.run(["go", "tool", "pprof", "-raw", tmp_path / "sample.pb.gz"], capture_output=True, text=True, check=True).stdout
    assert f"Period: {SAMPLE_BYTES}" in raw and "sampled, one allocation per 4 KiB" in raw


# --- comparisons, budgets, tune ---


def test_a_difference_within_its_error_is_said_to_be(hw, exact, sample, tmp_path):
    done = hw("diff", exact, sample, env={"COLUMNS": "100", "LC_ALL": "C.UTF-8"})
    assert done.returncode in (0, 1), done.stderr
    assert "Sampled: OLD exact, NEW one allocation per 4 KiB." in done.stdout
    assert re.search(r"^  at the end .* ± .*\(within\)", done.stdout, re.M)
    assert re.search(r"^  allocations +([\d,]+) +\1 +0", done.stdout, re.M)
    thin(exact, tmp_path / "other.hwt", 4 * SAMPLE_BYTES, 2)
    both = json.loads(hw("diff", "--json", sample, tmp_path / "other.hwt").stdout)
    a, b = (report_of(hw, trace)["selected"]["live_bytes_error"] for trace in (sample, tmp_path / "other.hwt"))
    assert abs(both["change"]["live_bytes_error"] - (a * a + b * b) ** 0.5) <= 2


@pytest.mark.parametrize("columns", [80, 90, 100, 200, None])
@pytest.mark.parametrize("by", ["stack", "function", "thread", "size", "entry"])
def test_a_difference_fits_its_lines(hw, exact, sample, columns, by):
    environment = {"LC_ALL": "C.UTF-8", **({"COLUMNS": str(columns)} if columns else {})}
    done = hw("diff", exact, sample, "--by", by, env=environment)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= (columns or 100), max(lines, key=len)
    assert re.search(r"^    blocks .* ± [\d,]+", done.stdout, re.M)
    assert re.search(r"^  1 .* ± [\d.]+", done.stdout, re.M), done.stdout


def test_saved_reports_keep_their_errors(hw, exact, sample, tmp_path):
    (tmp_path / "saved.json").write_text(hw("report", "--json", sample).stdout)
    of_saved = json.loads(hw("diff", "--json", exact, tmp_path / "saved.json").stdout)
    of_trace = json.loads(hw("diff", "--json", exact, sample).stdout)
    assert of_saved["new"]["estimated"] is True
    for key in ("live_bytes", "calls"):
        assert of_saved["change"][key] == of_trace["change"][key]
        assert abs(of_saved["change"][f"{key}_error"] - of_trace["change"][f"{key}_error"]) <= 3


def test_a_budget_says_that_its_figure_is_an_estimate(hw, sample):
    found = report_of(hw, sample)
    done = hw("check", sample, "--max", "live=1K", env={"LC_ALL": "C.UTF-8"})
    assert done.returncode == 1 and re.search(r"^FAILED +live=1K .*, an estimate within .* \(95 %\)", done.stdout, re.M), done.stdout
    rules = json.loads(hw("check", "--json", sample, "--max", "live=1G", "--max", "calls=1G", "--max", "own_peak=1G").stdout)["rules"]
    assert rules[0]["estimated"] and rules[0]["figure_error"] == pytest.approx(found["live_bytes_at_end_error"], abs=2)
    assert "estimated" not in rules[1] and rules[1]["figure"] == found["allocation_calls"]
    assert rules[2]["estimated"] and rules[2]["figure"] == found["peak_bytes"]


def test_tune_refuses_it(hw, sample):
    done = hw("tune", sample)
    assert done.returncode == 2 and "is sampled" in done.stderr and "record without --sample" in done.stderr


# --- the page ---


def test_the_page_has_the_errors(hw, sample, tmp_path):
    done = hw("report", sample, "-o", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    found, document = report_of(hw, sample), json.loads(PLACE.search((tmp_path / "page.html").read_text())[1])
    assert document["run"]["estimated"] is True and document["run"]["sample_bytes"] == SAMPLE_BYTES
    assert document["run"]["peak_bytes_error"] == found["peak_bytes_error"]
    stacks = document["stacks"]
    assert sum(unpack(stacks["live_bytes"])) == found["live_bytes_at_end"]
    assert abs(sum(error * error for error in unpack(stacks["live_bytes_error"])) ** 0.5 - found["live_bytes_at_end_error"]) <= 3
    assert sum(document["slices"]["allocation_calls"]) == found["selected"]["calls"]


def test_charts_say_so(hw, sample, exact, tmp_path):
    charts = ["--chart", "live,live-by-stack,sizes,threads,lifetimes"]
    assert hw("report", *charts, "-o", tmp_path / "sample.gp", sample).returncode == 0
    script = (tmp_path / "sample.gp").read_text()
    for title in ("Live heap", "Live heap by call stack", "Allocations by block size", "Live bytes by thread", "How long blocks live"):
        assert f'"{title} (estimates)"' in script, title
    assert hw("report", *charts, "-o", tmp_path / "exact.gp", exact).returncode == 0
    assert "estimates" not in (tmp_path / "exact.gp").read_text()


# --- the live view, of a run that is over ---


def test_the_terminal_says_so(hw, sample):
    done = hw("live", "--text", "--once", sample)
    found = report_of(hw, sample)
    assert done.returncode == 0, done.stderr
    assert "sampled: one allocation per 4 KiB" in done.stdout
    live = int(re.search(r"Live .* in ([\d,]+) blocks", done.stdout)[1].replace(",", ""))
    assert live == found["live_blocks_at_end"]


# --- real programs ---


REAL = {
    "sqlite3": ["sqlite3", ":memory:", "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000) "
                "insert into t select x, hex(x) from c; create index i on t(b); select count(*), max(b) from t"],
    "python3": ["/usr/bin/python3", "-c", "import json; json.loads(json.dumps([{str(i): [i] * 9} for i in range(300)]))"],
}


@pytest.mark.parametrize("name", [name for name, command in REAL.items() if shutil.which(command[0])])
def test_real_programs(hw, record, tmp_path, name):
    exact = record(REAL[name], env={"PYTHONMALLOC": "malloc"}).trace
    right, trace = report_of(hw, exact), tmp_path / "sample.hwt"
    off, errors = dict.fromkeys(ESTIMATES, 0), dict.fromkeys(ESTIMATES, 0)
    for seed in range(3):
        thin(exact, trace, 512, seed)
        found = report_of(hw, trace)
        assert {key: found[key] for key in EXACT} == {key: right[key] for key in EXACT}
        for key in ESTIMATES:
            off[key] += found[key] - right[key]
            errors[key] += found[f"{key}_error"]
    for key in ESTIMATES:
        assert abs(off[key]) <= 1.5 * errors[key], (key, off, errors)


def test_page_of_processes_without_events(hw, record, tmp_path):
    """A process of which only the calls are counted ends before another one begins: the page's second reading of the events numbered
    the threads of later processes differently, and gave up."""
    words = "true & wait; python3 -c 'blocks = [bytearray(2000) for i in range(3000)]'"
    trace = record(["sh", "-c", words], "--sample=16K").trace
    done = hw("report", trace, "--children", "-o", tmp_path / "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert hw("export", trace, "--children", "-o", tmp_path / "part.trace.json", "--from", "1ms").returncode == 0
