"""test_report.py - `report` on recordings of real programs: it shows what the options request, and explains errors"""

import json
import os
import pty
import re
import shutil
import subprocess
import time

import pytest

PROGRAM = """
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <pthread.h>

struct Track { char bytes[1152]; };

__attribute__((noinline)) Track *add_track()
{
  return new Track;  // ADD
}

__attribute__((noinline)) void churn()
{
  for (int i = 0; i < 5000; i++) {
    void *volatile block = malloc(100);  // CHURN
    free(block);
  }
}

__attribute__((noinline)) void grow(std::vector<int> &numbers)
{
  numbers.reserve(250000);  // GROW
}

int main()
{
  for (int i = 0; i < 30; i++)
    add_track();  // leaked
  {
    std::vector<int> numbers;
    grow(numbers);
  }
  std::thread worker([] {
    pthread_setname_np(pthread_self(), "worker");
    churn();
  });
  worker.join();
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    source = folder / "tracks.cc"
    source.write_text(PROGRAM)
    subprocess.run(["g++", "-std=c++17", "-O1", "-g", source, "-o", folder / "tracks", "-pthread"], check=True)
    return folder / "tracks"


@pytest.fixture(scope="module")
def trace(program, build, tmp_path_factory):
    """A recording of the program, which all tests here only read."""
    path = tmp_path_factory.mktemp("recording") / "tracks.hwt"
    environment = {**os.environ, "LD_PRELOAD": str(build / "lib/libheapwright-record.so"), "HEAPWRIGHT_OUTPUT": str(path)}
    subprocess.run([program], env=environment, check=True, timeout=60)
    return path


def line_of(text):
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


def report(hw, trace, *options):
    done = hw("report", *options, trace)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def document(hw, trace, *options):
    return json.loads(report(hw, trace, "--json", *options))


def test_text_names_functions_and_lines(hw, trace):
    text = report(hw, trace)
    assert f"tracks.cc:{line_of('// GROW')}" in text
    assert "add_track" in text
    assert "1,000,000 B" in text or "1.0 MB" in text
    assert "_start" not in text  # folded
    assert "Evidence:" in text and "Next:" not in text
    assert "_start" in report(hw, trace, "--frames", "all")


LINKED = """
#include <stdlib.h>
__attribute__((noinline)) void *grab(size_t n) { return malloc(n); }
int main(void) { void *volatile kept = grab(20); return kept == NULL; }
"""


@pytest.mark.parametrize("flags", [(), ("-s",)], ids=["named", "stripped"])
def test_a_link_is_called_by_its_name(hw, record, compile_c, tmp_path, flags):
    """Debian's redis-server is a link to redis-check-rdb: the user who ran it knows the link. In lists of files, the
    file is shown."""
    program = compile_c(LINKED, *flags, name="file_of_it")
    (tmp_path / "link_to_it").symlink_to(program)
    run = record([tmp_path / "link_to_it"])
    lines = hw("report", run.trace).stdout.splitlines()
    assert lines[0].endswith("/link_to_it") and lines[1].endswith(", exit 0; the program's file is file_of_it")
    assert "file_of_it" not in "\n".join(lines[2:]).replace("file_of_it.c", "")
    frames = [line for line in lines if "grab " in line or "?? link_to_it+0x" in line]
    assert frames and all("link_to_it" in line for line in frames)
    assert "/file_of_it" in hw("report", "--by", "module", run.trace).stdout
    for name in ("link_to_it", "file_of_it"):
        assert run.report_with("--only", f"module={name}")["selected"]["calls"] == 1
    assert hw("report", record([program]).trace).stdout.splitlines()[1].endswith(", exit 0")


def test_a_file_of_several_names_has_its_own(hw, record, compile_c, tmp_path):
    """As busybox has."""
    program = compile_c(LINKED, name="file_of_them")
    for name in ("one", "other"):
        (tmp_path / name).symlink_to(program)
    run = record(["sh", "-c", f"{tmp_path}/one; {tmp_path}/other"])
    text = hw("report", "--children", "--cost", "calls", "--only", "module=file_of_them", run.trace).stdout
    assert [line.split()[-1] for line in text.splitlines() if line.split()[:1] == ["grab"]] == ["file_of_them"]


def test_wrappers_are_passed_over(hw, trace):
    row = report(hw, trace, "--by", "line").splitlines()
    first = next(line for line in row if line.startswith("  1 "))
    assert "new_allocator" not in first and "alloc_traits" not in first


@pytest.mark.parametrize("columns", [80, 100, 200])
@pytest.mark.parametrize("by", ["stack", "function", "file", "line", "module", "thread", "size"])
def test_every_line_fits(hw, trace, columns, by):
    done = hw("report", "--by", by, "--top", "0", trace, env={**os.environ, "COLUMNS": str(columns), "LC_ALL": "C"})
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= columns
    assert done.stdout.isascii()


def test_leaks_are_what_was_not_freed(hw, trace):
    found = document(hw, trace, "--leaks")
    assert found["live_blocks_at_end"] == found["runtime_blocks"]["live_blocks"] + sum(s["live_blocks"] for s in found["top"])
    tracks = [s for s in found["top"] if any(f["function"] and "add_track" in f["function"] for f in s["stack"])]
    assert sum(s["live_blocks"] for s in tracks) == 30
    assert sum(s["live_bytes"] for s in tracks) == 30 * 1152
    text = report(hw, trace, "--leaks")
    assert "Still allocated at the end; not all of it is leaked" in text
    assert "the runtime's own (libc, libstdc++, loader): 7" in text  # libstdc++'s pool of 72,704 bytes, at least


def test_leaks_do_not_speak_of_a_runtime_that_left_nothing(hw, record, compile_c, tmp_path):
    """The report used to say "nothing but the runtime's own: 0 in 0 blocks"."""
    trace = record([compile_c("#include <stdlib.h>\nvoid *kept;\nint main(void) { kept = malloc(700); return 0; }")]).trace
    assert "\n  700 B in 1 block\n" in hw("report", "--leaks", trace).stdout
    known = tmp_path / "known.supp"
    known.write_text("leak:main\n")
    text = hw("report", "--leaks", "--suppressions", known, trace).stdout
    assert "\n  nothing; suppressed: 700 B in 1 block\n" in text


def test_json_adds_up(hw, trace):
    found = document(hw, trace)
    assert sum(s["calls"] for s in found["top"]) == found["allocation_calls"]
    assert sum(s["bytes"] for s in found["top"]) == found["allocated_bytes"]
    assert sum(s["peak_bytes"] for s in found["top"]) == found["peak_bytes"]
    assert sum(s["live_bytes"] for s in found["top"]) == found["live_bytes_at_end"]
    assert sum(s["temporary_calls"] for s in found["top"]) == found["temporary_calls"]
    assert sum(s["calls"] for s in found["sizes"]) == found["allocation_calls"]
    assert sum(t["allocation_calls"] for t in found["by_thread"]) == found["allocation_calls"]
    assert sum(t["allocation_calls"] for t in found["timeline"]) == found["allocation_calls"]
    assert max(t["max_bytes"] for t in found["timeline"]) == found["peak_bytes"]
    assert found["threads"] == len(found["by_thread"]) == 2
    churn = max(found["top"], key=lambda s: s["temporary_calls"])
    assert churn["temporary_calls"] >= 4999 and churn["entry"] == "malloc"
    frame = churn["stack"][0]
    assert frame["function"].startswith("churn") and frame["line"] == line_of("// CHURN")
    assert frame["file"].endswith("tracks.cc") and frame["module"].endswith("tracks")


def test_a_group_s_total_is_at_least_its_self(hw, trace):
    for by in ["function", "file", "line", "module"]:
        found = document(hw, trace, "--by", by)
        groups = found[f"by_{by}"]
        assert sum(g["self"]["calls"] for g in groups) == found["allocation_calls"]
        assert all(g["self"]["calls"] <= g["total"]["calls"] <= found["allocation_calls"] for g in groups)
    main = [g for g in document(hw, trace, "--by", "function")["by_function"] if g["function"] == "main"]
    assert main and main[0]["total"]["live_bytes"] >= 30 * 1152


def test_one_thread(hw, trace):
    found = document(hw, trace, "--thread", "work*")
    assert sum(s["calls"] for s in found["top"]) == sum(t["allocation_calls"] for t in found["by_thread"])
    assert [t["name"] for t in found["by_thread"]] == ["worker"]
    assert "only thread=work*: " in report(hw, trace, "--thread", "work*")


def test_sizes_of_one_thread(hw, trace):
    found = document(hw, trace, "--thread", "work*")
    of_all = {s["size"]: s["calls"] for s in document(hw, trace)["sizes"]}
    sizes = {s["size"]: s["calls"] for s in found["sizes"]}
    assert sum(sizes.values()) == found["by_thread"][0]["allocation_calls"]
    assert sizes[100] >= 5000 and 1152 not in sizes  # the worker allocates and frees, main holds the tracks
    assert all(calls <= of_all[size] for size, calls in sizes.items())
    text = report(hw, trace, "--thread", "work*", "--by", "size", "--cost", "calls")
    assert "only thread=work*: " in text and "most at once" not in text
    assert re.search(rf"^ *1 +{sizes[100]:,} .* 100 B$", text, re.M)


def test_the_main_of_a_language_s_runtime_is_a_start(hw, record, compile_c):
    """Rust and D have a C main that calls their runtime, which calls the user's main."""
    program = compile_c("""
        #include <stdlib.h>
        #define CALLED __attribute__((noipa))
        void *volatile kept;
        CALLED void users_main(void) { kept = malloc(4711); }
        CALLED void _d_run_main(void (*run)(void)) { run(); kept = kept; }
        CALLED int main(void) { _d_run_main(users_main); return 0; }
        """)
    text = report(hw, record([program]).trace)
    assert re.search(r"^ +users_main ", text, re.M)
    assert "_d_run_main" not in text and not re.search(r"^ +main ", text, re.M)


