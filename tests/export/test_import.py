"""test_import.py - recordings of heaptrack and heaphook become traces with the same figures"""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

needs_heaptrack = pytest.mark.skipif(not shutil.which("heaptrack"), reason="heaptrack is not installed")

NEW_LOG = """alloc, 800, 1, 0x00000000196afeb0, 1788
alloc_zeroed, 100, 0x0000000019000010, 200
alloc, 512, 256, 0x0000000019000100, 12
get_block_size, 0x0000000019000100, 520, 4
realloc, 0x0000000019000010, 4000, 0x0000000019001000, 300
dealloc, 0x0000000019001000, 7
dealloc, 0x0000000019ffff00, 7
"""
OLD_LOG = """malloc 0 800 0x196afeb0
calloc 0 100 0x19000010
posix_memalign 0 512 0x19000100
malloc_usable_size 0x19000100 520 0
realloc 0x19000010 4000 0x19001000
free 0x19001000 0 0
free 0 0 0
"""


@pytest.fixture
def imported(hw, report, tmp_path):
    """imported(path): the report on the result of `import`, and its messages."""

    def run(path):
        trace = tmp_path / "imported.hwt"
        done = hw("import", path, "-o", trace)
        assert done.returncode == 0, done.stderr
        assert not [name for name in os.listdir(tmp_path) if name.startswith("imported.hwt.") and name != "imported.hwt.files"]
        return report(trace), done.stderr

    return run


def write(path, text):
    path.write_text(text)
    return path


def note(shown):
    return [(entry["kind"], entry["text"]) for image in shown["images"] for entry in image["notes"]]


def test_heaphook(imported, tmp_path):
    shown, said = imported(write(tmp_path / "heaplog_1.log", NEW_LOG))
    assert (shown["allocation_calls"], shown["free_calls"], shown["unmatched_frees"]) == (4, 3, 1)
    assert (shown["allocated_bytes"], shown["peak_bytes"]) == (800 + 100 + 512 + 4000, 800 + 512 + 4000)
    assert (shown["live_bytes_at_end"], shown["live_blocks_at_end"]) == (1312, 2)
    assert shown["duration_ns"] == 1788 + 200 + 12 + 4 + 300 + 7 + 7  # time spent in the calls: no other time is known
    assert note(shown) == [("imported", "stacks, threads, and times other than those spent in calls")]
    assert "info: heaphook does not keep stacks" in said


@pytest.mark.parametrize("options", [[], ["--leaks"], ["--tree"], *(["--by", by] for by in ("function", "file", "line", "module"))], ids=" ".join)
def test_sizes_stand_in_for_stacks_that_are_not_known(imported, hw, tmp_path, options):
    imported(write(tmp_path / "heaplog_1.log", NEW_LOG))
    text = hw("report", *options, tmp_path / "imported.hwt").stdout
    assert text.count("The recording has no stacks") == 1 and "left out" not in text
    rows = [line.split() for line in text.split("block size")[1].splitlines()]
    assert {" ".join(row[-3:-1]) for row in rows if row[:1] and row[0].isdigit()} == ({"800 B", "512 B", "4,000 B"} if options != ["--leaks"] else {"800 B", "512 B"})


def test_how_long_heaphooks_calls_took(imported, hw, tmp_path):
    """By entry point. heapwright's own export writes 0 if it is unknown."""
    log = NEW_LOG + "alloc, 5, 1, 0x50, 1000\nalloc, 5, 1, 0x60, 0\n"
    shown, _ = imported(write(tmp_path / "heaplog_1.log", log))
    trace = tmp_path / "imported.hwt"
    timed = json.loads(hw("report", "--json", "--durations", trace).stdout)
    found = {entry["entry"]: (entry["calls"], entry["mean_ns"], entry["max_ns"]) for entry in timed["durations"]}
    assert found == {"malloc": (2, 1394, 1788), "calloc": (1, 200, 200), "aligned_alloc": (1, 12, 12), "realloc": (1, 300, 300),
                     "free": (2, 7, 7)}
    assert timed["durations_of_all"]["untimed_calls"] == 1
    assert hw("export", trace, "-o", tmp_path / "back.heaplog").returncode == 0
    back = (tmp_path / "back.heaplog").read_text().splitlines()
    assert [re.sub("0x0*", "0x", line) for line in back] == [re.sub("0x0*", "0x", line) for line in log.splitlines() if "get_block" not in line]
    text = hw("report", "--durations", trace).stdout
    assert "Times are those of the recording" in text and "0x0" not in text
    assert "aligned_alloc" in hw("report", "--by", "entry", trace).stdout


