"""test_diff.py - heapwright diff: equal parts of two runs are matched, and differences are reported exactly

If this fails, a rebuild looks like a change, or a change is lost.
"""

import json
import re
import subprocess

import pytest

# Its figures are known: `tracks` blocks of 1,000 bytes are kept, 100 blocks of 64 bytes are freed at once, one block of
# 4,096 bytes is allocated below a recursion of `depth`, and `text` is kept by a function whose name is a parameter.
LEDGER = """
#include <stdlib.h>
static void *volatile kept[100000];
static int kept_count;
__attribute__((noinline)) static void keep(void *block) { kept[kept_count++] = block; }
__attribute__((noinline)) static void add_tracks(int count)
{
  for (int i = 0; i < count; i++)
    keep(malloc(1000));
}
__attribute__((noinline)) static int visit(int depth)
{
  if (depth == 0) {
    keep(malloc(4096));
    return 0;
  }
  return visit(depth - 1) + 1;
}
__attribute__((noinline)) static void churn(void)
{
  for (int i = 0; i < 100; i++) {
    char *volatile block = malloc(64);
    free(block);
  }
}
__attribute__((noinline)) static void PARSE(SIGNATURE) { keep(malloc(TEXT)); }
int main(void)
{
  add_tracks(TRACKS);
  visit(DEPTH);
  churn();
  PARSE(ARGUMENTS);
  return kept_count == 0;
}
"""

NORMAL = {"TRACKS": 10, "DEPTH": 5, "TEXT": 500, "PARSE": "parse", "SIGNATURE": "void", "ARGUMENTS": ""}


@pytest.fixture
def ledger(record, tmp_path):
    """ledger("name", TRACKS=15, ...): builds the program in its own folder, records it, and returns the Recording."""

    def run(name, source=LEDGER, flags=(), program="ledger", **changes):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "ledger.c").write_text(source)
        macros = [f"-D{macro}={value}" for macro, value in {**NORMAL, **changes}.items()]
        command = ["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-o", program, *macros, "ledger.c", *flags]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return record([folder / program])

    return run


@pytest.fixture
def diff(hw):
    """diff(old, new, "--by", "function"): the comparison's JSON."""

    def run(old, new, *options):
        done = hw("diff", "--json", *options, old.trace, new.trace)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def functions(row):
    return [frame["function"] for frame in row["stack"]]


def assert_same(diff, old, new, groups=("stack", "function", "file", "line", "module", "thread", "size")):
    """Nothing differs, with any option."""
    for by in groups:
        for cost in ("live", "calls"):
            rows = diff(old, new, "--by", by, "--cost", cost)["rows"]
            assert rows == [], (by, cost)


def test_the_same_recording_twice(ledger, diff, hw):
    run = ledger("a")
    assert_same(diff, run, run)
    done = hw("diff", "--exit-code", run.trace, run.trace)
    assert done.returncode == 0
    assert "nothing" in done.stdout


def test_difference_is_exact(ledger, diff):
    old, new = ledger("a"), ledger("b", TRACKS=15)
    found = diff(old, new, "--cost", "live")
    assert found["change"]["calls"] == 5
    assert found["change"]["live_bytes"] == found["change"]["peak_bytes"] == 5000
    assert found["old"]["allocation_calls"] + 5 == found["new"]["allocation_calls"]
    [row] = found["rows"]
    assert functions(row)[0] == "add_tracks" and row["match"] == "both"
    assert row["old"]["calls"], row["new"]["calls"] == (10, 15)
    assert row["change"] == {"calls": 5, "bytes": 5000, "temporary_calls": 0, "peak_bytes": 5000, "peak_blocks": 5,
                             "live_bytes": 5000, "live_blocks": 5}


def test_less_is_a_change_too(ledger, diff):
    old, new = ledger("a", TRACKS=15), ledger("b")
    [row] = diff(old, new)["rows"]
    assert row["change"]["peak_bytes"] == -5000


@pytest.mark.parametrize("cost,key", [("peak", "peak_bytes"), ("live", "live_bytes"), ("calls", "calls"),
                                      ("bytes", "bytes"), ("temporary", "temporary_calls")])
