"""test_code.py - breaks if the lengths of instructions of x86-64 differ from those that objdump prints, in real libraries"""

import platform
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READER = """
#include <stdio.h>
#include "platform/code_x86_64.h"
int main(void)
{
  char line[128];
  while (fgets(line, sizeof line, stdin)) {
    unsigned char code[32];
    size_t count = 0;
    unsigned byte;
    for (char *at = line; count < sizeof code && sscanf(at, "%2x", &byte) == 1; at += 2)
      code[count++] = (unsigned char)byte;
    struct hwi_instruction is;
    printf("%d\\n", hwi_x86_decode(&is, code, count) ? is.bytes : 0);
  }
}
"""
LINE = re.compile(r"\s*[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*(.*)")
LIBRARIES = ["libc.so.6", "libm.so.6", "libstdc++.so.6", "libmvec.so.1", "libjemalloc.so.2", "libmimalloc.so.2.0", "libtcmalloc_minimal.so.4"]


def instructions_of(library):
    """The bytes and the text of each instruction, as objdump decodes them one after the other."""
    done = subprocess.run(["objdump", "-d", "-w", "-z", "--insn-width=16", library], capture_output=True, text=True, check=True)
    found = [LINE.match(line) for line in done.stdout.splitlines()]
    return [(bytes.fromhex(match[1]), match[2]) for match in found if match]


def is_code(bytes_, text):
    """Tables of constants between functions are not, and are decoded to nonsense. objdump takes a prefix alone for an instruction, and
    joins x87's fwait (9b) with the next one."""
    words = text.split()
    return words and "(bad)" not in text and words[0] != ".byte" and bytes_[0] != 0x9b and not (
        len(words) == 1 and words[0].startswith(("rex", "data16", "ds", "cs", "es", "ss", "fs", "gs", "repz", "repnz", "lock", "bnd", "addr32")))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="about x86-64")
@pytest.mark.parametrize("name", LIBRARIES)
def test_lengths_are_objdump_s(compile_c, name):
    library = Path("/usr/lib/x86_64-linux-gnu") / name
    if not library.exists():
        pytest.skip(f"no {name} here")
    reader = compile_c(READER, f"-I{ROOT}/src", str(ROOT / "src/platform/code_x86_64_decode.c"))
    instructions = instructions_of(library)
    code = b"".join(bytes_ for bytes_, _ in instructions)
    lines, at = [], 0
    for bytes_, _ in instructions:
        lines.append(code[at:at + 16].hex())
        at += len(bytes_)
    done = subprocess.run([reader], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    lengths = list(map(int, done.stdout.split()))
    real = [(bytes_, text, length) for (bytes_, text), length in zip(instructions, lengths) if is_code(bytes_, text)]
    wrong = [(bytes_.hex(), text, length) for bytes_, text, length in real if length not in (0, len(bytes_))]
    unknown = [(bytes_.hex(), text) for bytes_, text, length in real if length == 0]
    assert len(real) > 5000 and wrong == []
    assert len(unknown) < len(real) / 500, unknown[:20]