def test_heaphook_as_it_was(imported, tmp_path):
    shown, _ = imported(write(tmp_path / "heaplog.1.log", OLD_LOG))
    assert (shown["allocation_calls"], shown["free_calls"]) == (4, 2)
    assert (shown["peak_bytes"], shown["live_bytes_at_end"], shown["duration_ns"]) == (5312, 1312, 0)
    assert note(shown) == [("imported", "stacks, threads and times")]


def test_there_and_back(export, imported, report, tracks):
    shown = report(tracks)
    found, _ = imported(export(tracks, "x.heaplog"))
    same = ["allocation_calls", "free_calls", "allocated_bytes", "peak_bytes", "peak_blocks", "live_bytes_at_end", "live_blocks_at_end"]
    assert [found[name] for name in same] == [shown[name] for name in same]
    sizes = [[(size["size"], size["calls"], size["live_blocks"]) for size in figures["sizes"]] for figures in (shown, found)]
    assert sizes[0] == sizes[1]


def test_many_events(imported, tmp_path):
    """More than fits into one chunk or section."""
    with gzip.open(tmp_path / "x.log.gz", "wt") as file:
        for i in range(300000):
            file.write(f"alloc, {i % 1000}, 1, 0x{0x10000000 + i * 4096 + i % 3:016x}, 20\n")
            if i % 3 == 0:
                file.write(f"dealloc, 0x{0x10000000 + i * 4096 + i % 3:016x}, 100000\n")
    shown, _ = imported(tmp_path / "x.log.gz")
    assert (shown["allocation_calls"], shown["free_calls"], shown["unmatched_frees"]) == (300000, 100000, 0)
    assert shown["live_bytes_at_end"] == sum(i % 1000 for i in range(300000) if i % 3)
    assert shown["duration_ns"] == 300000 * 20 + 100000 * 100000
    assert shown["damaged_chunks"] == shown["missing_chunks"] == 0


def test_lines_that_make_no_sense_are_counted(imported, tmp_path):
    bad = ["alloc, x, 1, 0x10, 5", "alloc, 1", "dealloc, 0x10", "a" * 40000, "alloc, -5, 1, 0x10, 5", ", , ,", "realloc, 1, 2, 3, 4, 5, 6, 7"]
    shown, said = imported(write(tmp_path / "x.log", NEW_LOG + "\n".join(bad) + "\nalloc, 1, 1, 0x50, 1"))
    assert shown["allocation_calls"] == 5
    assert f"invalid lines were left out: {len(bad)} lines, the first one is line 8" in said


def test_a_time_that_no_call_takes_makes_no_sense(imported, tmp_path):
    """After one such line, the later lines used to be lost."""
    log = f"alloc, 5, 1, 0x10, 1\nalloc, 6, 1, 0x20, {6 * 10**18}\nalloc, 7, 1, 0x30, {2**64 - 1}\nalloc, 8, 1, 0x40, 2\n"
    shown, said = imported(write(tmp_path / "x.log", log))
    assert [shown[name] for name in ["allocated_bytes", "duration_ns", "damaged_chunks"]] == [13, 3, 0]
    assert "left out: 2 lines, the first one is line 2" in said


@pytest.mark.parametrize("lines", [
    "alloc, 5, 1, 0x10, 0\ndealloc, 0x0, 0\nalloc, 9, 1, 0x0, 0\nrealloc, 0x0, 7, 0x30, 0\ndealloc, 0x10, 0\n",
    "malloc 0x0 5 0x10\nfree 0x0 0 0x0\nmalloc 0x0 9 0x0\nrealloc 0x0 7 0x30\nfree 0x10 0 0x0\n",
    "v 10400 3\n+ 5 0 10\n- 0\n+ 9 0 0\n+ 7 0 30\n- 10\n",
], ids=["heaphook", "heaphook-old", "heaptrack"])
def test_null_is_no_block(imported, tmp_path, lines):
    """A free of NULL, or a realloc of it, used to be taken for damage, and the lines after it were lost."""
    shown, said = imported(write(tmp_path / "x", lines))
    names = ["allocation_calls", "free_calls", "allocated_bytes", "live_bytes_at_end", "unmatched_frees", "damaged_chunks"]
    assert [shown[name] for name in names] == [2, 1, 12, 7, 0, 0]
    assert "left out" not in said