def test_changes_of_rows_add_up_to_that_of_the_run(ledger, diff, cost, key):
    old, new = ledger("a"), ledger("b", TRACKS=15, TEXT=600, PARSE="parse_all", DEPTH=7)
    found = diff(old, new, "--cost", cost)
    assert sum(row["change"][key] for row in found["rows"]) == found["change"][key]
    changes = [abs(row["change"][key]) for row in found["rows"]]
    assert changes == sorted(changes, reverse=True)
    for row in found["rows"]:
        assert row["change"][key] == row["new"][key] - row["old"][key] != 0


def test_moved_lines_in_another_folder_with_another_name(ledger, diff):
    old = ledger("a")
    moved = "/* a comment */\n" * 7 + LEDGER.replace("  for (int", "\n  for (int")
    assert_same(diff, old, ledger("b", source=moved, program="ledger-2"))


def test_a_line_more_in_a_function(ledger, diff):
    """By line: the other lines of the function are still matched, by the shift that most of them have in common."""
    more = LEDGER.replace("  add_tracks(TRACKS);", "  keep(malloc(7));\n  add_tracks(TRACKS);")
    rows = diff(ledger("a"), ledger("b", source=more), "--by", "line", "--cost", "calls")["rows"]
    changed = [row for row in rows if row["change"]["calls"] != 0]
    assert [(row["match"], row["change"]["calls"]) for row in changed] == [("new", 1)]


def test_other_addresses(ledger, diff):
    assert_same(diff, ledger("a", flags=["-pie", "-fPIE"]), ledger("b", flags=["-no-pie"]))


def test_depth_of_recursion(ledger, diff):
    assert_same(diff, ledger("a"), ledger("b", DEPTH=40))


def test_inlining(ledger, diff):
    inlined = LEDGER.replace("__attribute__((noinline)) ", "")
    assert_same(diff, ledger("a", flags=["-O0"]), ledger("b", source=inlined, flags=["-O2"]), groups=["stack", "function"])


def test_renamed_function(ledger, diff):
    rows = diff(ledger("a"), ledger("b", PARSE="parse_all"))["rows"]
    assert sorted((functions(row)[0], row["match"], row["change"]["peak_bytes"]) for row in rows) == [
        ("parse", "gone", -500), ("parse_all", "new", 500)]


def test_helper_split_off_is_similar(ledger, diff):
    """main -> add_tracks became main -> fill -> add_tracks: still the same memory, reported as similar."""
    split = LEDGER.replace("int main(void)", "__attribute__((noinline)) static void fill(int n) { add_tracks(n); }\nint main(void)")
    split = split.replace("  add_tracks(TRACKS);", "  fill(TRACKS);")
    old, new = ledger("a"), ledger("b", source=split, TRACKS=12)
    [row] = diff(old, new)["rows"]
    assert row["match"] == "similar"
    assert row["change"]["peak_bytes"] == 2000
    assert functions(row)[:3] == ["add_tracks", "fill", "main"]


CXX = """
#include <stdlib.h>
void *kept[2];
__attribute__((noinline)) void load(TYPE value) { kept[value > 0] = malloc(SIZE); }
int main() { load(1); return 0; }
"""


def test_changed_signature_is_similar(record, compile_cxx, diff):
    old = record([compile_cxx(CXX, "-DTYPE=int", "-DSIZE=100", name="old")])
    new = record([compile_cxx(CXX, "-DTYPE=long", "-DSIZE=130", name="new")])
    [row] = [row for row in diff(old, new)["rows"]]
    assert (row["match"], row["change"]["peak_bytes"]) == ("similar", 30)


