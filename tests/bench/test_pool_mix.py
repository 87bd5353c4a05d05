"""The sizes and lifetimes with which the pool is measured, and the table's place in the page. If they are wrong, the
pool is measured with another load.
"""
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench"))

import pool  # noqa: E402
import pool_mix  # noqa: E402

LOG = """alloc, 10, 1, 0x01, 0
alloc_zeroed, 20, 0x02, 0
dealloc, 0x01, 0
alloc, 30, 1, 0x03, 0
realloc, 0x02, 40, 0x04, 0
dealloc, 0x04, 0
dealloc, 0x99, 0
alloc, 50, 1, 0x03, 0
"""


def test_lifetimes_count_allocations(tmp_path):
    log = tmp_path / "heap.log"
    log.write_text(LOG)
    assert sorted(pool_mix.kinds_of(log)) == [(10, 1), (20, 1), (30, 2), (40, 0), (50, 5)]


def test_a_table_replaces_its_own_alone(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- made by bench/one --document -->\nold\n<!-- end -->\nb\n<!-- made by bench/two --document -->\nkept\n<!-- end -->\nc\n")
    monkeypatch.setattr(pool, "PAGE", str(page))
    pool.document("new\n", "one")
    assert page.read_text().replace("new", "old") == ("a\n<!-- made by bench/one --document -->\nold\n<!-- end -->\nb\n"
                                                      "<!-- made by bench/two --document -->\nkept\n<!-- end -->\nc\n")
    with pytest.raises(SystemExit):
        pool.document("new\n", "three")


def test_parts_are_the_first_threads(tmp_path):
    out = tmp_path / "callgrind"
    out.write_text("thread: 1\ndesc: Trigger: Client Request: malloc\nsummary: 12\nthread: 2\ndesc: Trigger: Client Request: malloc\nsummary: 99\n")
    assert list(pool.parts(out)) == [("malloc", 12)]
