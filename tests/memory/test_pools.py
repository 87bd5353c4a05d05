"""test_pools.py - the blocks of the project's own pools, block for block: a process's heap, pools of a program, those of boards"""

import json
import os
import struct
import subprocess
from pathlib import Path

import pytest

import words_32
from heap_listing import assert_has, build_program, core_of, gcore_of, read_list, started
from machine import only_x86_64

ROOT = Path(__file__).resolve().parents[2]
POOL = [f"-I{ROOT}/include", f"-I{ROOT}/src", *sorted((ROOT / "src/allocators/tlsf").glob("*.c"))]
NAME = "heapwright-pool"


@pytest.fixture(scope="module")
def pools(program_folder):
    return build_program(program_folder, "pools.c", "pools", *POOL, "-pthread")


@pytest.fixture
def tlsf(build):
    return {"LD_PRELOAD": str(build / "lib/libheapwright-tlsf.so")}


@pytest.mark.parametrize("own", ["none", "block", "static"])
def test_process_on_the_pool(pools, tlsf, find_heap, tmp_path, own):
    with started([pools, tmp_path / "list", 4, own], tmp_path, tlsf) as process:
        live, _ = read_list(tmp_path / "list")
        assert len(live) > 5000
        assert_has(find_heap("process", process.pid), live, 8)
        assert_has(find_heap("core", gcore_of(process, tmp_path)), live, 8)
        assert_has(find_heap("core", core_of(process, tmp_path)), live, 8)


@pytest.mark.parametrize("own", ["block", "static"])
def test_pool_of_a_program_on_glibc(hw, pools, find_heap, tmp_path, own):
    with started([pools, tmp_path / "list", 2, own], tmp_path) as process:
        live, _ = read_list(tmp_path / "list")
        assert_has(find_heap("process", process.pid), live, 8)
        report = json.loads(hw("core", "--json", str(process.pid)).stdout)
        shown = hw("core", str(process.pid), "--who", hex(next(iter(live)))).stdout
    assert report["allocator"] == f"glibc, {NAME}" and report["understood_percent"] == 100
    parts = {part["name"].split()[0]: part for part in report["parts"]}
    assert parts["pool"]["nested"] == (own == "block") and not parts["main"]["nested"]
    rest = sum(part["system_bytes"] for part in report["parts"]) - report["system_bytes"]
    assert rest == (parts["pool"]["system_bytes"] if own == "block" else 0)  # counted once
    assert "block" in shown


def test_pool_in_freed_memory_is_none(hw, pools, tmp_path):
    with started([pools, tmp_path / "list", 1, "freed"], tmp_path) as process:
        report = json.loads(hw("core", "--json", str(process.pid)).stdout)
        live, _ = read_list(tmp_path / "list")
    assert report["allocator"] == "glibc" and not [part for part in report["parts"] if part["name"].startswith("pool")]
    assert 0 <= report["live_blocks"] - len(live) <= 8


def test_damage(pools, find_heap, tmp_path):
    with started([pools, tmp_path / "list", 1, "damaged"], tmp_path) as process:
        live, bad = read_list(tmp_path / "list")
        heap = find_heap("process", process.pid)
    assert sorted(int(line.split()[1], 16) for line in heap.damage) == sorted(bad)
    assert {address: heap.blocks["live"].get(address) for address in live} == live  # the walk goes on
    system, understood = zip(*heap.parts.values())
    assert 0 < sum(system) - sum(understood) < 200


def test_forged(pools, tlsf, forge_heap, tmp_path):
    environment = {**tlsf, "HEAPWRIGHT_POOL_SIZE": "3M", "HEAPWRIGHT_POOL_GROWTH": "1M"}
    with started([pools, tmp_path / "list", 1, "block"], tmp_path, environment) as process:
        forge_heap(gcore_of(process, tmp_path))


def test_annotated_blocks_next_to_a_pool(hw, build, pools, tmp_path):
    """The pool's blocks have no owners, and are not damaged for that."""
    with started([pools, tmp_path / "list", 1, "block"], tmp_path, {"LD_PRELOAD": str(build / "lib/libheapwright-annotate.so")}) as process:
        live, _ = read_list(tmp_path / "list")
        report = json.loads(hw("core", "--json", str(process.pid)).stdout)
    assert report["damages"] == 0 and 0 <= report["live_blocks"] - len(live) <= 8


def test_sqlite_by_run(hw, build, find_heap, tmp_path):
    """A program that nobody here wrote: nothing of its heap is unknown, and one block more is one block more."""
    command = [build / "bin/heapwright", "run", "/usr/bin/python3", "-c",
               "import sqlite3, os, sys\nkept = sqlite3.connect(':memory:')\nkept.execute('create table t (a)')\n"
               "kept.executemany('insert into t values (?)', ((str(i) * 50,) for i in range(5000)))\n"
               "print(os.getpid(), flush=True)\nsys.stdin.read()"]
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, env=environment, text=True) as process:
        pid = int(process.stdout.readline())
        report = json.loads(hw("core", "--json", str(pid)).stdout)
        leaks = json.loads(hw("core", "--json", "--leaks", str(pid)).stdout)
        process.stdin.close()
    assert report["allocator"] == NAME and report["understood_percent"] == 100 and report["damages"] == 0
    assert report["live_blocks"] > 5000 and report["system_bytes"] == report["understood_bytes"] >= 100_000_000
    assert leaks["leaked_bytes"] < report["live_bytes"] // 100


# --- boards ---


def swap_words(image):
    return b"".join(struct.pack(">I", word) for (word,) in struct.iter_unpack("<I", image))


NEEDS_32 = only_x86_64("programs of 32 bits")


@pytest.mark.parametrize("word", ["64", pytest.param("32", marks=NEEDS_32), pytest.param("32b", marks=NEEDS_32)])
def test_raw_image(find_heap, program_folder, tmp_path, word):
    flags = words_32.FLAGS if word != "64" else []
    board = build_program(program_folder, "board.c", f"board-{word}", *POOL, *flags)
    base, *lines = subprocess.run([board, tmp_path / "image"], capture_output=True, text=True, check=True).stdout.splitlines()
    if word.endswith("b"):
        (tmp_path / "image").write_bytes(swap_words((tmp_path / "image").read_bytes()))
    heap = find_heap("raw", f"{word}:{int(base, 16):x}:{tmp_path / 'image'}")
    heap.assert_sound()
    for state in "live", "free":
        expected = {int(words[0], 16): int(words[1]) for words in map(str.split, lines) if words[2] == state}
        assert len(expected) >= 90 and heap.blocks[state] == expected


@NEEDS_32
def test_raw_image_with_damage(find_heap, program_folder, tmp_path):
    """Words of 4 bytes have no seal: the size must lead on."""
    board = build_program(program_folder, "board.c", "board-32", *POOL, *words_32.FLAGS)
    base, *lines = subprocess.run([board, tmp_path / "image"], capture_output=True, text=True, check=True).stdout.splitlines()
    image = bytearray((tmp_path / "image").read_bytes())
    header = int(lines[100].split()[0], 16) - 4 - int(base, 16)
    image[header:header + 4] = b"AAAA"
    (tmp_path / "image").write_bytes(image)
    heap = find_heap("raw", f"32:{int(base, 16):x}:{tmp_path / 'image'}")
    assert [int(line.split()[1], 16) - int(base, 16) for line in heap.damage] == [header]
    assert 190 < len(heap.blocks["live"]) <= 200
