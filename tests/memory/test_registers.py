"""test_registers.py - registers of threads are roots: a block to which only one of them refers is no leak"""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

import words_32
from heap_listing import core_of, gcore_of, started

# The address is only in one register while the program runs in circles.
HOLD = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long hidden;

#if defined __aarch64__
#define HOLD(move) \
  register unsigned long held __asm__("x0") = ~hidden; \
  __asm__ volatile(".irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n" \
                   "mov x\\n, xzr\n .endr\n" move "mov x0, xzr\n 1: yield\n b 1b" ::"r"(held))

static void __attribute__((noinline)) hold(const char *where)
{
  if (strcmp(where, "nowhere") == 0) {
    HOLD("");
  }
  if (strcmp(where, "general") == 0) {
    HOLD("mov x7, x0\n");
  }
  if (strcmp(where, "vector") == 0) {
    HOLD("fmov d7, x0\n");
  }
}
#else
static void __attribute__((noinline)) hold(const char *where)
{
#define IN_CIRCLES "1: pause\n jmp 1b"
#define CLEARED "xor %%ebx, %%ebx\n xor %%ecx, %%ecx\n xor %%edx, %%edx\n xor %%edi, %%edi\n xor %%ebp, %%ebp\n"
  if (strcmp(where, "nowhere") == 0)
    __asm__ volatile(CLEARED "xor %%esi, %%esi\n xor %%eax, %%eax\n" IN_CIRCLES ::"a"(~hidden));
  if (strcmp(where, "general") == 0)
    __asm__ volatile(CLEARED "mov %%" AX ", %%" SI "\n xor %%eax, %%eax\n" IN_CIRCLES ::"a"(~hidden));
  if (strcmp(where, "vector") == 0)
    __asm__ volatile(CLEARED MOVE " %%" AX ", %%xmm7\n xor %%esi, %%esi\n xor %%eax, %%eax\n" IN_CIRCLES ::"a"(~hidden));
#ifdef __x86_64__
  if (strcmp(where, "wide") == 0)
    __asm__ volatile(CLEARED "vmovq %%rax, %%xmm0\n vinsertf128 $1, %%xmm0, %%ymm9, %%ymm9\n vpxor %%xmm0, %%xmm0, %%xmm0\n"
                     "xor %%esi, %%esi\n xor %%eax, %%eax\n" IN_CIRCLES ::"a"(~hidden));
#endif
}
#endif

static void __attribute__((noinline)) clear_below(void)
{
  volatile char bytes[16384];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = 0;
}

int main(int count, char **words)
{
  (void)count;
  hidden = ~(unsigned long)malloc(12345);
  clear_below();
  write(1, "ready\n", 6);
  hold(words[1]);
}
"""


@pytest.fixture(scope="module")
def hold(tmp_path_factory):
    """hold(64) or hold(32): the program with words of so many bits."""
    folder = tmp_path_factory.mktemp("hold")
    (folder / "hold.c").write_text(HOLD)

    def build(bits):
        names = ["-DAX=\"rax\"", "-DSI=\"rsi\"", "-DMOVE=\"movq\""] if bits == 64 else [*words_32.FLAGS, "-msse2", "-DAX=\"eax\"", "-DSI=\"esi\"", "-DMOVE=\"movd\""]
        program = folder / f"hold{bits}"
        words = ["gcc", "-O2", "-fomit-frame-pointer", "-fno-builtin", "-fno-pie", "-no-pie", "-w", *names, folder / "hold.c", "-o", program]
        if subprocess.run(words, capture_output=True).returncode != 0:
            pytest.skip(f"this compiler cannot build for {bits} bits")
        return program

    return build


def leaks_in(hw, *words):
    done = hw("core", "--json", "--leaks", *words)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["understood_percent"] == 100
    return [leak["block_bytes"] for leak in report["leaks"]]


@pytest.mark.parametrize("where", ["nowhere", "general", "vector", "wide"])
@pytest.mark.parametrize("way", ["process", "core", "gcore"])
def test_registers_are_roots(hw, hold, tmp_path, where, way):
    if where == "wide" and " avx " not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU has no wide vectors")
    with started([hold(64), where], tmp_path) as process:
        time.sleep(0.05)  # it is in circles soon
        of = process.pid if way == "process" else (core_of if way == "core" else gcore_of)(process, tmp_path)
        assert leaks_in(hw, str(of)) == ([12360] if where == "nowhere" else [])
