"""test_musl_heap.py - the blocks of musl's malloc, block for block and with the sizes that were asked for"""

import json
import shutil
import platform
import signal
import subprocess

import pytest

from heap_listing import assert_has, build_program, core_of, crash_of, gcore_of, read_list, started

pytestmark = pytest.mark.skipif(not shutil.which("musl-gcc"), reason="no musl-gcc here")
MUSL = ("musl-gcc", "-std=gnu17")
DAMAGE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
char *blocks[100];
int main(int count, char **words)
{
  FILE *file = fopen(words[count - 1], "w");
  for (int i = 0; i < 100; i++)
    blocks[i] = malloc(44);  /* all of a slot of 48 */
  char *left = malloc(50);   /* less than a slot of 64 */
  memset(left, 'x', 51);
  memset(blocks[50], 'y', 48);  /* the header of the next one */
  free(malloc(9));  /* a static program that frees nothing has a malloc without any structure */
  fprintf(file, "%p %p %p\\n", (void *)blocks[50], (void *)blocks[51], (void *)left);
  fflush(file);
  puts("ready");
  fflush(stdout);
  pause();
}
"""


@pytest.fixture(scope="module", params=["static", "dynamic"])
def blocks(request, program_folder):
    flags = ["-static"] if request.param == "static" else []
    return build_program(program_folder, "pools.c", f"musl-{request.param}", "-DNO_POOL", *flags, compiler=MUSL)


@pytest.mark.parametrize("threads", ["none", "ended"])
def test_cores_and_processes(hw, blocks, find_heap, tmp_path, threads):
    with started([blocks, tmp_path / "list", 4, threads], tmp_path) as process:
        live, _ = read_list(tmp_path / "list")
        assert len(live) > 5000
        assert_has(find_heap("process", process.pid), live, 0)
        report = json.loads(hw("core", "--json", str(process.pid)).stdout)
        leaks = json.loads(hw("core", "--json", "--leaks", str(process.pid)).stdout)
        text = hw("core", str(process.pid)).stdout
        assert_has(find_heap("core", gcore_of(process, tmp_path)), live, 0)
        assert_has(find_heap("core", core_of(process, tmp_path)), live, 0)
    assert report["allocator"] == "musl" and report["understood_percent"] == 100
    assert report["live_blocks"] == len(live) and report["live_bytes"] == sum(live.values())
    assert leaks["leaked_blocks"] == 0
    assert "The heap of musl" in text and "usable sizes" not in text


def test_a_lost_block_is_a_leak(hw, tmp_path):
    """Words that are left in unused ends of slots are no references."""
    (tmp_path / "lost.c").write_text("#include <stdlib.h>\n#include <stdio.h>\n#include <unistd.h>\n#include <string.h>\n"
                                     "char *kept[200];\n"
                                     "__attribute__((noinline)) static void fill(void)\n{\n  char *lost = malloc(777);\n"
                                     "  for (int i = 0; i < 200; i++) {\n    kept[i] = malloc(3000);\n"
                                     "    for (int j = 0; j < 375; j++) ((char **)kept[i])[j] = lost;\n    free(kept[i]);\n  }\n"
                                     "  for (int i = 0; i < 200; i++)\n    kept[i] = memset(malloc(2800), 0, 2800);\n}\n"
                                     "__attribute__((noinline)) static int clear(void)\n{\n  volatile char stack[50000];\n"
                                     "  for (int i = 0; i < 50000; i++) stack[i] = 0;\n  return stack[77];\n}\n"
                                     "int main(void)\n{\n  fill();\n  if (clear()) return 1;\n  puts(\"ready\");\n  fflush(stdout);\n"
                                     "  pause();\n}\n")
    subprocess.run(["musl-gcc", "-O1", "-fno-builtin", "lost.c", "-o", "lost"], cwd=tmp_path, check=True)
    with started([tmp_path / "lost"], tmp_path) as process:
        report = json.loads(hw("core", "--json", "--leaks", str(process.pid)).stdout)
    assert report["leaked_blocks"] == 1 and report["leaked_bytes"] == 777


def test_damage(find_heap, tmp_path):
    (tmp_path / "damage.c").write_text(DAMAGE)
    subprocess.run(["musl-gcc", "-O1", "-fno-builtin", "-static", "damage.c", "-o", "damage"], cwd=tmp_path, check=True)
    with started([tmp_path / "damage", tmp_path / "damaged"], tmp_path) as process:
        heap = find_heap("process", process.pid)
    written, next_one, left = (int(word, 16) for word in (tmp_path / "damaged").read_text().split())
    damage = {int(line.split()[1], 16): line for line in heap.damage}
    assert set(damage) == {written, next_one, left}
    assert "wrote beyond the end" in damage[left] and "header of this block" in damage[next_one]
    assert len(heap.blocks["live"]) == 101  # with that of the open file; one has no header


def test_abort(hw, tmp_path):
    """musl's malloc executes an instruction that it may not, or writes to address 0. No pointer is wrong."""
    on_x86 = platform.machine() == "x86_64"
    (tmp_path / "twice.c").write_text("#include <stdlib.h>\nint main(void)\n{\n  void *volatile block = malloc(100), *volatile kept = malloc(100);\n"
                                      "  free(malloc(2000));\n  free(block);\n  free(block);\n}\n")
    subprocess.run(["musl-gcc", "-O1", "-fno-builtin", "twice.c", "-o", "twice"], cwd=tmp_path, check=True)
    dump, _ = crash_of([tmp_path / "twice"], tmp_path)
    report = json.loads(hw("core", "--json", dump).stdout)
    text = hw("core", tmp_path / "twice", dump).stdout
    assert report["signal"] == signal.SIGSEGV and report["signal_cause"] == "musl" and ("fault_address" in report) != on_x86
    assert f"{'executed hlt' if on_x86 else 'accessed 0x0'}: so musl aborts" in text and "no pointer can have" not in text


def test_forged(blocks, forge_heap, tmp_path):
    with started([blocks, tmp_path / "list", 1, "none"], tmp_path) as process:
        forge_heap(gcore_of(process, tmp_path))