@needs_heaptrack
def test_heaptrack(imported, tracks, tmp_path):
    subprocess.run(["heaptrack", "--raw", "-o", tmp_path / "raw", tracks.parent / "program"], capture_output=True, timeout=60)
    raw = next(path for path in tmp_path.iterdir() if path.name.startswith("raw"))
    shown, said = imported(raw)
    interpreted = subprocess.run(["zstd -dc %s | /usr/lib/heaptrack/libexec/heaptrack_interpret" % raw], shell=True, capture_output=True)
    if interpreted.returncode != 0:
        pytest.skip("heaptrack_interpret is not where Debian has it")
    (tmp_path / "interpreted").write_bytes(interpreted.stdout)
    for kind, name in [("allocations", "allocation_calls"), ("leaked", "live_bytes_at_end"), ("peak", "peak_bytes")]:
        subprocess.run(["heaptrack_print", tmp_path / "interpreted", "-F", tmp_path / "stacks", "--flamegraph-cost-type", kind], capture_output=True, check=True)
        total = sum(int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "stacks").read_text().splitlines())
        assert total == shown[name], kind
    top = max(shown["top"], key=lambda stack: stack["calls"])
    assert [frame["function"] for frame in top["stack"]][:3] == ["inlined", "churn", "work"] and top["calls"] == 1000
    assert top["stack"][0]["line"] == 8 and top["stack"][0]["module"].endswith("program")
    assert shown["command"].endswith("program") and note(shown)[0][0] == "imported" and "info: heaptrack does not keep threads" in said


def test_heaptrack_by_hand(imported, tmp_path):
    text = "v 10400 3\nx 8 /no/such\nX /no/such a b\nI 1000 100\nm 1 -\nm 1 x 400000 0 1000\nt 400100 0\nt 400200 1\n"
    text += "+ 10 1 1000\n+ 20 2 2000\nc a\nR 5\n- 1000\nt 7000 0\n+ 8 3 3000\n"
    text += "t 1 9\n+ 1 77 5\nm 99 x 1 2 3\nm 1 y zz\nq\n- -5\n"  # a parent and a node that do not exist, and worse
    shown, said = imported(write(tmp_path / "x", text))
    assert (shown["allocation_calls"], shown["live_bytes_at_end"], shown["peak_bytes"], shown["duration_ns"]) == (3, 40, 48, 10000000)
    stacks = {stack["bytes"]: [frame["address"] for frame in stack["stack"]] for stack in shown["top"]}
    assert stacks == {16: [0x400101], 32: [0x400201, 0x400101], 8: [0x7001]}
    assert shown["command"] == "/no/such a b" and "left out: 6 lines" in said and "line 16" in said


SAME = ["allocation_calls", "allocated_bytes", "peak_bytes", "peak_blocks", "live_bytes_at_end", "live_blocks_at_end"]


def named(shown):
    """Figures by stack, as far as both sides have them."""
    stacks = {}
    for stack in shown["top"]:
        key = tuple((frame["function"], frame["file"], frame["line"], frame["module"]) for frame in stack["stack"])
        figures = stacks.setdefault(key, [0, 0, 0, 0])
        for i, name in enumerate(["calls", "bytes", "peak_bytes", "live_bytes"]):
            figures[i] += stack[name]
    return stacks


def test_interpreted_there_and_back(export, imported, report, tracks):
    """A recording of heapwright in heaptrack's format: the same figures, and for every stack with names the same
    names, files and lines."""
    shown = report(tracks)
    found, said = imported(export(tracks, "x.heaptrack.zst"))
    assert [found[name] for name in SAME] == [shown[name] for name in SAME]
    assert "which block a free is of (the latest of its stack and size is taken)" in said
    stacks, known = named(found), {key: value for key, value in named(shown).items() if all(frame[0] for frame in key)}
    assert len(known) >= 3 and all(stacks[key] == value for key, value in known.items())
    assert found["images"][0]["executable"] == str(tracks.parent / "program")