def test_the_start_of_a_stripped_program_is_folded(hw, record, compile_c):
    """_start has no name there; the report used to show it below main, with libc's frames between them."""
    program = compile_c("""
        #include <stdlib.h>
        void *volatile kept;
        int main(void) { kept = malloc(4711); return 0; }
        """, "-s", name="bare")
    text = report(hw, record([program]).trace)
    assert len(re.findall(r"^ +\?\? bare\+0x", text, re.M)) == 1
    assert "__libc_start" not in text


def test_min_calls_leaves_out_and_says_so(hw, trace):
    assert all(s["calls"] >= 30 for s in document(hw, trace, "--min-calls", "30")["top"])
    assert "with fewer calls (--min-calls)" in report(hw, trace, "--min-calls", "30")


def test_top_cuts_and_sums_up(hw, trace):
    assert len(document(hw, trace, "--top", "1")["top"]) == 1
    assert "(--top 0)" in report(hw, trace, "--top", "1")
    assert "(--top 0)" not in report(hw, trace, "--top", "0")


def test_the_newest_recording_here_is_taken(hw, trace, tmp_path):
    for age, name in enumerate(["newest.hwt", "middle.hwt", "oldest.hwt"]):
        subprocess.run(["cp", "--sparse=always", trace, tmp_path / name], check=True)  # a raw trace is a sparse file
        os.utime(tmp_path / name, (time.time() - 60 * age,) * 2)
    done = hw("report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("newest.hwt ")
    assert hw("report", tmp_path).stdout == done.stdout


def test_colour_on_a_terminal_only(build, trace):
    def on_terminal(**more):
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        main, other = pty.openpty()
        process = subprocess.Popen([str(build / "bin/heapwright"), "report", str(trace)], stdout=other,
                                   env={**environment, "TERM": "xterm", "COLUMNS": "100",
                                        "LC_ALL": "C.UTF-8", **more})
        os.close(other)
        seen = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
        os.close(main)
        assert process.wait() == 0
        return seen

    assert b"\033[1m" in on_terminal() and f"Next: heapwright report --tree {trace}".encode() in on_terminal()
    assert re.search(rb"\033\[94m[^\033]*\xe2\x96[^\033]*\033\[0m", on_terminal())  # the chart's bars
    assert b"\033" not in on_terminal(NO_COLOR="1")
    assert b"\033" not in on_terminal(TERM="dumb")


# --- files that are not recordings ---


def trouble(hw, *words, **more):
    done = hw("report", *words, **more)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("heapwright: ") and done.stderr.count("\n") == 1
    return done.stderr


def test_no_recording_here(hw, tmp_path):
    assert "record" in trouble(hw, cwd=tmp_path)


def test_no_such_file(hw, tmp_path):
    said = trouble(hw, tmp_path / "absent.hwt")
    assert "absent.hwt" in said and "No such file" in said


def test_not_a_recording(hw, tmp_path):
    for name, contents in [("short.hwt", b"x"), ("text.hwt", b"hello\n" * 1000), ("binary.hwt", bytes(range(256)) * 64)]:
        (tmp_path / name).write_bytes(contents)
        said = trouble(hw, name, cwd=tmp_path)
        assert said == f"heapwright: {name} is not a heapwright trace; make one with: heapwright record COMMAND\n"
    (tmp_path / "empty.hwt").touch()
    said = trouble(hw, "empty.hwt", cwd=tmp_path)
    assert said == "heapwright: empty.hwt is empty, so it is not a heapwright trace; record the program again\n"


def test_no_regular_file(hw, tmp_path):
    os.mkfifo(tmp_path / "pipe.hwt")
    said = trouble(hw, "pipe.hwt", cwd=tmp_path, timeout=60)  # a pipe without a writer must not make the report wait
    assert said == "heapwright: pipe.hwt is not a regular file, so it is not a heapwright trace\n"
    (tmp_path / "folder").mkdir()
    assert "no heapwright trace of yours in folder" in trouble(hw, "folder", cwd=tmp_path)


def test_cut_inside_its_header(hw, trace, tmp_path):
    (tmp_path / "cut.hwt").write_bytes(trace.open("rb").read(40))
    said = trouble(hw, "cut.hwt", cwd=tmp_path)
    assert said == "heapwright: cut.hwt ends after 40 bytes, inside its header; record the program again\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_no_permission(hw, trace, tmp_path):
    (tmp_path / "secret.hwt").write_bytes(trace.open("rb").read(4096))
    os.chmod(tmp_path / "secret.hwt", 0)
    said = trouble(hw, "secret.hwt", cwd=tmp_path)
    assert said == "heapwright: cannot open the trace secret.hwt: Permission denied\n"


def test_a_damaged_child_is_told(hw, record):
    """It is in no figure, and a report that called the recording complete would hide that."""
    run = record(["sh", "-c", "ls >/dev/null; env >/dev/null; true"])
    child = next(trace for trace in run.traces if trace.name.startswith("ls."))
    assert run.report["unreadable_images"] == 0 and "Not counted" not in hw("report", run.trace).stdout
    child.write_bytes(bytes(4096))
    for options in ([], ["--children"]):
        report = run.report_with(*options)
        assert report["unreadable_images"] == 1
        assert "ls" not in [process["command"] for process in report["processes"]]
        text = " ".join(hw("report", *options, run.trace).stdout.split())
        assert "Not counted: 1 trace next to the others is damaged, or of another run." in text
        assert "1 trace of a child unreadable" in text


def test_made_by_a_newer_version(hw, trace, tmp_path):
    with open(trace, "rb") as file:
        start = bytearray(file.read(2 << 20))
    start[8:10] = (999).to_bytes(2, "little")
    (tmp_path / "newer.hwt").write_bytes(start)
    said = trouble(hw, tmp_path / "newer.hwt")
    assert "999" in said or "newer" in said


def test_a_recording_cut_anywhere_is_reported_or_refused(hw, trace, tmp_path):
    with open(trace, "rb") as file:
        whole = file.read(4 << 20)
    cut = tmp_path / "cut.hwt"
    for length in [1, 8, 500, 4095, 4096, 5000, 1 << 20, (1 << 20) + 4096, (1 << 20) + 4200, (1 << 20) + 20000]:
        cut.write_bytes(whole[:length])
        done = hw("report", cut)
        assert done.returncode in (0, 2), done.stderr
        assert done.returncode == 0 or done.stderr.startswith("heapwright: ")


# --- debug files elsewhere ---


@pytest.fixture
def split(program, record, tmp_path):
    """A stripped recording of the program, and a folder that holds its debug file like /usr/lib/debug."""
    bare, folder = tmp_path / "bare", tmp_path / "debug"
    subprocess.run(["objcopy", "--strip-all", program, bare], check=True)
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    build_id = re.search("Build ID: ([0-9a-f]+)", notes)[1]
    file = folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
    file.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, file], check=True)
    recording = record([bare])
    assert recording.process.returncode == 0
    return recording.trace, folder


