"""test_code.py - breaks if instructions are decoded otherwise than objdump prints them, in real libraries: on x86-64 their lengths, on 64-bit
Arm their distances"""

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READER = """
#include <stdio.h>
#include "platform/code/x86_64.h"
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


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="about x86-64")
@pytest.mark.parametrize("name", LIBRARIES)
def test_lengths_are_objdump_s(compile_c, name):
    library = Path("/usr/lib/x86_64-linux-gnu") / name
    if not library.exists():
        pytest.skip(f"no {name} here")
    reader = compile_c(READER, f"-I{ROOT}/src", str(ROOT / "src/platform/code/x86_64_decode.c"))
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


# --- 64-bit Arm, on any machine ---

ARM_READER = """
#include <inttypes.h>
#include <stdio.h>
#include "platform/code/aarch64.h"
int main(void)
{
  uint64_t address;
  uint32_t word;
  while (scanf("%" SCNx64 " %" SCNx32, &address, &word) == 2) {
    struct hwi_instruction is;
    const bool is_known = hwi_arm64_decode(&is, word);
    printf("%d %d %d %" PRIxPTR "\\n", is_known, is.kind, is_known && hwi_arm64_is_movable(&is), hwi_arm64_target(&is, address));
  }
}
"""
OTHER, JUMP, CALL, JUMP_IF, ADDRESS, PAGE, LOAD = range(7)
ARM_LINE = re.compile(r"\s*([0-9a-f]+):\t([0-9a-f]{8}) \t(\S+)\s*([^;/]*)")
ARM_TARGET = re.compile(r"(?:^|, )(?:0x)?([0-9a-f]+)(?: <[^>]*>)?$")
ARM_LIBRARIES = Path("/usr/lib/aarch64-linux-gnu" if os.uname().machine == "aarch64" else "/usr/aarch64-linux-gnu/lib")
# What must not be moved, if it has no distance.
STAYS = re.compile(r"(blr|bra|ldx|stx|lda|stl|ldl|cas|swp|aut|pacd)\w*|paci[ab]z?|eret|svc|hvc|smc|brk|hlt|udf|\.inst|dc|ic|at|tlbi|sys|msr|wf[ei]|sevl?|dmb|dsb|isb|sb|clrex")


def kind_by_objdump(name, target):
    if name == "b" or name == "bl":
        return JUMP if name == "b" else CALL
    if name.startswith(("b.", "cbz", "cbnz", "tbz", "tbnz")):
        return JUMP_IF
    if name in ("adr", "adrp"):
        return ADDRESS if name == "adr" else PAGE
    return LOAD if name in ("ldr", "ldrsw", "prfm") and target else OTHER


@pytest.mark.skipif(not shutil.which("aarch64-linux-gnu-objdump"), reason="no objdump for 64-bit Arm here")
@pytest.mark.parametrize("name", ["libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1"])
def test_distances_are_objdump_s(compile_c, name):
    library = ARM_LIBRARIES / name
    if not library.exists():
        pytest.skip(f"no {name} of 64-bit Arm here")
    reader = compile_c(ARM_READER, f"-I{ROOT}/src", str(ROOT / "src/platform/code/aarch64_decode.c"))
    listed = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "-z", library], capture_output=True, text=True, check=True).stdout
    instructions = [match.groups() for match in map(ARM_LINE.match, listed.splitlines()) if match]
    given = "".join(f"{address} {word}\n" for address, word, _, _ in instructions)
    done = subprocess.run([reader], input=given, capture_output=True, text=True, check=True).stdout.splitlines()
    wrong, unknown, counts = [], [], Counter()
    for (address, word, text, operands), line in zip(instructions, done, strict=True):
        is_known, kind, is_movable, target = line.split()
        # A literal's operand has no brackets, and is no constant of a mov.
        found = ARM_TARGET.search(operands.strip()) if "[" not in operands and "#" not in operands.split(", ")[-1] else None
        expected = kind_by_objdump(text, found)
        counts[expected] += 1
        if is_known == "0":
            unknown.append((address, word, text))
        elif int(kind) != expected or (expected != OTHER and int(target, 16) != int(found[1], 16)):
            wrong.append((address, word, text, operands, line))
        elif is_movable == "1" and (expected in (CALL, LOAD) or (expected == OTHER and STAYS.fullmatch(text))):
            wrong.append((address, word, text, operands, line))
    assert len(done) > 5000 and wrong == []
    assert all(counts[kind] > 5 for kind in (OTHER, JUMP, CALL, JUMP_IF, PAGE)), counts
    assert {text for _, _, text in unknown} <= {"udf", ".inst"}, unknown[:20]
