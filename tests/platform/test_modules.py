"""An executable with holes between its segments is one module.

The kernel maps an executable segment by segment. If their page sizes leave holes, glibc's _dl_find_object answers
with a single segment, in which there is no call frame information, and every stack would end at its first frame
(/usr/bin/make is such an executable on Debian 12).
"""

PROGRAM = """#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void deep(int n) { if (n) deep(n - 1); else kept = malloc(4321); __asm__ volatile(""); }
int main(void) { deep(20); return kept == NULL; }
"""


def test_stacks_through_an_executable_with_holes(compile_c, preload):
    program = compile_c(PROGRAM, "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-Wl,-z,max-page-size=0x10000")
    recording = preload([program])
    assert recording.process.returncode == 0, recording.process.stderr
    (stack,) = [entry["stack"] for entry in recording.report["top"] if entry["bytes"] == 4321]
    names = [frame["function"] for frame in stack]
    assert names[:22] == ["deep"] * 21 + ["main"]
    assert names[-1] == "_start"