def test_version_of_a_library(ledger, diff, tmp_path):
    """libdep.so.1 became libdep.so.2.0: the same library."""
    runs = []
    for name, library in (("a", "libdep.so.1"), ("b", "libdep.so.2.0")):
        folder = tmp_path / f"lib-{name}"
        folder.mkdir()
        (folder / "dep.c").write_text("#include <stdlib.h>\nvoid *make(void) { return malloc(321); }\n")
        subprocess.run(["gcc", "-g", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", library, "dep.c"], cwd=folder, check=True)
        program = "void *make(void); void *volatile kept; int main(void) { kept = make(); return 0; }\n"
        runs.append(ledger(name, source=program, flags=[f"-Wl,-rpath,{folder}", str(folder / library)]))
    assert_same(diff, *runs)


def test_function_that_moved_to_another_file(record, compile_c, diff):
    source = "#include <stdlib.h>\nvoid *volatile kept; int main(void) { kept = malloc(SIZE); return 0; }\n"
    old = record([compile_c(source, "-DSIZE=100", name="one")])
    new = record([compile_c(source, "-DSIZE=120", name="two")])
    for by in ("stack", "function"):
        [row] = [row for row in diff(old, new, "--by", by)["rows"] if row["change"]["peak_bytes"] != 0]
        assert (row["match"], row["change"]["peak_bytes"]) == ("similar", 20)


def test_stripped_of_the_same_build(ledger, record, diff, hw, tmp_path):
    """Without names, stacks are matched by their place in the same build."""
    old = ledger("a", flags=["-s"])
    again = record([tmp_path / "a/ledger"])
    assert_same(diff, old, again)


def test_stripped_of_another_build(ledger, diff):
    """Without names and with another build, only the module is known: sums still match, nothing is invented."""
    old, new = ledger("a", flags=["-s"]), ledger("b", flags=["-s"], TRACKS=15)
    found = diff(old, new)
    assert sum(row["change"]["peak_bytes"] for row in found["rows"]) == 5000
    assert diff(old, new, "--by", "module")["rows"][0]["change"]["peak_bytes"] == 5000


def test_program_replaced_since(ledger, hw, tmp_path):
    old = ledger("a")
    new = ledger("b", TRACKS=15)
    (tmp_path / "b/ledger").replace(tmp_path / "a/ledger")
    done = hw("diff", old.trace, new.trace)
    assert done.returncode == 0
    assert "OLD has no names for ledger (file changed since)" in " ".join(done.stdout.split())
    assert "--debug-dir" in done.stdout and "--keep-files" in done.stdout


def test_threads_and_sizes(record, compile_c, diff):
    source = """
#include <pthread.h>
#include <stdlib.h>
void *volatile kept;
static void *work(void *unused)
{
  (void)unused;
  pthread_setname_np(pthread_self(), "worker");
  kept = malloc(SIZE);
  return 0;
}
int main(void)
{
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
  }
  return 0;
}
"""
    old = record([compile_c(source, "-pthread", "-DSIZE=1001", "-DTHREADS=2", name="old")])
    new = record([compile_c(source, "-pthread", "-DSIZE=1001", "-DTHREADS=3", name="new")])
    rows = diff(old, new, "--by", "thread", "--cost", "live")["rows"]
    assert [(row["name"], row["old_items"], row["new_items"], row["change"]["live_bytes"]) for row in rows] == [("worker", 2, 3, 1001)]
    rows = diff(old, new, "--by", "size", "--cost", "live")["rows"]
    assert [(row["size"], row["match"], row["change"]["live_blocks"]) for row in rows] == [(1001, "both", 1)]
    rows = diff(old, new, "--thread", "worker", "--cost", "live")["rows"]
    assert [(functions(row)[0], row["change"]["live_bytes"]) for row in rows] == [("work", 1001)]


def test_the_first_threads_of_linked_programs_are_one_row(record, diff, compile_c, tmp_path):
    """The kernel gives such a thread the link's name, and the program's file has another name."""
    program = compile_c("#include <stdlib.h>\nvoid *kept;\nint main(int count, char **words) { kept = malloc(20 * count); return !words; }")
    for name in ("before", "after"):
        (tmp_path / name).symlink_to(program)
    (row,) = diff(record([tmp_path / "before"]), record([tmp_path / "after", "more"]), "--by", "thread")["rows"]
    assert (row["match"], row["old_items"], row["new_items"]) == ("both", 1, 1)


@pytest.mark.parametrize("threshold,status", [(None, 1), ("4999", 1), ("5000", 0), ("5kB", 0), ("30%", 1), ("90%", 0)])
def test_exit_code(ledger, hw, threshold, status):
    """OLD holds 14,596 bytes and the runtime's at its peak; NEW has 5,000 more."""
    old, new = ledger("a"), ledger("b", TRACKS=15)
    options = [] if threshold is None else ["--threshold", threshold]
    assert hw("diff", "--exit-code", *options, old.trace, new.trace).returncode == status
    assert hw("diff", *options, old.trace, new.trace).returncode == 0
    assert hw("diff", "--exit-code", *options, new.trace, old.trace).returncode == 0  # a decrease is no growth


def test_exit_code_sees_what_the_total_hides(ledger, hw):
    """One stack holds less, another more: the run as a whole did not grow."""
    old, new = ledger("a", TRACKS=20), ledger("b", TRACKS=10, TEXT=1500)
    assert hw("diff", "--exit-code", old.trace, new.trace).returncode == 1


def test_what_is_left_out_is_said(ledger, hw):
    old, new = ledger("a"), ledger("b", TRACKS=15, TEXT=600, DEPTH=1)
    text = hw("diff", "--top", "1", old.trace, new.trace).stdout
    assert re.search(r"\+100 B .* in 1 more stack \(--top 0\)", text)
    assert "1 stack that changed less (--threshold)" in hw("diff", "--threshold", "100", old.trace, new.trace).stdout
    assert "1 stack with fewer calls (--min-calls)" in hw("diff", "--min-calls", "10", old.trace, new.trace).stdout


def test_a_filter_narrows_the_whole(ledger, hw, diff):
    """Growth elsewhere does not matter, and a percentage refers to the rest: 500 bytes of parse, then 1,000."""
    old, new = ledger("a"), ledger("b", TRACKS=15, TEXT=1000)
    found = diff(old, new, "--only", "func=parse")
    assert (found["selected"]["old"]["peak_bytes"], found["selected"]["new"]["peak_bytes"]) == (500, 1000)
    assert found["change"]["peak_bytes"] == 500 and found["change"]["calls"] == 0
    exits = lambda *options: hw("diff", "--exit-code", *options, old.trace, new.trace).returncode
    assert exits("--only", "func=parse", "--threshold", "99%") == 1
    assert exits("--only", "func=parse", "--threshold", "100%") == 0
    assert exits("--ignore", "func=parse", "--ignore", "func=add_tracks") == 0
    text = hw("diff", "--only", "func=parse", old.trace, new.trace).stdout
    assert re.search(r"^  only func=parse$", text, re.M) and re.search(r"^  peak +500 B +1,000 B +\+500 B +\+100 %$", text, re.M)
    assert not re.search(r"^  (frees|failed) ", text, re.M)
    text = hw("diff", "--only", "func=prase", old.trace, new.trace).stdout
    assert "func=prase matches nothing in either recording; did you mean func=parse?" in text


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_fits_the_width(ledger, hw, columns):
    old, new = ledger("a"), ledger("b", TRACKS=15, PARSE="parse_everything_there_is_to_parse")
    for by in ("stack", "function", "file", "line", "module", "thread", "size"):
        text = hw("diff", "--by", by, "--cost", "calls", old.trace, new.trace, env={"COLUMNS": str(columns), "LC_ALL": "C.UTF-8"}).stdout
        if columns >= 80:
            assert max(map(len, text.splitlines())) <= columns, text


def test_first_screen_at_80_columns(ledger, hw):
    old, new = ledger("a", TRACKS=100), ledger("b", TRACKS=200, PARSE="parse_all")
    text = hw("diff", old.trace, new.trace, env={"COLUMNS": "80", "LC_ALL": "C.UTF-8"}).stdout
    assert re.search(r"^OLD  1\.hwt   .*/a/ledger$", text, re.M)
    assert re.search(r"^  peak +10\d\.\d kB +20\d\.\d kB +\+100\.0 kB +\+9\d\.\d %$", text, re.M)
    assert re.search(r"^  1 +\+100\.0 kB +\+100 % +100\.0 kB +200\.0 kB +\+100$", text, re.M)
    assert re.search(r"^  2 +\+500 B +0 +500 B +\+1   new\n +parse_all +ledger\.c:\d+\n +main ", text, re.M)
    assert re.search(r"^  3 +-500 B +-100 % +500 B +0 +-1   gone\n +parse +ledger\.c:\d+\n +main ", text, re.M)


@pytest.mark.parametrize("arguments,complaint", [
    ([], "diff takes two recordings, OLD and NEW, not 0"),
    (["{trace}"], "diff takes two recordings, OLD and NEW, not 1"),
    (["{trace}", "nowhere.hwt"], "nowhere.hwt"),
    (["--threshold", "much", "{trace}", "{trace}"], "--threshold takes a size such as"),
    (["--threshold", "-5%", "{trace}", "{trace}"], "--threshold takes a size such as"),
    (["--leaks", "--cost", "calls", "{trace}", "{trace}"], "leave --cost out"),
])
def test_wrong_usage(ledger, hw, arguments, complaint):
    run = ledger("a")
    done = hw("diff", *[argument.format(trace=run.trace) for argument in arguments])
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stdout == ""
