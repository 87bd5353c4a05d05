"""The figures of bench/heap.py: how they are computed, that each part of it runs, and their place in docs/heap-figures.md."""

import os
import re
import shutil
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "bench"))

import heap  # noqa: E402
import heap_locality  # noqa: E402
import heap_peers  # noqa: E402
import heap_programs  # noqa: E402
import heap_rates  # noqa: E402
import heap_return  # noqa: E402


@pytest.fixture
def libraries(build):
    return {"heap": str(build / "lib/libheapwright-heap.so"), "glibc": None}


def rows_of(table):
    """{first cell: the other cells}"""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")]
    return {cells[0]: cells[1:] for cells in lines}


# --- how they are computed ---

def test_means_of_ratios():
    found = {"one": {"heap": (1, 6), "glibc": (2, 3)}, "two": {"heap": (8, 3), "glibc": (4, 3)}}
    assert heap.ratios(found, ["heap", "glibc"], 0) == [("one", [0.5, 1.0]), ("two", [2.0, 1.0]), ("geometric mean", [1.0, 1.0])]


def test_percentiles():
    assert [heap_rates.percentile(range(10, 0, -1), share) for share in (0.05, 0.5, 0.9, 1)] == [1, 5, 9, 10]
    assert heap_rates.percentile([7], 0.9) == 7


def test_totals_of_cachegrind(tmp_path):
    path = tmp_path / "out"
    path.write_text("desc: D1 cache: 32768 B\ncmd: x\nevents: Ir D1mr DLmr\nfl=a\nfn=b\n1 2 3 4\nsummary: 20 30 40\n")
    assert heap_locality.totals(path) == {"Ir": 20, "D1mr": 30, "DLmr": 40}


def test_time_lost():
    assert [heap_return.lost(1.03), heap_return.lost(0.5), heap_return.lost(None)] == ["+3 %", "-50 %", "-"]


def test_rows_of_programs():
    found = {"z3": {"heap": (1.0, 30), "glibc": (2.0, 20)}}
    assert list(heap_programs.rows(found, ["heap", "glibc"])) == [("time, z3", ["0.50", "1.00"]), ("peak RSS, z3", ["1.50", "1.00"])]


# --- that each part runs ---

def test_workloads_run(libraries, tmp_path):
    program = heap_peers.build_program("heap_work", tmp_path)
    for workload in set(heap.WORKLOADS) - {"many"}:
        for library in libraries.values():
            time, peak, space, at_end = heap_peers.run(program, library, (workload, 1))
            assert 0 < time and 0 < at_end <= peak and at_end <= space


def test_rates(libraries, tmp_path):
    rows = rows_of(heap_rates.table(libraries, tmp_path, 0.05))
    assert list(rows) == ["speed", "---", *(f"{what} per µs, {pages}" for pages in heap_peers.PAGES for what in heap_rates.WHAT), "4 threads, P90"]
    assert all(float(cell.split()[0]) > 0 for title, cells in rows.items() if "4" in title or "by default" in title for cell in cells)


def test_misses(libraries, tmp_path):
    """Objects of 32 bytes: one miss for two of them that are allocated in a row, since a line has 64 bytes."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    program = heap_peers.build_program("heap_locality", tmp_path)
    first, last = heap_locality.misses_per_object(program, libraries["heap"], "in-order", 10_000, tmp_path)
    assert 0.5 < first < 0.9 and 0 <= last < 0.1


def test_memory_returned(libraries, tmp_path):
    program = heap_peers.build_program("heap_return", tmp_path)
    before, full, *after = heap_peers.run(program, libraries["heap"], ("down", 60))
    assert full - before > 58_000 and after[-1] < full  # before, it was needed a moment ago
    nanoseconds, faults = heap_peers.run(program, libraries["glibc"], ("cycles", 4, 3))
    assert nanoseconds > 0 and faults >= 0


def test_programs_that_are_measured_exist(tmp_path):
    titles = {title: command for title, command, _ in heap_programs.commands(tmp_path)}
    assert {"sqlite3", "python3", "cc1plus"} <= set(titles)
    assert all(os.access(command[0], os.X_OK) for command in titles.values())


# --- the page ---

def test_the_page_has_a_place_for_the_tables(tmp_path):
    page = tmp_path / "heap-figures.md"
    shutil.copy(heap.PAGE, page)
    heap.pool.document("new tables\n", "heap.py", page)
    assert "<!-- made by bench/heap.py --document -->\nnew tables\n<!-- end -->\n" in page.read_text()


def test_each_part_is_described_by_the_help():
    assert all(re.search(rf"`{part}`", heap.__doc__) for part in heap.PARTS)
