"""test_linked_code.py - how a linker puts an allocator, and the calls of it, into a program or a library

Breaks if code is sought where there is none, if the pages with the code lose a right, if the heap of brk can no longer grow, or if
calls that the linker has bound are not recorded.
"""

import json
import os
import struct

import pytest

from linked_programs import check_is_complete, file_of, notes_of, recorded_counts, run

SMALL = r"""
#include <stddef.h>
#include <stdio.h>
_Alignas(16) char arena[1 << 12];
size_t used;
int je_mallctlnametomib(void) { return 0; }
__attribute__((noipa)) void *je_malloc(size_t bytes) { used += bytes; return arena + used - bytes; }
__attribute__((noipa)) void je_free(void *block) { used -= block != NULL; }
int main(void)
{
  void *volatile block = je_malloc(1013);
  je_free(block);
  puts("done");
  return 0;
}
"""
TOO_LONG = """
__asm__(".globl je_cfree; .type je_cfree, @function; .set je_cfree, je_free; .size je_cfree, 0x40000000");
"""
IN_DATA = """
__asm__(".globl je_calloc; .type je_calloc, @KIND; .set je_calloc, arena; .size je_calloc, 64");
"""


@pytest.mark.parametrize("forged, name", [(TOO_LONG, "je_cfree"), (IN_DATA.replace("KIND", "function"), "je_calloc"),
                                          (IN_DATA.replace("KIND", "gnu_indirect_function"), "je_calloc")], ids=["too-long", "data", "chosen"])
def test_symbols_that_are_not_of_code(compile_c, record, forged, name):
    """Their bytes would be read, or even called."""
    program = compile_c(SMALL + forged)
    alone, recording = run([program]), record([program])
    assert (recording.process.returncode, recording.process.stdout) == (alone.returncode, alone.stdout) == (0, "done\n")
    assert notes_of(recording.report) == []
    assert notes_of(recording.report, "linked-in allocator not recorded") == [f"jemalloc (je_malloc) in {program}: what is named {name} is not code"]


def make_code_writable(program):
    """Makes the segment with code one for data, too, as `ld -N` does."""
    image = bytearray(program.read_bytes())
    headers, = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for at in range(headers, headers + size * count, size):
        kind, flags = struct.unpack_from("<II", image, at)
        if kind == 1 and flags & 1:
            struct.pack_into("<I", image, at + 4, flags | 2)
    program.write_bytes(image)


def test_data_on_the_page_of_the_code(compile_c, record):
    """The page must stay writable."""
    program = compile_c(SMALL.replace("size_t used;", 'size_t used __attribute__((section(".text.used")));'))
    make_code_writable(program)
    assert run([program]).returncode == 0
    recording = record([program])
    assert (recording.process.returncode, recording.process.stdout) == (0, "done\n")
    assert recorded_counts(recording.report_with("--top", "0"), [1013]) == {1013: (1, 0)} and len(notes_of(recording.report)) == 1


GROWS_HEAP = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
char small[4096];
char *beyond(void);
int main(void)
{
  char *const end = sbrk(0);
  const int is_grown = sbrk(200 << 20) == end;
  memset(end, 1, 4096);
  puts(is_grown ? "grown" : "not grown");
  return !beyond();
}
"""
ALLOCATOR_AFTER_MUCH_CODE = r"""
#include <stddef.h>
static _Alignas(16) char arena[1 << 12];
static size_t used;
int je_mallctlnametomib(void) { return 0; }
__asm__(".text; .skip 8 << 20, 0x90");
__attribute__((noipa)) void *je_malloc(size_t bytes) { used += bytes; return arena + used - bytes; }
__attribute__((noipa)) void je_free(void *block) { used -= block != 0; }
char *beyond(void) { char *volatile block = je_malloc(1013); je_free(block); return block; }
"""


@pytest.mark.parametrize("options", [["-no-pie"], ["-pie", "-fPIE"], ["-no-pie", "-Wl,-Ttext-segment=0x10000"]], ids=["usual", "pie", "low"])
def test_heap_of_brk_grows_as_without_it(compile_c, record, tmp_path, options):
    """The code that the jumps lead to is not where the heap grows. Without randomization that begins at the end of the program."""
    if run(["setarch", "-R", "true"]).returncode != 0:
        pytest.skip("randomization cannot be switched off here")
    allocator = tmp_path / "allocator.c"
    allocator.write_text(ALLOCATOR_AFTER_MUCH_CODE)
    program = compile_c(GROWS_HEAP, str(allocator), *options)
    recording = record(["setarch", "-R", program])
    assert (recording.process.returncode, recording.process.stdout) == (0, "grown\n")
    report = json.loads(recording.hw("report", "--json", "--children", recording.trace).stdout)
    if os.uname().machine == "aarch64" and "0x10000" in options[-1]:  # a jump reaches 128 MiB, and there the heap grows
        assert notes_of(report, "linked-in allocator not recorded") == [f"jemalloc (je_malloc) in {program}: there is no free memory near its code"]
    else:
        assert recorded_counts(report, [1013]) == {1013: (1, 0)}


BINDS_ITS_OWN = r"""
#include <stdlib.h>
__attribute__((visibility("default"))) void *give(unsigned long size) { return malloc(size); }
__attribute__((visibility("default"))) void take(void *block) { free(block); }
"""
USES_BOTH = r"""
#include <stdio.h>
#include <stdlib.h>
void *give(unsigned long size);
void take(void *block);
int main(void)
{
  for (int i = 0; i < 100; i++) {
    take(malloc(1013));
    free(give(2027));
    take(give(3011));
    free(malloc(4099));
  }
  give(1021);
  return 3;
}
"""


@pytest.mark.parametrize("options", [[], ["-Wl,-Bsymbolic"], ["-Wl,-Bsymbolic-functions"]], ids=["table", "symbolic", "symbolic-functions"])
def test_library_that_is_malloc_and_calls_it(compile_c, record, tmp_path, options):
    """The linker may have bound the calls within it; blocks go both ways."""
    library = compile_c(BINDS_ITS_OWN, "-shared", "-fPIC", "-fno-builtin", file_of("libjemalloc_pic.a"), *options, "-lm", "-pthread", name="libboth.so")
    program = compile_c(USES_BOTH, "-fno-builtin", str(library), f"-Wl,-rpath,{tmp_path}")
    recording = record([program])
    assert recording.process.returncode == 3
    report = recording.report_with("--top", "0")
    assert recorded_counts(report, [1013, 2027, 3011, 4099, 1021]) == {1013: (100, 0), 2027: (100, 0), 3011: (100, 0), 4099: (100, 0), 1021: (1, 1)}
    check_is_complete(report)
    assert notes_of(report) == ([f"jemalloc (malloc) in {library}"] if options else [])
