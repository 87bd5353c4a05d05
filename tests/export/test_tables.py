"""test_tables.py - SQLite and CSV: every figure of the report is there, and the queries of docs/formats.md give
correct results
"""

import csv
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs/formats.md"
QUERIES = re.findall(r"```sql\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
TABLES = ["stacks", "run", "images", "modules", "frames", "stack_frames", "sizes", "stack_sizes", "threads", "thread_stacks",
          "timeline", "marks", "rss", "durations", "slow_calls", "scopes", "scope_stacks", "scope_threads", "counters",
          "counter_points", "heaps"]


@pytest.fixture
def database(export):
    def run(trace, *options):
        connection = sqlite3.connect(export(trace, "x.sqlite", *options))
        connection.row_factory = sqlite3.Row
        return connection

    return run


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_database_is_sound(database, tracks):
    found = database(tracks)
    assert [tuple(row) for row in found.execute("PRAGMA integrity_check")] == [("ok",)]
    assert list(found.execute("PRAGMA foreign_key_check")) == []
    assert sorted(row["name"] for row in found.execute("SELECT name FROM sqlite_master WHERE type = 'table'")) == sorted(TABLES)


def test_sums_are_the_report_s(database, report, tracks):
    shown, found = report(tracks), database(tracks)
    run = found.execute("SELECT * FROM run").fetchone()
    assert {key: run[key] for key in run.keys()} == {key: shown.get(key) for key in run.keys()}  # errors: of a sample only
    sums = found.execute("SELECT sum(calls), sum(bytes), sum(temporary_calls), sum(peak_bytes), sum(peak_blocks), sum(live_bytes), sum(live_blocks) FROM stacks").fetchone()
    names = ["allocation_calls", "allocated_bytes", "temporary_calls", "peak_bytes", "peak_blocks", "live_bytes_at_end", "live_blocks_at_end"]
    assert list(sums) == [shown[name] for name in names]
    assert found.execute("SELECT sum(calls) FROM stack_sizes").fetchone()[0] == shown["allocation_calls"]
    assert found.execute("SELECT sum(bytes) FROM thread_stacks").fetchone()[0] == shown["allocated_bytes"]


@pytest.mark.parametrize("table, key, name", [("sizes", "size", "sizes"), ("threads", "tid", "by_thread"), ("timeline", "time_ns", "timeline")])
def test_lists_are_the_report_s(database, export, report, tracks, table, key, name):
    shown = sorted(report(tracks)[name], key=lambda row: row[key])
    found = [dict(row) for row in database(tracks).execute(f"SELECT * FROM {table} ORDER BY {key}")]
    common = set(shown[0]) & set(found[0])
    assert len(common) >= 6
    assert [{key: row[key] for key in common} for row in found] == [{key: row[key] for key in common} for row in shown]
    written = rows(export(tracks, "x.csv", "--table", table))
    assert [{k: str(row[k]) for k in common} for row in shown] == [{k: row[k] for k in common} for row in sorted(written, key=lambda row: int(row[key]))]


def test_stacks_are_the_report_s(database, report, tracks):
    found = database(tracks)
    for shown in report(tracks)["top"]:
        frames = [(frame["function"], frame["file"], frame["line"], frame["address"]) for frame in shown["stack"]]
        same = [row for row in found.execute("SELECT * FROM stacks WHERE calls = ? AND bytes = ? AND first_ns = ?", (shown["calls"], shown["bytes"], shown["first_ns"]))]
        assert len(same) == 1 and same[0]["entry"] == shown["entry"] and same[0]["own_peak_bytes"] == shown["own_peak_bytes"]
        query = "SELECT function, file, line, address FROM stack_frames JOIN frames ON frames.id = frame_id WHERE stack_id = ? ORDER BY position"
        listed = [tuple(row) for row in found.execute(query, (same[0]["id"],))]
        assert [frame[1:] for frame in listed] == [frame[1:] for frame in frames]
        assert all(a[0] == b[0] or (b[0] is None and a[0].startswith("?? ")) for a, b in zip(listed, frames))


def test_there_are_ten_queries():
    assert len(QUERIES) >= 10


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_the_queries_of_the_docs_answer(export, tracks, number):
    """In the shell, too: commands that are pasted there must work."""
    path = export(tracks, "x.db")
    answer = [dict(zip((column[0] for column in cursor.description), row)) for cursor in [sqlite3.connect(path).execute(QUERIES[number])] for row in cursor.fetchall()]
    is_of_the_last_moments = "last_ns >" in QUERIES[number]  # in which a program on a busy machine may be idle
    is_of_scopes = "scopes" in QUERIES[number] or "marks" in QUERIES[number]  # see test_scopes.py
    assert answer or is_of_the_last_moments or is_of_scopes
    shell = subprocess.run(["sqlite3", "-csv", path], input=QUERIES[number], capture_output=True, text=True)
    assert shell.returncode == 0 and shell.stderr == "" and len(list(csv.reader(shell.stdout.splitlines()))) == len(answer)
    first = answer[0] if answer else None
    text = QUERIES[number]
    if "self_bytes" in text:
        assert first["function"] == "keep" and first["self_bytes"] == 300000 + 30 * 64
    elif "total_bytes" in text:
        main = next(row for row in answer if row["function"] == "main")
        assert main["total_bytes"] >= 300000 + 30 * 64 + 64000
    elif "leave" not in text and "sum(live_blocks)" in text:
        assert {(row["blocks"], row["bytes"]) for row in answer} >= {(30, 30 * 64), (1, 512)}
    elif "stack_sizes.size" in text:
        assert first["size"] == 300000 and first["peak_blocks"] == 1 and first["stacks"] == 1
    elif "temporary_calls > 0" in text:
        assert first["temporary_calls"] == 1000 and first["stack"].startswith("inlined < churn < work")
    elif "foreign_frees" in text:
        worker = next(row for row in answer if row["name"] == 'wor"k<er>')
        assert worker["foreign_frees"] == 1 and worker["allocation_calls"] == 1001
    elif "LIKE 'wor%'" in text:
        assert [(row["calls"], row["bytes"]) for row in answer] == [(1000, 100000), (1, 512)]


def test_a_choice_leaves_the_keys_whole(database, report, tracks):
    found = database(tracks, "--thread", "wor*")
    assert list(found.execute("PRAGMA foreign_key_check")) == []
    assert found.execute("SELECT sum(bytes) FROM stacks").fetchone()[0] == sum(s["bytes"] for s in report(tracks, "--thread", "wor*")["top"])


@pytest.mark.parametrize("table", TABLES)
def test_csv_is_the_table(export, database, tracks, table):
    columns = [row["name"] for row in database(tracks).execute(f"PRAGMA table_info({table})")]
    found = [["" if value is None else str(value) for value in row] for row in database(tracks).execute(f"SELECT * FROM {table}")]
    path = export(tracks, "x.csv", "--table", table)
    header, *lines = csv.reader(path.read_text(encoding="utf-8").splitlines())
    if table == "stacks":
        assert header.pop() == "stack"
        texts = dict(map(tuple, database(tracks).execute("SELECT stack_id, stack FROM stack_texts")))
        assert all(line.pop() == texts[int(line[0])] for line in lines)
    assert header == columns
    assert sorted(lines) == sorted(found)


def test_strange_names(database, export, evil):
    names = {row["function"] for row in database(evil).execute("SELECT function FROM frames")}
    expected = {"evil\"quo'ted\";<script>alert(1)</script>", "evil\\back,comma &amp; \ufffd( not utf-8 \ufffd\nand a line"}
    assert names >= expected
    assert {row["function"] for row in rows(export(evil, "x.csv", "--table", "frames"))} == names
    stack = max(rows(export(evil, "y.csv")), key=lambda row: int(row["largest"]) == 1000)["stack"]
    assert all(name in stack for name in expected)


def test_what_is_wrong_is_worded(hw, tracks, tmp_path):
    for arguments, words in [
        (["-o", tmp_path / "x.csv", "--table", "stack"], ["no table 'stack'", "stacks, run, images"]),
        (["-o", tmp_path / "x.folded", "--table", "stacks"], ["--table is for csv"]),
        (["-o", "-", "--format", "sqlite"], ["sqlite can be written to a plain file only"]),
        (["-o", tmp_path / "x.sqlite.gz"], ["sqlite can be written to a plain file only"]),
        (["-o", "/dev/null", "--format", "sqlite"], ["sqlite can be written to a plain file only"]),
        (["-o", tmp_path / "x.pprof.zst"], ["pprof is always compressed by gzip: leave .zst out"]),
    ]:
        done = hw("export", tracks, *arguments)
        assert done.returncode == 2 and all(word in done.stderr for word in words), done.stderr
