"""test_dhat.py - DHAT's viewer builds its tree from the exported file, and the figures are the report's"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

VIEWER = Path("/usr/libexec/valgrind/dh_view.js")

# The viewer's own reading, without a page: the data from which it builds the page.
DRIVER = r"""
const fs = require("fs"), vm = require("vm");
globalThis.document = {};
globalThis.window = {};
vm.runInThisContext(fs.readFileSync(process.argv[2], "utf8"));
vm.runInThisContext(`
  gSelect = {childNodes: gSelectData.map(() => ({})), selectedIndex: 0};
  function load(text) { gData = JSON.parse(text); buildTree(); return gRoot; }
`);
const root = vm.runInThisContext("load")(fs.readFileSync(process.argv[3], "utf8"));
console.log(JSON.stringify({bytes: root._totalBytes, blocks: root._totalBlocks, lifetimes: root._totalLifetimes,
  atTGmaxBytes: root._atTGmaxBytes, atTGmaxBlocks: root._atTGmaxBlocks, atTEndBytes: root._atTEndBytes, atTEndBlocks: root._atTEndBlocks}));
"""


def document(path):
    found = json.loads(path.read_bytes().decode("utf-8"))
    assert found["dhatFileVersion"] == 2 and found["bklt"] is True and found["bkacc"] is False
    assert set(found) >= {"mode", "verb", "tu", "Mtu", "tuth", "cmd", "pid", "te", "tg", "ftbl", "pps"}
    assert found["ftbl"][0] == "[root]"
    stacks = [tuple(point["fs"]) for point in found["pps"]]
    assert len(set(stacks)) == len(stacks)  # the viewer accepts each stack only once
    for point in found["pps"]:
        assert all(0 < number < len(found["ftbl"]) for number in point["fs"])
    return found


def test_figures_are_the_report_s(export, report, tracks):
    shown, found = report(tracks), document(export(tracks, "x.dhat.json"))
    for key, name in [("tb", "allocated_bytes"), ("tbk", "allocation_calls"), ("gb", "peak_bytes"), ("gbk", "peak_blocks"),
                      ("eb", "live_bytes_at_end"), ("ebk", "live_blocks_at_end")]:
        assert sum(point[key] for point in found["pps"]) == shown[name], key
    assert found["te"] == shown["duration_ns"] // 1000 and found["tg"] == shown["peak_time_ns"] // 1000
    assert sorted(point["mb"] for point in found["pps"]) == sorted(stack["own_peak_bytes"] for stack in shown["top"])


def test_lifetimes(export, tracks):
    found = document(export(tracks, "x.dhat.json"))
    churn = next(point for point in found["pps"] if point["tbk"] == 1000)
    assert [found["ftbl"][number].split(": ")[-1].split(" (")[0] for number in churn["fs"][:4]] == ["malloc", "inlined", "churn", "work"]
    assert churn["tl"] / churn["tbk"] < found["te"] / 10 and churn["mbk"] == 1
    kept = next(point for point in found["pps"] if point["tbk"] == 30)
    assert kept["ebk"] == 30 and 20000 <= kept["tl"] / 30 <= found["te"]  # until the end, 20 ms later


@pytest.mark.skipif(not VIEWER.exists() or not shutil.which("node"), reason="valgrind's dh_view.js or node is not installed")
@pytest.mark.parametrize("program", ["tracks", "evil"])
def test_the_viewer_reads_it(export, report, program, request, tmp_path):
    trace = request.getfixturevalue(program)
    (tmp_path / "driver.js").write_text(DRIVER)
    done = subprocess.run(["node", tmp_path / "driver.js", VIEWER, export(trace, "x.dhat.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown, found = report(trace), json.loads(done.stdout)
    assert found.pop("lifetimes") > 0
    assert list(found.values()) == [shown[name] for name in ["allocated_bytes", "allocation_calls", "peak_bytes", "peak_blocks", "live_bytes_at_end", "live_blocks_at_end"]]