def names_line(found):
    return any((f["file"] or "").endswith("tracks.cc") and f["line"] == line_of("// GROW") for s in found["top"] for f in s["stack"])


def test_debug_files_are_found_in_folders_that_are_named(hw, split, tmp_path):
    trace, folder = split
    (tmp_path / "empty").mkdir()
    assert not names_line(document(hw, trace))
    assert names_line(document(hw, trace, "--debug-dir", folder))
    assert names_line(document(hw, trace, "--debug-dir", tmp_path / "empty", "--debug-dir", folder))
    assert names_line(document(hw, trace, "--debug-dir", folder, "--debug-dir", tmp_path / "empty"))
    assert not names_line(document(hw, trace, "--debug-dir", tmp_path / "empty"))


@pytest.mark.parametrize("name", ["bare", "bare.debug"])
@pytest.mark.parametrize("rebuilt", [False, True], ids=["stripped", "rebuilt"])
def test_debug_files_are_found_by_name(hw, split, program, tmp_path, name, rebuilt):
    """The program before it was stripped, or its debug file, in a folder that is not laid out by build IDs."""
    trace, _ = split
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    subprocess.run(["objcopy", *(["--only-keep-debug"] if name == "bare.debug" else []), program, folder / name], check=True)
    if rebuilt:
        shutil.copy("/bin/true", tmp_path / "bare")
    assert not names_line(document(hw, trace))
    assert names_line(document(hw, trace, "--debug-dir", folder))
    shutil.copy("/bin/true", folder / name)  # with another build ID
    assert not names_line(document(hw, trace, "--debug-dir", folder))


