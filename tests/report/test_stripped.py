"""test_stripped.py - functions of a stripped program are distinguished by its unwind tables

Without them all functions are one row, "?? program (stripped)", and a tree of the program is one line.
"""
import json
import shutil
import subprocess

import pytest

PROGRAM = """
#include <stdlib.h>
#define CALLED __attribute__((noipa))
static void *volatile keep[64];
static int kept;
CALLED void *grab(int size) { void *block = malloc(size); keep[kept++] = block; return block; }
CALLED void left(void) { grab(1000); grab(3000); }
CALLED void right(void) { grab(500); keep[kept++] = malloc(7); }
int main(void)
{
  left();
  right();
  return 0;
}
"""


def starts_of(program):
    listing = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    return {name: int(address, 16) for address, _kind, name in (line.split() for line in listing.splitlines() if line[0] != " ")}


@pytest.fixture(scope="module", params=["-pie", "-no-pie"])
def stripped(request, build, tmp_path_factory):
    """Returns (trace, the offset in the file at which each function begins)."""
    folder = tmp_path_factory.mktemp("stripped")
    (folder / "bare.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE=", "-O1", request.param, "-fpie" if request.param == "-pie" else "-fno-pie",
                    folder / "bare.c", "-o", folder / "bare"], check=True)
    starts = starts_of(folder / "bare")
    subprocess.run([shutil.which("strip"), folder / "bare"], check=True)
    trace = folder / "bare.hwt"
    subprocess.run([build / "bin" / "heapwright", "record", "-q", "-o", trace, "--", folder / "bare"], check=True)
    return trace, starts


def document(hw, trace, *options):
    done = hw("report", "--json", *options, trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_by_function(hw, stripped):
    trace, starts = stripped
    rows = {row.get("function_start"): row for row in document(hw, trace, "--by", "function")["by_function"]}
    assert {name: (rows[starts[name]]["self"]["peak_bytes"], rows[starts[name]]["total"]["peak_bytes"])
            for name in ("grab", "left", "right", "main")} == {
                "grab": (4500, 4500), "left": (0, 4000), "right": (7, 507), "main": (0, 4507)}
    assert all(rows[starts[name]]["function"] is None for name in ("grab", "left"))
    text = hw("report", "--by", "function", trace).stdout
    assert f"?? bare+0x{starts['grab']:x}  " in text and "(stripped)" in text


@pytest.mark.parametrize("place", ["root", "kept"])
def test_by_function_where_the_program_is_not_at_its_path(hw, stripped, build, tmp_path, place):
    """A report on another machine, by the root of this one or by kept files, has the same rows as one here."""
    trace, _starts = stripped
    bare = tmp_path / "bare"
    shutil.copy(trace.with_name("bare"), bare)
    moved = tmp_path / "moved.hwt"
    keep = ["--keep-files"] if place == "kept" else []
    subprocess.run([build / "bin" / "heapwright", "record", "-q", *keep, "-o", moved, "--", bare], check=True)
    here = document(hw, moved, "--by", "function")["by_function"]
    root = tmp_path / "root"
    (root / str(tmp_path)[1:]).mkdir(parents=True)
    bare.rename(root / str(bare)[1:])
    assert document(hw, moved, "--by", "function", *(["--debug-dir", root] if place == "root" else []))["by_function"] == here


def test_tree(hw, stripped):
    trace, starts = stripped
    nodes = document(hw, trace, "--tree")["tree"]["nodes"]
    path = []
    node = next(node for node in nodes if node.get("function_start") == starts["grab"] and node["total"]["peak_bytes"] == 4000)
    while node is not None:
        path.append(node.get("function_start"))
        node = nodes[node["parent"]] if node["parent"] is not None else None
    assert path[:3] == [starts["grab"], starts["left"], starts["main"]]


def test_frames_of_a_stack_keep_their_calls(hw, stripped):
    """Two calls from one function are two places with the same start."""
    trace, starts = stripped
    frames = [frame for stack in document(hw, trace)["top"] for frame in stack["stack"]
              if frame.get("function_start") == starts["left"]]
    assert len({frame["address"] for frame in frames}) == 2


def test_exports_have_functions(hw, stripped):
    trace, starts = stripped
    folded = hw("export", trace, "--format", "folded", "-o", "-").stdout
    way = ";".join(f"?? bare+0x{starts[name]:x}" for name in ("main", "left", "grab"))
    assert sorted(line.rpartition(" ")[2] for line in folded.splitlines() if line.rpartition(" ")[0].endswith(way)) == ["1000", "3000"]


def test_a_recording_of_the_same_build_does_not_differ(hw, stripped):
    trace, _starts = stripped
    assert hw("diff", "--exit-code", "--by", "function", trace, trace).returncode == 0


def test_stacks_in_text(hw, stripped):
    """A function has the name that rankings by function use, followed by the place of the call; its module's build
    ID appears once."""
    trace, starts = stripped
    text = hw("report", "--top", "0", trace, env={"COLUMNS": "120", "LC_ALL": "C.UTF-8"}).stdout
    lines = [line for line in text.splitlines() if "?? bare+0x" in line]
    places = {line.partition("stripped, at ")[2].split()[0] for line in lines if f"?? bare+0x{starts['left']:x} " in line}
    assert len(places) == 2
    assert sum("build-id" in line for line in lines) == 1


def test_where_names_are_had(hw, stripped, build, tmp_path):
    """A report on a program with names has no such note."""
    trace, _starts = stripped
    assert "names: debug packages (-dbgsym), or --debug-dir DIR" in " ".join(hw("report", trace).stdout.split())
    (tmp_path / "named.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", tmp_path / "named.c", "-o", tmp_path / "named"], check=True)
    named = tmp_path / "named.hwt"
    subprocess.run([build / "bin" / "heapwright", "record", "-q", "-o", named, "--", tmp_path / "named"], check=True)
    assert "-dbgsym" not in hw("report", named).stdout
