"""test_mimalloc.py - the blocks of mimalloc, block for block: of threads that go on and that have ended, in cores and processes"""

import ctypes.util
import json
import os
import subprocess

import pytest

from heap_listing import build_program, core_of, gcore_of, read_list, started

LIBRARY = "libmimalloc.so.2"
LIBC_BLOCKS = 8
DAMAGE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words)
{
  FILE *file = fopen(words[count - 1], "w");
  char *blocks[1000];
  for (int i = 0; i < 1000; i++)
    blocks[i] = malloc(100);
  for (int i = 0; i < 1000; i += 2)
    free(blocks[i]);
  memset(blocks[501] + 112, 'x', 8);  /* the link of the free block behind it */
  fprintf(file, "%p %p\\n", (void *)blocks[501], (void *)blocks[502]);
  fflush(file);
  puts("ready");
  fflush(stdout);
  pause();
}
"""


@pytest.fixture(scope="module")
def preload():
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        pytest.skip(f"there is no {LIBRARY}")
    return {"LD_PRELOAD": LIBRARY}


@pytest.fixture(scope="module")
def blocks(program_folder):
    return build_program(program_folder, "pools.c", "plain", "-DNO_POOL", "-pthread")


def assert_has(heap, live):
    """A block with a greater alignment may begin within one of mimalloc's: both end together."""
    heap.assert_sound()
    found = dict(heap.blocks["live"])
    missing = {address: usable for address, usable in live.items() if found.get(address) != usable}
    for address in live.keys() - missing.keys():
        del found[address]
    ends = {address + usable: address for address, usable in found.items()}
    for address, usable in missing.items():
        assert ends.pop(address + usable) < address
    assert len(missing) < len(live) // 20 and len(ends) <= LIBC_BLOCKS


@pytest.mark.parametrize("threads", ["none", "ended"])
def test_cores_and_processes(hw, blocks, preload, find_heap, tmp_path, threads):
    with started([blocks, tmp_path / "list", 4, threads], tmp_path, preload) as process:
        live, _ = read_list(tmp_path / "list")
        assert len(live) > 5000
        assert_has(find_heap("process", process.pid), live)
        report = json.loads(hw("core", "--json", str(process.pid)).stdout)
        leaks = json.loads(hw("core", "--json", "--leaks", str(process.pid)).stdout)
        assert_has(find_heap("core", gcore_of(process, tmp_path)), live)
        assert_has(find_heap("core", core_of(process, tmp_path)), live)
    assert report["allocator"] == "mimalloc" and report["understood_percent"] == 100
    assert report["system_bytes"] >= report["live_bytes"] + report["free_bytes"] > 0
    assert leaks["leaked_blocks"] <= 2


def test_python(hw, preload, tmp_path):
    """A program that nobody here wrote, before and after it allocates so many blocks more."""
    script = ("import sys, threading\nkept = []\n"
              "def work():\n    kept.extend(b'x' * (100 + i % 3000) for i in range(2500))\n"
              "for line in sys.stdin:\n"
              "    threads = [threading.Thread(target=work) for _ in range(4)]\n"
              "    [thread.start() for thread in threads]\n    [thread.join() for thread in threads]\n"
              "    print('ready', flush=True)\n")
    environment = {**os.environ, **preload, "PYTHONMALLOC": "malloc"}
    reports = []
    with subprocess.Popen(["/usr/bin/python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path,
                          env=environment) as process:
        for _ in range(3):
            process.stdin.write("more\n")
            process.stdin.flush()
            assert process.stdout.readline() == "ready\n"
            reports.append(json.loads(hw("core", "--json", str(process.pid)).stdout))
        process.stdin.close()
    for report in reports:
        assert report["allocator"] == "mimalloc" and report["damages"] == 0 and report["understood_percent"] == 100
    assert 10000 <= reports[2]["live_blocks"] - reports[1]["live_blocks"] < 10100


def test_annotated(hw, build, blocks, preload, tmp_path):
    """Each block has its owner, also one that begins within a block of mimalloc."""
    both = {"LD_PRELOAD": f"{build / 'lib/libheapwright-annotate.so'} {preload['LD_PRELOAD']}"}
    with started([blocks, tmp_path / "list", 2, "none"], tmp_path, both) as process:
        live, _ = read_list(tmp_path / "list")
        report = json.loads(hw("core", "--json", str(process.pid)).stdout)
    assert report["allocator"] == "mimalloc" and report["damages"] == 0
    by_work = [row for row in report["top"] if "work" in {frame["function"] for frame in row["stack"]}]
    assert sum(row["live_blocks"] for row in by_work) == len(live)


def test_damage(preload, find_heap, tmp_path):
    (tmp_path / "damage.c").write_text(DAMAGE)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "damage.c", "-o", "damage"], cwd=tmp_path, check=True)
    with started([tmp_path / "damage", tmp_path / "damaged"], tmp_path, preload) as process:
        heap = find_heap("process", process.pid)
    written, behind = (int(word, 16) for word in (tmp_path / "damaged").read_text().split())
    assert heap.blocks["live"][written] == 112 and behind - written == 112
    assert heap.damage and "0x7878787878787878" in heap.damage[0] and int(heap.damage[0].split()[1], 16) == written & ~0xffff


def test_threads_inside(hw, program_folder, preload, tmp_path):
    """Pages that a thread is changing are not damaged."""
    with started([build_program(program_folder, "churn.c", "churn", "-pthread")], tmp_path, preload) as process:
        for _ in range(10):
            report = json.loads(hw("core", "--json", str(process.pid)).stdout)
            assert report["damage"] == [] and report["understood_percent"] == 100


def test_forged(blocks, preload, forge_heap, tmp_path):
    with started([blocks, tmp_path / "list", 1, "none"], tmp_path, preload) as process:
        forge_heap(gcore_of(process, tmp_path), rounds=100)
