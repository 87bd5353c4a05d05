"""test_stacks.py - the formats of stacks with figures: folded, speedscope, pprof"""

import gzip
import json
import re
import shutil
import subprocess

import pytest
from pprof_file import Pprof

COSTS = {"peak": "peak_bytes", "live": "live_bytes_at_end", "calls": "allocation_calls", "bytes": "allocated_bytes",
         "temporary": "temporary_calls"}


def folded(path):
    """Returns [(frames, outermost first), cost] of each line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = [re.fullmatch(r"(\S.*) (\d+)", line) for line in lines]
    assert all(found), lines
    return [(match[1].split(";"), int(match[2])) for match in found]


@pytest.mark.parametrize("cost", COSTS)
def test_folded_stacks_add_up(export, report, tracks, cost):
    found = folded(export(tracks, "x.folded", "--cost", cost))
    assert sum(cost for _, cost in found) == report(tracks)[COSTS[cost]]
    assert all(cost > 0 for _, cost in found)


def test_folded_stacks_go_from_the_outside_in(export, tracks):
    found = folded(export(tracks, "x.folded"))
    frames, cost = max(found, key=lambda item: item[1])
    assert cost == 300000 and frames[-2:] == ["main", "keep"]
    frames, cost = max(folded(export(tracks, "x.folded", "--cost", "calls")), key=lambda item: item[1])
    assert cost == 1000 and frames[-3:] == ["work", "churn", "inlined"]


def test_choices_are_those_of_the_report(export, report, tracks):
    found = folded(export(tracks, "x.folded", "--thread", "wor*", "--cost", "bytes"))
    shown = report(tracks, "--thread", "wor*")
    assert sum(cost for _, cost in found) == sum(stack["bytes"] for stack in shown["top"]) < shown["allocated_bytes"]
    found = folded(export(tracks, "x.folded", "--min-calls", "30", "--cost", "calls"))
    assert sorted(cost for _, cost in found) == [30, 1000]
    found = folded(export(tracks, "x.folded", "--leaks"))
    assert sum(cost for _, cost in found) == sum(s["live_bytes"] for s in report(tracks, "--leaks")["top"]) == 30 * 64 + 512


def test_strange_names_do_not_break_folded(export, evil):
    found = folded(export(evil, "x.folded"))
    frames, _ = next(item for item in found if item[1] == 1000)
    assert frames[-1] == "evil\"quo'ted\":<script>alert(1)</script>"  # ; would be another frame
    assert frames[-2] == "evil\\back,comma &amp: \\xc3( not utf-8 \\xff\\nand a line"


# --- speedscope ---


def check_speedscope(document):
    """The requirements of the published schema."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    for profile in document["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled"
        assert profile["unit"] in {"none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"]
        assert all(0 <= number < len(frames) for sample in profile["samples"] for number in sample)


def test_speedscope_has_a_profile_for_each_cost(export, report, tracks):
    document = json.loads(export(tracks, "x.speedscope.json", "--cost", "calls").read_text())
    check_speedscope(document)
    shown = report(tracks)
    assert [profile["endValue"] for profile in document["profiles"]] == [shown[name] for name in COSTS.values()]
    active = document["profiles"][document["activeProfileIndex"]]
    assert active["name"] == "allocation calls"
    row = active["weights"].index(1000)
    names = [document["shared"]["frames"][number]["name"] for number in active["samples"][row]]
    assert names[-3:] == ["work", "churn", "inlined"]
    inlined = document["shared"]["frames"][active["samples"][row][-1]]
    assert inlined["file"].endswith("program.c") and inlined["line"] == 8


def test_strange_names_do_not_break_speedscope(export, evil):
    document = json.loads(export(evil, "x.speedscope.json").read_bytes().decode("utf-8"))
    check_speedscope(document)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    assert "evil\"quo'ted\";<script>alert(1)</script>" in names
    assert "evil\\back,comma &amp; \ufffd( not utf-8 \ufffd\nand a line" in names
    assert 'an "argument"\n' in document["name"].replace("\\n", "\n").replace("$'", "").replace("'", "")


def test_what_is_compressed_is_the_same(export, tracks):
    plain = export(tracks, "x.speedscope.json").read_bytes()
    assert gzip.decompress(export(tracks, "x.speedscope.json.gz").read_bytes()) == plain
    packed = export(tracks, "x.speedscope.json.zst")
    assert packed.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    if shutil.which("zstd"):
        assert subprocess.run(["zstd", "-dc", packed], capture_output=True, check=True).stdout == plain


# --- pprof ---


def test_pprof_has_the_four_sample_types(export, report, tracks):
    shown, found = report(tracks), Pprof(export(tracks, "x.pb.gz"))
    assert found.types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
    assert found.total("alloc_objects") == shown["allocation_calls"]
    assert found.total("alloc_space") == shown["allocated_bytes"]
    assert found.total("inuse_objects") == shown["peak_blocks"]
    assert found.total("inuse_space") == shown["peak_bytes"]
    assert found.default == "inuse_space" and "inuse_*: what was live at the peak of the run" in found.comments
    found = Pprof(export(tracks, "x.pprof", "--cost", "live"))
    assert found.total("inuse_objects") == shown["live_blocks_at_end"]
    assert found.total("inuse_space") == shown["live_bytes_at_end"]


def test_pprof_has_inlined_frames_as_lines_and_mappings_with_build_ids(export, report, tracks):
    shown, found = report(tracks), Pprof(export(tracks, "x.pb.gz"))
    locations, _ = next(sample for sample in found.samples if sample[1][0] == 1000)
    head, lines = found.locations[locations[0]]
    assert [found.functions[line[1]][0] for line in lines] == ["inlined", "churn"]
    assert lines[0][2] == 8 and found.functions[lines[0][1]][1].endswith("program.c")
    mapping = found.mappings[head[2]]
    assert mapping[2] <= head[3] < mapping[3]
    assert head[2] == found.first_mapping  # pprof takes the first one for the program
    ids = {found.strings[m[5]]: found.strings[m[6]] for m in found.mappings.values()}
    assert ids == {module["path"]: module["build_id"] for module in shown["modules"]}


def test_strange_names_do_not_break_pprof(export, evil):
    found = Pprof(export(evil, "x.pb.gz"))
    names = {name for name, _ in found.functions.values()}
    assert "evil\"quo'ted\";<script>alert(1)</script>" in names
    assert "evil\\back,comma &amp; \ufffd( not utf-8 \ufffd\nand a line" in names


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed (golang-go)")
@pytest.mark.parametrize("index", ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"])
def test_go_reads_pprof_with_the_same_totals(export, report, tracks, tmp_path, index):
    shown = report(tracks)
    path = export(tracks, "x.pb.gz")
    done = subprocess.run(["go", "tool", "pprof", "-top", "-unit", "B", "-sample_index", index, path], capture_output=True,
                          text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, timeout=60)
    assert done.returncode == 0, done.stderr
    name = {"alloc_objects": "allocation_calls", "alloc_space": "allocated_bytes", "inuse_objects": "peak_blocks", "inuse_space": "peak_bytes"}[index]
    total = re.search(r"(?:Total samples = |of )([\d.]+)(?:B| total|$)", done.stdout, re.M)
    assert int(total[1]) == shown[name], done.stdout
