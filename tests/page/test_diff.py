"""test_diff.py - two runs on one page: each as on its own page, with the same IDs for frames that are in both

Breaks if `diff` matches two frames and the page does not, or the other way round.
"""

import json

from page_document import PLACE, Page

PROGRAM = """
#include <stdlib.h>
MORE
__attribute__((noinline)) void *load(size_t bytes) { return malloc(bytes); }
__attribute__((noinline)) void *OTHER(size_t bytes) { return malloc(bytes); }
int main(void)
{
  return load(SIZE) == NULL || OTHER(77) == NULL;
}
"""
FLAGS = ("-fno-builtin", "-fno-optimize-sibling-calls")


def programs(compile_c, tmp_path):
    """Two versions of a program: lines moved, a renamed function, another size."""
    for folder, more, size, other in (("old", "", 1000, "former"), ("new", "\n\n\nvoid *unused;\n", 3000, "latter")):
        (tmp_path / folder).mkdir()
        source = tmp_path / folder / "program.c"
        source.write_text(PROGRAM.replace("MORE", more).replace("SIZE", str(size)).replace("OTHER", other))
        yield compile_c(source, *FLAGS).rename(tmp_path / folder / "program")


def identities(page, size):
    """Figures of the stack that requested one block of that size."""
    (row,) = [row for row in range(page.stacks.count) if page.stacks["largest"][row] == size and page.stacks["calls"][row] == 1]
    node, found = page.stacks["node"][row], []
    while node > 0:
        site = page.nodes["site"][node - 1]
        found.append(page.frames["identity"][page.sites["frame"][site]])
        node = node - page.nodes["parent"][node - 1] if page.nodes["parent"][node - 1] else 0
    return found


def test_two_runs(record, compile_c, hw, tmp_path):
    old, new = (record([program]) for program in programs(compile_c, tmp_path))
    for name in ("both.page.json", "both.html"):
        done = hw("diff", "-o", tmp_path / name, old.trace, new.trace)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    document = json.loads((tmp_path / "both.page.json").read_text())
    assert document["schema"] == "heapwright-page-diff/1" and document.keys() == {"schema", "old", "new"}
    (text,) = PLACE.findall((tmp_path / "both.html").read_text())
    assert json.loads(text) == document
    pages = [Page(document[side]) for side in ("old", "new")]
    comparison = json.loads(hw("diff", "--json", old.trace, new.trace).stdout)
    for page, recording, side in zip(pages, (old, new), ("old", "new")):
        hw("report", "-o", tmp_path / "alone.page.json", recording.trace)
        alone = json.loads((tmp_path / "alone.page.json").read_text())
        assert 0 not in document[side]["frames"].pop("identity")
        assert document[side] == alone
        assert comparison[side]["peak_bytes"] == page.stacks.sum("peak_bytes")
    load, former, latter = identities(pages[0], 1000), identities(pages[0], 77), identities(pages[1], 77)
    assert load == identities(pages[1], 3000)
    assert former[0] != latter[0] and former[1:] == latter[1:]
    assert len({load[0], former[0], latter[0]}) == 3


def test_what_does_not_go_with_a_page(record, hw, tmp_path):
    recording = record(["/bin/true"])
    for option in (["--cost", "live"], ["--threshold", "1%"], ["--exit-code"]):
        done = hw("diff", *option, "-o", tmp_path / "both.html", recording.trace, recording.trace)
        assert done.returncode == 2 and f"leave {option[0]} out" in done.stderr
    hw("report", "-o", tmp_path / "saved.json", recording.trace)
    done = hw("diff", "-o", tmp_path / "both.html", tmp_path / "saved.json", recording.trace)
    assert done.returncode == 2 and "saved report" in done.stderr
    assert not (tmp_path / "both.html").exists()