@needs_heaptrack
def test_interpreted_by_heaptrack_itself(hw, imported, tracks, tmp_path):
    """The totals are those that heaptrack_print has for the file."""
    subprocess.run(["heaptrack", "-o", tmp_path / "ht", tracks.parent / "program"], capture_output=True, timeout=60)
    path = next(path for path in tmp_path.iterdir() if path.name.startswith("ht."))
    shown, _ = imported(path)
    for kind, name in [("allocations", "allocation_calls"), ("leaked", "live_bytes_at_end"), ("peak", "peak_bytes")]:
        subprocess.run(["heaptrack_print", path, "-F", tmp_path / "stacks", "--flamegraph-cost-type", kind], capture_output=True, check=True)
        total = sum(int(line.rsplit(" ", 1)[1]) for line in (tmp_path / "stacks").read_text().splitlines())
        assert total == shown[name], kind
    top = max(shown["top"], key=lambda stack: stack["calls"])
    assert [(frame["function"].split("::")[-1], frame["line"]) for frame in top["stack"]][:2] == [("inlined", 8), ("churn", 14)]
    done = hw("diff", tmp_path / "imported.hwt", tracks, "--by", "function", "--cost", "calls", "--json", "--only", "func=churn")
    found = json.loads(done.stdout)  # names are matched with those of a recording of heapwright
    is_nested = "::" in top["stack"][0]["function"]  # heaptrack 1.5 puts the enclosing function before an inlined one; diff shows it
    assert (found["changed"] == 0 or is_nested) and found["selected"]["old"]["calls"] == found["selected"]["new"]["calls"] == 1000


INTERPRETED = """v 10400 3
X /no/such a b
I 1000 100
s 7 /no/such
s 4 main
s 3 a.c
s 4 load
i 400100 1 4 3 5 2 3 9
i 500 0
i 400200 1
t 1 0
t 2 1
t 3 1
a 10 1
a 20 2
a 30 3
+ 0
+ 0
+ 1
+ 2
c a
R 5
- 0
- 1
"""


def test_interpreted_by_hand(imported, tmp_path):
    shown, said = imported(write(tmp_path / "x", INTERPRETED))
    assert [shown[name] for name in SAME] == [4, 0x70, 0x70, 4, 0x40, 2] and "left out" not in said
    assert shown["command"] == "/no/such a b" and shown["duration_ns"] == 10000000
    by_calls = {stack["calls"]: stack for stack in shown["top"]}
    assert [(frame["function"], frame["line"]) for frame in by_calls[2]["stack"]] == [("load", 5), ("main", 9)]


def test_interpreted_in_the_older_formats(imported, tmp_path):
    """Strings without a length."""
    text = INTERPRETED.replace("v 10400 3", "v 10000 1")
    for string in ["/no/such", "main", "a.c", "load"]:
        text = re.sub(rf"^s . {string}$", f"s {string}", text, flags=re.M)
    shown, said = imported(write(tmp_path / "x", text))
    assert [shown[name] for name in SAME] == [4, 0x70, 0x70, 4, 0x40, 2] and "left out" not in said
    assert "load" in [frame["function"] for stack in shown["top"] for frame in stack["stack"]]


def test_interpreted_lines_that_make_no_sense(imported, tmp_path):
    bad = ["+ 99", "- 99", "- 1", "t 99 0", "t 1 99", "t 0 0", "a 1 99", "i x", "i 1 99", "s", "+", "a 5"]
    shown, said = imported(write(tmp_path / "x", INTERPRETED + "\n".join(bad) + "\n" + "s 9999 " + "x" * 200000 + "\n+ 0\n"))
    assert shown["allocation_calls"] == 5 and f"left out: {len(bad)} lines, the first one is line 25" in said


def test_what_is_cut_short_leaves_nothing(hw, tmp_path):
    """Neither a trace nor names."""
    packed = gzip.compress(INTERPRETED.encode() + bytes(INTERPRETED.encode()[-20:]) * 20000)
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    done = hw("import", tmp_path / "cut.gz", "-o", tmp_path / "y.hwt")
    assert done.returncode == 2 and sorted(os.listdir(tmp_path)) == ["cut.gz"]
    assert done.stderr == f"heapwright: {tmp_path}/cut.gz is damaged or cut short: it cannot be decompressed to its end\n"


