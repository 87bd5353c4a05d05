"""test_plots.py - charts for paper: their figures are the JSON report's, the pictures have the promised format, and
no name in a recording can make gnuplot or a shell execute anything
"""

import json
import os
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

if shutil.which("gnuplot") is None or shutil.which("pdfinfo") is None:
    pytest.skip("needs gnuplot and poppler-utils", allow_module_level=True)

CHARTS = ["live", "live-by-stack", "live-by-size", "live-by-thread", "sizes", "lifetimes", "threads"]
PROGRAM = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static void rest(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }
__attribute__((noinline)) static void *small(void) { return malloc(100); }
__attribute__((noinline)) static void *large(void) { return malloc(5000); }
static void *work(void *arg) {
  pthread_setname_np(pthread_self(), arg);
  void *blocks[40];
  for (int i = 0; i < 40; i++) { blocks[i] = i % 4 == 0 ? large() : small(); if (i % 10 == 0) rest(); }
  for (int i = 0; i < 40; i++) free(blocks[i]);
  return NULL;
}
int main(void) {
  pthread_t threads[2];
  char *kept = large(), *again = NULL;
  for (int i = 0; i < 50; i++) free(again = small());
  for (int i = 0; i < 2; i++) { pthread_create(&threads[i], NULL, work, i ? "second" : "first"); rest(); }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  rest();
  memset(kept, 0, 5000);
  return 0;
}
"""


@pytest.fixture
def run(record, compile_c):
    return record([compile_c(PROGRAM, "-pthread")])


NOBODY = ("heapwright: thread=nobody matches nothing in this recording\n"
          "heapwright: nothing of the run is selected\n")


def write(hw, trace, path, *options, said="", **more):
    done = hw("report", "-o", path, *options, trace, **more)
    assert done.returncode == 0, done.stderr
    assert done.stderr == said
    return path


def block(script, name):
    """The rows of a data block of a script."""
    text = re.search(rf"^\${name} << EOD\n(.*?)^EOD$", script.read_text(), re.M | re.S).group(1)
    return [[int(word) for word in line.split()] for line in text.splitlines() if not line.startswith("#")]


def pages(path):
    done = subprocess.run(["pdfinfo", path], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return int(re.search(r"^Pages: +(\d+)", done.stdout, re.M).group(1))


def words(path):
    return subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout


# --- figures ---


def test_the_live_heap_is_the_timeline_of_the_report(hw, run, tmp_path):
    script = write(hw, run.trace, tmp_path / "x.gp", "--chart", "live")
    report = run.report
    *rows, last = block(script, "live")
    assert [row[1:] for row in rows] == [
        [point[key] for key in ("time_ns", "live_bytes", "live_blocks", "max_bytes")] for point in report["timeline"]]
    assert [row[0] for row in rows] == [0] + [row[1] for row in rows[:-1]]
    assert last[0] == rows[-1][1] and last[2:] == rows[-1][2:]
    assert f"peak {report['peak_bytes'] / 1000:.1f} kB at" in script.read_text()
    page = json.loads(hw("report", "--format", "page", run.trace).stdout)
    if page["rss"]["time_ns"]:
        assert block(script, "rss") == [list(row) for row in zip(page["rss"]["time_ns"], page["rss"]["rss_bytes"])]


def test_the_resident_set_is_that_of_all_processes_shown(hw, record, tmp_path):
    run = record(["sh", "-c", "sleep 0.4; ls /; sleep 0.4; true"])
    script = write(hw, run.trace, tmp_path / "x.gp", "--chart", "live", "--children")
    page = json.loads(hw("report", "--format", "page", "--children", run.trace).stdout)
    assert block(script, "rss") == [list(row) for row in zip(page["rss"]["time_ns"], page["rss"]["rss_bytes"])]


def test_usable_sizes_are_the_most_within_each_slice(hw, run, tmp_path):
    for options in ([], ["--from", "4ms", "--to", "90%"]):
        script = write(hw, run.trace, tmp_path / "x.gp", "--chart", "live", *options)
        live, usable = block(script, "live"), block(script, "usable")
        assert [row[0] for row in usable] == [row[0] for row in live]
        assert all(row[1] >= slice[4] for row, slice in zip(usable, live))  # never less than requested
        report = run.report_with(*options)
        peak = next(i for i, slice in enumerate(live) if slice[4] == report["peak_bytes"])
        assert usable[peak][1] == report["peak_usable_bytes"]


def test_a_resident_set_far_above_the_heap_has_an_axis_of_its_own(hw, record, compile_c, tmp_path):
    program = compile_c(r"""
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        int main(int count, char **words) {
          size_t bytes = atol(words[1]);
          char *block = malloc(bytes);
          for (int i = 0; i < 10; i++) { memset(block + i * (bytes / 10), 1, bytes / 10); usleep(10000); }
          return block[0] - 1;
        }
        """)

    def script(size):
        for _ in range(20):  # until the launcher, which may have to wait for its turn, has seen the program run
            script = write(hw, record([program, size]).trace, tmp_path / "x.gp", "--chart", "live").read_text()
            if "$rss << EOD" in script:
                return script
        raise AssertionError("never a sample")

    small, large = script("1000"), script("30000000")
    assert '"resident set (RSS), on the right"' in small and "$rss using ($1/t):($2/r) axes x1y2" in small
    assert float(re.search(r"^set yrange \[0 : ([\d.]+)\]", small, re.MULTILINE)[1]) < 10 * 1024  # bytes or kB: not the RSS's
    assert "set y2label 'resident set (MB)'" in small
    assert '"resident set (RSS)"' in large and "$rss using ($1/t):($2/b)" in large and "y2" not in large


def test_sizes_lifetimes_and_threads_are_those_of_the_report(hw, run, tmp_path):
    script = write(hw, run.trace, tmp_path / "x.gp", "--chart", "sizes,lifetimes,threads")
    report = run.report
    classes = {(row[0], row[1]): row[2:] for row in block(script, "sizes")}
    for size_class in report["size_classes"]["classes"]:
        calls, temporary, peak, live = classes.pop((size_class["from_size"], size_class["to_size"]))
        within = [size for size in report["sizes"] if size_class["from_size"] <= size["size"] <= size_class["to_size"]]
        assert (calls, peak, live) == (size_class["calls"], size_class["peak_bytes"], size_class["live_bytes"])
        assert temporary == sum(size["temporary_calls"] for size in within)
    assert not any(any(figures) for figures in classes.values())
    assert [row[0] for row in block(script, "lifetimes")] == list(report["lifetimes"].values())
    keys = ("tid", "allocation_calls", "allocated_bytes", "peak_bytes", "live_bytes")
    assert sorted(block(script, "threads")) == sorted([thread[key] for key in keys] for thread in report["by_thread"])


@pytest.mark.parametrize("options", [[], ["--thread", "second"], ["--only", "size=4K.."], ["--ignore", "func=small"]])
def test_the_parts_add_up_to_what_is_live(hw, run, tmp_path, options):
    script = write(hw, run.trace, tmp_path / "x.gp", "--chart", "live-by-stack,live-by-size,live-by-thread", *options)
    tables = [block(script, name) for name in ("by_stack", "by_size", "by_thread")]
    moments = [row[0] for row in tables[0]]
    assert moments == sorted(moments) and moments[0] == 0 and moments[-1] == run.report["duration_ns"]
    for table in tables:
        assert [[row[0], sum(row[1:])] for row in table] == [[row[0], sum(row[1:])] for row in tables[0]]
    for i in range(0, len(moments), 67):
        at = run.report_with("--at", f"{moments[i]}ns", *options)
        live = at["selected" if options else "at"]["live_bytes"] if options else at["live_bytes_at_end"]
        assert sum(tables[0][i][1:]) == live
    if not options:
        assert [run.report["peak_time_ns"], run.report["peak_bytes"]] in [[row[0], sum(row[1:])] for row in tables[0]]


def test_each_part_is_its_own(hw, run, tmp_path):
    script = write(hw, run.trace, tmp_path / "x.gp", "--chart", "live-by-thread")
    names = re.findall(r'keyentry .* title "(.*)"', script.read_text())
    report = run.report
    peak = next(row for row in block(script, "by_thread") if row[0] == report["peak_time_ns"])
    threads = {thread["name"]: thread["peak_bytes"] for thread in report["by_thread"]}
    assert {name: threads[name] for name in names} == dict(zip(names, peak[1:]))


def test_neighbours_are_told_apart_without_colours(hw, record, compile_c, tmp_path):
    """Every other part is hatched, each with its own pattern, also in the legend."""
    calls = " ".join(f"kept[{i}] = malloc({1000 - i});" for i in range(10))
    program = f"#include <stdlib.h>\nstatic void *volatile kept[10];\nint main(void) {{ {calls} return 0; }}\n"
    script = write(hw, record([compile_c(program)]).trace, tmp_path / "x.gp", "--chart", "live-by-stack").read_text()
    areas = re.findall(r"filledcurves y1=0 fillstyle (.*) fillcolor", script)
    legend = re.findall(r"keyentry with boxes fillstyle (.*) fillcolor .* title \"(.*)\"", script)
    styles = [style for style, _name in legend]
    assert areas == styles[::-1] and len(styles) == 9 and legend[-1][1] == "other stacks"
    assert all(style == "solid" for style in styles[::2])
    assert all(style.startswith("pattern ") for style in styles[1::2]) and len(set(styles[1::2])) == 4


def test_an_interval_is_drawn_alone(hw, run, tmp_path):
    script = write(hw, run.trace, tmp_path / "x.gp", "--chart", "live,live-by-size", "--from", "5ms", "--to", "9ms")
    report = run.report_with("--from", "5ms", "--to", "9ms")
    *rows, _ = block(script, "live")
    assert rows[0][0] == 5_000_000 and rows[-1][1] == report["timeline"][-1]["time_ns"]
    assert [row[4] for row in rows] == [point["max_bytes"] for point in report["timeline"]]
    parts = block(script, "by_size")
    assert (parts[0][0], parts[-1][0]) == (5_000_000, 9_000_000)
    assert sum(parts[-1][1:]) == report["live_bytes_at_end"]


KILLED = r"""
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  void *volatile blocks[2] = {malloc(1000)};
  usleep(5000);
  blocks[1] = malloc(50000);
  kill(getpid(), SIGKILL);
  return blocks[0] == blocks[1];
}
"""


def test_an_interval_to_the_end_has_the_last_event(hw, preload, compile_c, tmp_path):
    """The run was killed and ends with that event, which used to be left out because it was taken to be after the
    interval."""
    trace = preload([compile_c(KILLED)]).trace
    script = write(hw, trace, tmp_path / "x.gp", "--chart", "live-by-size", "--from", "1ms")
    assert sum(block(script, "by_size")[-1][1:]) == 51000


def test_durations_are_those_of_the_report(hw, record, compile_c, tmp_path):
    run = record([compile_c(PROGRAM, "-pthread")], "--durations")
    script = write(hw, run.trace, tmp_path / "x.gp", "--chart", "durations")
    report = run.report_with("--durations", "--top", "1000")
    keys = ("calls", "total_ns", "p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns")
    assert block(script, "durations") == [[entry[key] for key in keys] for entry in report["durations"]]
    names = [entry["entry"] for entry in report["durations"]]
    assert block(script, "slowest") == [
        [call["time_ns"], call["took_ns"], names.index(call["entry"])] for call in report["slowest_calls"]]
    for form in ("pdf", "svg", "png"):
        write(hw, run.trace, tmp_path / f"x.{form}", "--chart", "durations")
    write(hw, run.trace, tmp_path / "x.pdf", "--chart", "durations", "--thread", "nobody", said=NOBODY)
    write(hw, run.trace, tmp_path / "x.pdf", "--chart", "durations", "--from", "99%")
    assert "How long calls took" in words(write(hw, run.trace, tmp_path / "report.pdf"))


def test_every_call_is_where_it_was_and_as_long_as_it_took(hw, record, compile_c, tmp_path):
    """heaphook's plots of each function's times: from its log, and from a recording of heapwright, also for a part
    of it."""
    run = record([compile_c(PROGRAM, "-pthread")], "--durations")
    log, imported = tmp_path / "x.heaplog", tmp_path / "imported.hwt"
    assert hw("export", "-o", log, run.trace).returncode == 0
    assert hw("import", log, "-o", imported).returncode == 0
    times = sorted(call["time_ns"] for call in run.report_with("--durations", "--top", "0")["slowest_calls"])
    half = ["--from", f"{times[len(times) // 2]}ns"]  # half of the calls, at whatever time they were made
    for trace, options in ((run.trace, []), (imported, []), (run.trace, half), (run.trace, ["--thread", "first"])):
        script = write(hw, trace, tmp_path / "x.gp", "--chart", "durations-along-time", *options)
        report = json.loads(hw("report", "--json", "--durations", "--top", "0", *options, trace).stdout)
        timed = [entry for entry in report["durations"] if entry["calls"] > 0]
        assert timed
        for number, entry in enumerate(timed):
            calls = [call for call in report["slowest_calls"] if call["entry"] == entry["entry"]]
            cells = block(script, f"along{number}")
            assert sum(count for _, _, count in cells) == entry["calls"] == len(calls)
            slice_ns = report["duration_ns"] // 256 + 1
            for call in calls:
                assert any(abs(time_ns - call["time_ns"]) <= slice_ns and abs(took_ns - call["took_ns"]) <= took_ns / 32 + 1
                           for time_ns, took_ns, _ in cells), call
            mean = re.search(rf'^set label "{re.escape(entry["entry"])}: .* mean (.*) ns"', script.read_text(), re.M)
            assert float(mean.group(1)) == pytest.approx(entry["mean_ns"], rel=1e-3, abs=0.06)
        assert f"along{len(timed)}" not in script.read_text()
    for form in ("pdf", "svg", "png"):
        write(hw, imported, tmp_path / f"x.{form}", "--chart", "durations-along-time")
    shown = words(write(hw, imported, tmp_path / "x.pdf", "--chart", "durations-along-time"))
    assert "malloc:" in shown and "free:" in shown and "mean" in shown
    write(hw, run.trace, tmp_path / "x.pdf", "--chart", "durations-along-time", "--thread", "nobody", said=NOBODY)


# --- pictures ---


@pytest.mark.parametrize("chart", CHARTS)
def test_each_chart_has_a_page_the_size_of_a_figure(hw, run, tmp_path, chart):
    picture = write(hw, run.trace, tmp_path / "x.pdf", "--chart", chart)
    assert pages(picture) == 1
    width = re.search(r"^Page size: +(\d+)", subprocess.run(["pdfinfo", picture], capture_output=True, text=True).stdout, re.M)
    assert abs(int(width.group(1)) - 17 / 2.54 * 72) < 2
    fonts = subprocess.run(["pdffonts", picture], capture_output=True, text=True).stdout.splitlines()[2:]
    assert fonts and all(re.search(r" yes yes yes ", font) for font in fonts)  # embedded


MANY_ENTRIES = r"""
#include <cstdlib>
#include <new>
#include <string>
int main() {
  std::string *texts[100];
  for (int i = 0; i < 100; i++) {
    texts[i] = new std::string(1000, 'x');
    delete[] new char[100];
    delete static_cast<long *>(::operator new(8, std::nothrow));
    ::operator delete(::operator new(64, std::align_val_t(64)), std::align_val_t(64));
    free(calloc(1, 10)), free(aligned_alloc(64, 64)), free(realloc(malloc(10), 20)), free(valloc(10));
  }
  for (int i = 0; i < 100; i++) delete texts[i];
}
"""


def test_no_word_leaves_the_page(hw, record, compile_cxx, tmp_path):
    run = record([compile_cxx(MANY_ENTRIES)], "--durations")
    for name, options in (("figures.pdf", ["--chart", ",".join([*CHARTS, "durations", "durations-along-time"])]), ("report.pdf", [])):
        picture = write(hw, run.trace, tmp_path / name, *options)
        told = subprocess.run(["pdftotext", "-bbox", picture, "-"], capture_output=True, text=True, check=True).stdout
        for page in told.split("<page ")[1:]:
            width, height = map(float, re.match(r'width="([\d.]+)" height="([\d.]+)"', page).groups())
            for left, top, right, bottom, word in re.findall(
                    r'<word xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)</word>', page):
                assert 0 <= float(left) and float(right) <= width and 0 <= float(top) and float(bottom) <= height, word
    assert "slowest" in words(tmp_path / "figures.pdf") and "others" in words(tmp_path / "figures.pdf")


def test_several_charts_are_several_pages_or_one_picture(hw, run, tmp_path):
    assert pages(write(hw, run.trace, tmp_path / "x.pdf", "--chart", ",".join(CHARTS))) == len(CHARTS)
    sizes = []
    for charts in ("sizes", "sizes,lifetimes"):
        root = ElementTree.parse(write(hw, run.trace, tmp_path / "x.svg", "--chart", charts)).getroot()
        sizes.append((int(root.get("width")), int(root.get("height"))))
        text = "".join(root.itertext())
        assert "Allocations by block size" in text and ("How long blocks live" in text) == ("lifetimes" in charts)
    assert sizes[0][0] == sizes[1][0] and sizes[0][1] < sizes[1][1]
    png = write(hw, run.trace, tmp_path / "x.png", "--chart", "sizes").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.rstrip().endswith(b"IEND\xaeB`\x82")
    assert int.from_bytes(png[16:20], "big") == 1598


def test_a_pdf_without_charts_is_a_report(hw, run, tmp_path):
    report = write(hw, run.trace, tmp_path / "x.pdf")
    assert 2 <= pages(report) <= 4
    text = words(report)
    assert [int(n) for n in re.findall(r"^ *page (\d+)$", text, re.M)] == list(range(1, pages(report) + 1))
    for part in ("Live heap", "Live heap by call stack", "Live heap by block size", "How long blocks live",
                 "Allocations by thread", "Top stacks at the peak", "large", "Evidence:"):
        assert part in text
    assert f"{run.report['allocation_calls']:,}" in text


def test_a_row_and_its_frames_stay_on_one_page(hw, record, compile_c, tmp_path):
    chain = "".join(f"FRAME(f{i}, f{i + 1})\n" for i in reversed(range(12)))
    kinds = "".join(f"__attribute__((noinline)) static void kind{i}(void) {{ f0(100 + {i}); }}\n" for i in range(20))
    program = compile_c("""
        #include <stdlib.h>
        #define FRAME(name, next) __attribute__((noinline)) static void name(int n) { next(n); __asm__ volatile(""); }
        __attribute__((noinline)) static void f12(int n) { void *volatile p = malloc(n); (void)p; }
        """ + chain + kinds + "int main(void) { " + "".join(f"kind{i}(); " for i in range(20)) + "return 0; }\n")
    report = write(hw, record([program]).trace, tmp_path / "x.pdf", "--top", "20", "--frames", "all")
    rows = 0
    for page in words(report).split("\f"):
        lines = [line.split() for line in page.splitlines() if line.strip()]
        starts = [i for i, line in enumerate(lines) if len(line) > 3 and line[0].isdigit() and line[2] in ("B", "kB")]
        for start, end in zip(starts, [*starts[1:], len(lines)]):
            names = [line[0] for line in lines[start + 1:end]]
            assert names[0] == "f12" and "f0" in names and "main" in names
        rows += len(starts)
        if starts:
            assert all(line[0] != "main" for line in lines[:starts[0]])
    assert rows == 20


def test_the_script_makes_the_pdf(hw, run, tmp_path):
    picture = write(hw, run.trace, tmp_path / "x.pdf")
    script = write(hw, run.trace, tmp_path / "mine.gp")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    subprocess.run(["gnuplot", "-d", script], cwd=folder, check=True)
    assert [path.name for path in folder.iterdir()] == ["mine.pdf"]
    assert words(folder / "mine.pdf") == words(picture)


def test_pictures_go_to_stdout_as_well(hw, run):
    done = hw("report", "-o", "-", "--format", "svg", run.trace)
    assert done.returncode == 0 and ElementTree.fromstring(done.stdout).tag.endswith("svg")


@pytest.mark.parametrize("body", ["return 0;", "void *volatile p = malloc(100); (void)p; return 0;"])
def test_there_may_be_next_to_nothing_to_draw(hw, record, compile_c, tmp_path, body):
    trace = record([compile_c(f"#include <stdlib.h>\nint main(void) {{ {body} }}")]).trace
    for name in ("x.pdf", "x.svg", "x.png"):
        write(hw, trace, tmp_path / name, "--chart", ",".join(CHARTS))
    assert pages(write(hw, trace, tmp_path / "report.pdf")) >= 2


def test_a_moment_has_what_needs_no_time(hw, run, tmp_path):
    text = words(write(hw, run.trace, tmp_path / "x.pdf", "--at", "8ms"))
    assert "Live bytes by block size" in text and "Live heap" not in text
    assert "Live bytes by block size" in "".join(
        ElementTree.parse(write(hw, run.trace, tmp_path / "x.svg", "--at", "8ms")).getroot().itertext())


def test_stacks_whose_nearest_callers_agree_are_told_apart_in_the_legend(hw, record, compile_c, tmp_path):
    calls = "".join(f"DEEPER(by_{n}, by_{n + 1})\n" for n in reversed(range(5)))
    program = compile_c(r"""
        #include <stdlib.h>
        #define DEEPER(name, next) __attribute__((noinline)) static void *name(int n) { void *volatile b = next(n); return b; }
        __attribute__((noinline)) static void *by_5(int n) { void *volatile b = malloc(n); return b; }
        CALLS
        DEEPER(left, by_0)
        DEEPER(right, by_0)
        int main(void) { void *volatile kept[] = {left(3000), right(2000)}; return kept[0] == NULL; }
        """.replace("CALLS", calls), "-O1", "-fno-optimize-sibling-calls")
    script = write(hw, record([program]).trace, tmp_path / "x.gp", "--chart", "live-by-stack").read_text()
    names = re.findall(r'keyentry .* title "(.*)"', script)
    assert len(set(names)) == len(names)
    assert [re.sub(r" \(.*?\)", "", name) for name in names[:2]] == ["by_5 < … < left", "by_5 < … < right"]


def test_what_a_container_wants_is_named_after_who_called_it(hw, record, compile_cxx, tmp_path):
    program = compile_cxx(r"""
        #include <map>
        #include <vector>
        static std::vector<int> *numbers = new std::vector<int>;
        static std::map<int, int> *table = new std::map<int, int>;
        __attribute__((noinline)) void keep(int i) { numbers->push_back(i); (*table)[i] = i; }
        __attribute__((noinline)) void alone(std::vector<long> &longs) { longs.resize(1000); }
        int main() {
          std::vector<long> longs;
          for (int i = 0; i < 1000; i++)
            keep(i);
          alone(longs);
          return longs[0];
        }
        """)
    script = write(hw, record([program]).trace, tmp_path / "x.gp", "--chart", "live-by-stack").read_text()
    names = re.findall(r'keyentry .* title "(.*)"', script)
    for pattern in (r"keep \(.*:\d+\) via std::vector<int>::push_back", r"keep \(.*:\d+\) via std::map<.*>::operator\[\]",
                    r"alone \(.*:\d+\)"):
        assert [name for name in names if re.fullmatch(pattern, name)], names


def test_paper_names_no_options(hw, run, tmp_path):
    paper = words(write(hw, run.trace, tmp_path / "x.pdf", "--top", "1"))
    assert "Top stacks at the peak" in paper and re.search(r"in \d+ more stacks", paper)
    assert re.findall(r".*[ \[(]--[a-z].*", paper) == []
    assert "(--top 0)" in hw("report", "--top", "1", run.trace).stdout  # but a terminal does


# --- two runs ---


def test_two_runs_are_drawn_over_each_other(hw, run, record, compile_c, tmp_path):
    other = record([compile_c(PROGRAM.replace("i < 40", "i < 60").replace("[40]", "[60]"), "-pthread")])
    script = tmp_path / "x.gp"
    for options in ([], ["--cost", "calls", "--by", "function"], ["--by", "size"], ["--by", "thread", "--top", "1"]):
        done = hw("diff", "-o", script, *options, run.trace, other.trace)
        assert (done.returncode, done.stderr) == (0, "")
        for name, side in (("old", run), ("new", other)):
            assert [row[1:] for row in block(script, name)[:-1]] == [
                [point[key] for key in ("time_ns", "live_bytes", "live_blocks", "max_bytes")] for point in side.report["timeline"]]
        told = json.loads(hw("diff", "--json", *options, run.trace, other.trace).stdout)
        key = "calls" if "calls" in options else "peak_bytes"
        rows = [[row["old"][key], row["new"][key], row["change"][key]] for row in told["rows"] if row["change"][key] != 0]
        assert block(script, "changes") == rows and rows
    for form in ("pdf", "svg", "png"):
        done = hw("diff", "-o", tmp_path / f"x.{form}", run.trace, other.trace)
        assert (done.returncode, done.stderr) == (0, "")
    assert pages(tmp_path / "x.pdf") == 1
    text = "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())
    assert "What changed at the peak" in text and "small" in text


def test_a_run_and_itself_and_a_saved_report(hw, run, tmp_path):
    assert hw("report", "-o", tmp_path / "saved.json", run.trace).returncode == 0
    for new in (run.trace, tmp_path / "saved.json"):
        done = hw("diff", "-o", tmp_path / "x.svg", run.trace, new)
        assert (done.returncode, done.stderr) == (0, "")
        text = "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())
        assert "nothing" in text and ("Live heap" in text) == (new == run.trace)


# --- hostile names ---

HOSTILE = r"""
#include <stdlib.h>
#include <sys/prctl.h>
int main(int count, char **words) {
  prctl(PR_SET_NAME, words[count - 1]);
  void *volatile block = malloc(100000);
  return block == NULL;
}
"""


@pytest.mark.parametrize("name", ["`touch a1`", "'`touch a2`'", '"`touch a3`"', "@b a_{x}^2 %s %", "$x\\n\\", "'\nset o'a4'", "\xff\xfe é🙂"])
def test_names_are_text(hw, record, compile_c, tmp_path, name):
    program = compile_c(HOSTILE)
    stripped = tmp_path / f"{name.replace('/', '')} prog"
    shutil.copy(program, stripped)
    subprocess.run(["strip", stripped], check=True)
    trace = record([stripped, name[:15]], trace=tmp_path / "x.hwt").trace
    folder = tmp_path / "here"
    folder.mkdir()
    script = write(hw, trace, folder / "x.gp", "--chart", ",".join(CHARTS), cwd=folder)
    done = subprocess.run(["gnuplot", "-d", script], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    write(hw, trace, folder / "y.svg", "--chart", ",".join(CHARTS), cwd=folder)
    write(hw, trace, folder / "z.pdf", cwd=folder)
    assert {path.name for path in folder.iterdir()} == {"x.gp", "x.pdf", "y.svg", "z.pdf"}
    if name.isascii() and name.isprintable():
        text = "".join(ElementTree.parse(folder / "y.svg").getroot().itertext())
        assert name[:15] in text  # the thread
        assert f"?? {stripped.name}+0x" in text  # the module of a nameless function


# --- errors ---


def test_a_failure_is_told_and_leaves_what_was_there(hw, run, tmp_path, build):
    kept = tmp_path / "x.pdf"
    kept.write_text("mine")

    def fails(*options, env=None, path=kept):
        done = hw("report", "-o", path, *options, run.trace, env={**os.environ, **(env or {})})
        assert done.returncode == 2
        assert kept.read_text() == "mine" and [p.name for p in tmp_path.glob("x.pdf*")] == ["x.pdf"]
        return done.stderr

    tools = tmp_path / "tools"
    tools.mkdir()
    assert "apt-get install gnuplot-nox" in fails(env={"PATH": str(tools)})
    fake = tools / "gnuplot"
    fake.write_text("#!/bin/sh\necho half\necho '\"/dev/stdin\" line 7: no such thing' >&2\nexit 1\n")
    fake.chmod(0o755)
    assert 'gnuplot failed: "/dev/stdin" line 7: no such thing' in fails(env={"PATH": f"{tools}:/usr/bin:/bin"})
    fake.write_text("#!/bin/sh\nexit 0\n")
    assert "gnuplot drew nothing" in fails(env={"PATH": f"{tools}:/usr/bin:/bin"})
    fake.write_text("#!/bin/sh\nkill -9 $$\n")
    assert "gnuplot was killed by signal 9" in fails(env={"PATH": f"{tools}:/usr/bin:/bin"})
    assert "did you mean 'lifetimes'" in fails("--chart", "lifetime")
    assert "there is no chart ''" in fails("--chart", "live,")
    assert "names live twice" in fails("--chart", "live,sizes,live")
    assert "--chart live-by-size is over time" in fails("--chart", "sizes,live-by-size", "--at", "peak")
    assert "lifetimes are known only for whole stacks" in fails("--chart", "lifetimes", "--thread", "second")
    assert "record --durations COMMAND" in fails("--chart", "durations")
    assert "--by is about tables" in fails("--by", "thread")
    done = hw("report", "--chart", "live", run.trace)
    assert done.returncode == 2 and "-o FILE.pdf" in done.stderr
    done = hw("report", "--format", "pdf", "-o", "/dev/full", run.trace)
    assert done.returncode == 2 and "No space left" in done.stderr


def test_the_script_needs_no_gnuplot(hw, run, tmp_path):
    write(hw, run.trace, tmp_path / "x.gp", env={**os.environ, "PATH": "/nowhere"})
