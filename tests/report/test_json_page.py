"""test_json_page.py - docs/json.md lists every field that `report --json` prints, and no field that it never prints"""

import json
import pathlib
import re

from thinned import thin

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = "#include <stdlib.h>\nint main(void) { void *volatile block = malloc(100); (void)block; return 0; }"
QUESTIONS = [[], ["--leaks"], ["--from", "0s"], ["--at", "peak"], ["--only", "func=nothing"], ["--thread", "*"],
             ["--tree"], ["--tree", "--top", "1"]] + [
    ["--by", by] for by in ("function", "file", "line", "module")
]
VALUES_BY_KIND = {"lifetimes", "findings", "suppressions"}  # the fields within are named in docs/questions.md


def documented():
    rows = re.findall(r"^\| (.*) \|$", (ROOT / "docs/json.md").read_text(), re.M)
    return set(re.findall(r"`([a-z_]+)`", "\n".join(rows)))


def printed(value):
    if isinstance(value, list):
        return set().union(*map(printed, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(printed(item) for key, item in value.items() if key not in VALUES_BY_KIND))


def test_every_field_is_documented(record, compile_c, hw):
    trace = record([compile_c(PROGRAM)]).trace
    for question in QUESTIONS:
        done = hw("report", "--json", *question, trace)
        assert done.returncode == 0, done.stderr
        assert printed(json.loads(done.stdout)) <= documented(), question


def test_every_field_of_a_sample_is_documented(record, compile_c, hw, tmp_path):
    sample = tmp_path / "sample.hwt"
    thin(record([compile_c(PROGRAM)]).trace, sample, 64, 2)
    fields = printed(json.loads(hw("report", "--json", sample).stdout))
    assert "peak_bytes_error" in fields and fields <= documented()


def test_every_documented_field_can_be_printed():
    source = "".join(path.read_text() for path in (ROOT / "src/report").rglob("*.c")).replace('\\"', '"')
    assert documented() <= set(re.findall(r'"([a-z_]+)"', source))