@pytest.mark.parametrize("place", ["path", "debug"])
def test_files_are_found_below_the_root_of_another_system(hw, split, program, tmp_path, place):
    """The program's file is gone. Below the root, it is at its path, or its debug file in /usr/lib/debug."""
    trace, folder = split
    bare, root = tmp_path / "bare", tmp_path / "root"
    there = root / "usr/lib/debug" if place == "debug" else root / str(bare)[1:]
    there.parent.mkdir(parents=True)
    if place == "debug":
        folder.rename(there)
    else:
        shutil.copy(program, there)
    bare.unlink()
    assert not names_line(document(hw, trace))
    assert names_line(document(hw, trace, "--debug-dir", root))
    assert names_line(document(hw, trace, "--sysroot", root))
    if place == "path":
        shutil.copy("/bin/true", there)  # with another build ID
        assert not names_line(document(hw, trace, "--debug-dir", root))


def test_stripped_copy_below_the_root_hides_no_debug_file(hw, split, tmp_path):
    """The program names its debug file, which is next to it. The copy below the root has no names."""
    trace, folder = split
    bare, root = tmp_path / "bare", tmp_path / "root"
    next(folder.glob(".build-id/*/*.debug")).rename(tmp_path / "linked.debug")
    subprocess.run(["objcopy", f"--add-gnu-debuglink={tmp_path / 'linked.debug'}", bare], check=True)
    there = root / str(bare)[1:]
    there.parent.mkdir(parents=True)
    shutil.copy(bare, there)
    assert names_line(document(hw, trace, "--debug-dir", root))