def test_a_cut_zstd_file_is_told_like_a_cut_gzip_file(hw, export, tracks, tmp_path):
    cut = tmp_path / "cut.zst"
    frame = export(tracks, "x.heaptrack.zst").read_bytes()
    cut.write_bytes(frame + frame[:-10])  # a block that is cut gives nothing, and a frame has only one
    done = hw("import", cut, "-o", tmp_path / "y.hwt")
    assert done.returncode == 2 and "cut.zst is damaged or cut short" in done.stderr and not (tmp_path / "y.hwt").exists()


def test_a_pipe_is_not_waited_for(hw, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = hw("import", tmp_path / "pipe", "-o", tmp_path / "y.hwt", timeout=60)
    assert done.returncode == 2 and "pipe is not a regular file" in done.stderr


@pytest.mark.parametrize("command", [("report",), ("check", "--max", "peak=1"), ("export", "--format", "csv", "-o", "-")], ids=lambda words: words[0])
def test_commands_name_the_way_to_read_another_tools_recording(hw, tmp_path, command):
    log = write(tmp_path / "x.log", NEW_LOG)
    done = hw(*command, log)
    assert done.returncode == 2
    assert done.stderr == f"heapwright: {log} is a recording of heaphook; make a trace of it with: heapwright import {log} -o FILE\n"


def test_what_cannot_be_imported(hw, export, tracks, tmp_path):
    trace = tmp_path / "y.hwt"
    done = hw("import", write(tmp_path / "x.txt", "hello\n"), "-o", trace)
    assert done.returncode == 2 and "x.txt is neither a heapwright trace nor a recording of heaptrack or heaphook" in done.stderr
    done = hw("import", write(tmp_path / "empty", ""), "-o", trace)
    assert done.returncode == 2
    log = write(tmp_path / "x.log", NEW_LOG)
    done = hw("import", log, "-o", log)
    assert done.returncode == 2 and log.read_text() == NEW_LOG
    packed = gzip.compress(NEW_LOG.encode() * 5000)
    (tmp_path / "cut.gz").write_bytes(packed[: len(packed) // 2])
    done = hw("import", tmp_path / "cut.gz", "-o", trace)
    assert done.returncode == 2 and "cut.gz" in done.stderr
    assert not trace.exists() and not [name for name in os.listdir(tmp_path) if name.startswith("y.hwt")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_part_of_a_trace(build, hw, tmp_path, number):
    """The part that was written, and the earlier trace as NAME.earlier, used to be left."""
    folder = tmp_path / "folder"
    folder.mkdir()
    trace = folder / "imported.hwt"
    assert hw("import", write(tmp_path / "heaplog.1.log", OLD_LOG), "-o", trace).returncode == 0
    before = trace.read_bytes()
    log = tmp_path / "heaplog.2.log"
    log.write_text(OLD_LOG * 100000)  # more than is imported before the signal comes
    with subprocess.Popen([build / "bin/heapwright", "import", log, "-o", trace], stderr=subprocess.DEVNULL) as tool:
        while len(os.listdir(folder)) < 2:
            assert tool.poll() is None
            time.sleep(0.0005)
        tool.send_signal(number)
        assert tool.wait(60) == -number
    assert os.listdir(folder) == [trace.name] and trace.read_bytes() == before


def test_libraries_that_come_and_go(imported, tmp_path):
    """An address belongs to the library that was last loaded there; addresses between two libraries belong to none."""
    lines = ["v 10500 3", "x 6 /bin/x", "I 1000 8"]
    lines += [f"m {len(f'/lib/{i}.so'):x} /lib/{i}.so {(i + 1) << 20:x} 0 1000" for i in (3, 1, 4, 0, 2)]
    lines += [f"t {((i + 1) << 20) + 16:x} 0" for i in range(5)] + ["t 101000 0"]
    lines += [f"+ 10 {i + 1:x} {0x7000 + 32 * i:x}" for i in range(6)]
    lines += ["m 1 -", f"m 9 /lib/9.so {3 << 20:x} 0 1000", f"t {(3 << 20) + 16:x} 0", f"t {(2 << 20) + 16:x} 0", "+ 10 7 8000", "+ 10 8 8020"]
    shown, _ = imported(write(tmp_path / "heaptrack.raw", "\n".join(lines) + "\n"))
    modules = sorted(top["stack"][0]["module"] or "" for top in shown["top"])
    assert modules == ["", ""] + [f"/lib/{i}.so" for i in (0, 1, 2, 3, 4, 9)]