def test_file_without_a_build_id_below_the_root_is_not_used(hw, record, compile_c, tmp_path):
    """It may be of another build. The report says so, and what helps; check knows that a filter may miss it."""
    source = "#include <stdlib.h>\n__attribute__((noinline)) void *part(void) { return malloc(7); }\n"
    source += "int main(void) { void *volatile block = part(); free(block); return 0; }\n"
    program = compile_c(source, "-Wl,--build-id=none")
    trace = record([program]).trace
    root = tmp_path / "root"
    (root / str(program)[1:]).parent.mkdir(parents=True)
    program.rename(root / str(program)[1:])
    reasons = {frame["reason"] for stack in document(hw, trace, "--debug-dir", root)["top"] for frame in stack["stack"]
               if frame["module"] == str(program)}
    assert reasons == {"no build-id"}
    text = " ".join(hw("report", "--debug-dir", root, trace).stdout.split())
    assert "no build-id" in text and "report --keep-names where the program ran, or link it with -Wl,--build-id" in text
    assert "no build-id" not in hw("report", trace).stdout
    checked = hw("check", trace, "--debug-dir", root, "--max", "calls(func=part)=0")
    assert "names are missing" in checked.stdout and checked.returncode == 2
    compared = " ".join(hw("diff", "--debug-dir", root, trace, trace).stdout.split())
    assert "report --keep-names" in compared and "--keep-files" not in compared


def test_both_hints_about_names(hw, record, compile_c, tmp_path):
    """Some frames are of a file that cannot be verified, and most are of a stripped one: only the first was said."""
    source = "#include <stdlib.h>\n#define PART __attribute__((noipa)) static void *\n"
    source += "PART part9(void) { void *volatile block = malloc(7); return block; }\n"
    source += "".join(f"PART part{i}(void) {{ void *volatile block = part{i + 1}(); return block; }}\n" for i in range(8, 0, -1))
    source += "void *part0(void) { void *volatile block = part1(); return block; }\n"
    library = compile_c(source, "-shared", "-fPIC", "-Wl,--build-id", "-Wl,-s", name="libparts.so")
    program = compile_c("void *part0(void);\nint main(void) { return !part0(); }\n", "-Wl,--build-id=none", str(library), f"-Wl,-rpath,{tmp_path}")
    trace = record([program]).trace
    root = tmp_path / "root"
    for file in (library, program):
        (root / str(file)[1:]).parent.mkdir(parents=True, exist_ok=True)
        file.rename(root / str(file)[1:])
    text = " ".join(hw("report", "--debug-dir", root, trace).stdout.split())
    assert "report --keep-names where the program ran" in text and "most of these frames are stripped; names: debug packages" in text


def test_debug_dir_that_is_not_there(hw, trace, tmp_path):
    for option in "--debug-dir", "--sysroot":
        assert "absent" in trouble(hw, option, tmp_path / "absent", trace)


def has(stack, key, value):
    return any(frame[key] and os.path.basename(frame[key]).split("(")[0] == value for frame in stack["stack"])


@pytest.mark.parametrize(
    "rule, key, value",
    [
        ("func=churn", "function", "churn"),
        ("file=tracks.cc", "file", "tracks.cc"),
        ("module=libc.so.6", "module", "libc.so.6"),
    ],
)
def test_filters_keep_what_a_look_at_every_stack_keeps(hw, trace, rule, key, value):
    whole = document(hw, trace)
    for option, kept in (("--only", True), ("--ignore", False)):
        narrowed = document(hw, trace, option, rule)
        wanted = [stack for stack in whole["top"] if has(stack, key, value) == kept]
        assert wanted
        assert narrowed["selected"]["calls"] == sum(stack["calls"] for stack in wanted)
        assert narrowed["selected"]["peak_bytes"] == sum(stack["peak_bytes"] for stack in wanted)
        assert sorted(map(repr, narrowed["top"])) == sorted(map(repr, wanted))
        assert sum(row["calls"] for row in narrowed["sizes"]) == narrowed["selected"]["calls"]
        assert sum(row["allocation_calls"] for row in narrowed["by_thread"]) == narrowed["selected"]["calls"]
        assert narrowed["allocation_calls"] == whole["allocation_calls"]


def test_a_filter_that_leaves_nothing_says_so(hw, trace):
    for view in ("stack", "function", "file", "thread", "size"):
        text = report(hw, trace, "--only", "func=chrun", "--by", view)
        assert "nothing is left of the run" in text
        assert "did you mean func=churn?" in text
    assert document(hw, trace, "--only", "func=chrun")["filters"] == [
        {"kind": "func", "pattern": "chrun", "ignore": False, "matched": False, "nearest": "churn"}
    ]


def test_a_wrong_filter_is_refused_before_anything_is_read(hw):
    done = hw("report", "--only", "fnuc=main", "no-such-file.hwt")
    assert done.returncode == 2
    assert "did you mean 'func=...'" in done.stderr


def test_names_are_kept_for_where_the_program_is_not(hw, record, compile_c, tmp_path):
    """`report --keep-names` stores the names of all stacks, also those that it did not show; report and check use them when the
    program is gone, and not before: without them, the names are gone, too."""
    source = "#include <stdlib.h>\n" + "".join(
        f"__attribute__((noinline)) void *part_{i}(void) {{ return malloc({i + 1}); }}\n" for i in range(20))
    source += "int main(void) { " + "".join(f"void *volatile p{i} = part_{i}(); free(p{i}); " for i in range(20)) + "return 0; }\n"
    program = compile_c(source)
    trace = record([program]).trace
    names = trace.with_name(trace.name + ".names")
    named = hw("report", "--json", trace).stdout
    assert not names.exists()
    hw("report", "--keep-names", "--top", "1", trace)
    program.unlink()
    assert hw("report", "--json", trace).stdout == named
    assert "FAILED" in hw("check", trace, "--max", "calls(func=part_7)=0").stdout
    names.unlink()
    assert "part_7" not in hw("report", "--json", trace).stdout


def test_names_that_cannot_be_kept(hw, record, compile_c):
    """Another file of that name is not overwritten, and the report says so."""
    trace = record([compile_c("#include <stdlib.h>\nint main(void) { void *volatile block = malloc(1); free(block); return 0; }\n")]).trace
    names = trace.with_name(trace.name + ".names")
    names.write_text("not heapwright's")
    done = hw("report", "--keep-names", trace)
    assert done.returncode == 2 and f"the names cannot be stored in {names}" in done.stderr
    assert names.read_text() == "not heapwright's"
