"""heapwright/annotate.h without an operating system: its memory, dumped by a debugger, names the owners of all blocks"""

import json
import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from allocators_library import PROGRAMS, ROOT, compile_source
from machine import INLINE_ATOMICS
from owners_reader import Owners

HW = Path(os.environ.get("HW_BUILD", ROOT / "build")) / "bin/heapwright"
ARM = "arm-none-eabi-gcc"
RAM, RAM_BYTES = 0x20000000, 64 << 10
FREESTANDING = ["-Os", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Wconversion", "-Werror", f"-I{ROOT}/include"]

needs_arm = pytest.mark.skipif(not shutil.which(ARM), reason=f"no {ARM}")


def build_board(folder, cpu, *flags):
    program = folder / "board.elf"
    compile_source(ARM, f"-mcpu={cpu}", "-mthumb", "-g", *FREESTANDING, *flags, PROGRAMS / "board.c", "-T", PROGRAMS / "board.ld", "-lgcc",
                   "-o", program)
    return program


def dump_ram(program, folder):
    """The RAM of the board, when the program says that it is ready."""
    image, serial = folder / "ram.bin", folder / "serial"
    board = subprocess.Popen(["qemu-system-arm", "-M", "lm3s6965evb", "-display", "none", "-serial", f"file:{serial}", "-monitor", "stdio",
                              "-kernel", program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not serial.exists() or b"ready" not in serial.read_bytes():
            assert time.monotonic() < until and board.poll() is None
            time.sleep(0.02)
        board.communicate(f'pmemsave {RAM:#x} {RAM_BYTES} "{image}"\nquit\n'.encode(), timeout=60)
    finally:
        board.kill()
        board.wait()
    return image


def functions_of(program, addresses):
    done = subprocess.run(["arm-none-eabi-addr2line", "-f", "-e", program, *(hex(address - 1) for address in addresses)],
                          capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[::2]


@needs_arm
@pytest.mark.skipif(not shutil.which("qemu-system-arm"), reason="no qemu-system-arm")
@pytest.mark.parametrize("cpu, flags", [("cortex-m3", []), ("cortex-m0", []), ("cortex-m3", ["-DHW_ANNOTATE_INLINE=1"]),
                                        ("cortex-m3", ["-DHW_ANNOTATE_RED_ZONE=4"])])
def test_board(cpu, flags, tmp_path):
    program = build_board(tmp_path, cpu, *flags)
    image = dump_ram(program, tmp_path)
    owners = Owners(image.read_bytes(), RAM)
    assert (owners.word, owners.align, owners.stacks_lost, owners.incident_count) == (4, 8, 0, 0)
    found = Counter()
    for size, stack in owners.blocks.values():
        names = functions_of(program, owners.stacks[stack])
        assert names[-1] == "reset" and "start" in names, names
        found[names[0], size] += 1
    assert found == {("start", 300): 1, ("open_port", 100): 7, **{("read_sensor", 24 + 8 * i): 1 for i in range(4, 10)}}
    check_core(program, image)
    if owners.is_inline:  # the stacks are in front of the blocks, too
        image.write_bytes(image.read_bytes().replace(b"heapwrig-owners", b"?" * 15))
        check_core(program, image)


def core_of_board(program, image, *options):
    done = subprocess.run([HW, "core", "--json", "--word", "32", "--base", hex(RAM), *options, program.name, "--raw", image],
                          cwd=program.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_core(program, image, *options):
    """The same by the tool."""
    report = core_of_board(program, image, *options)
    assert (report["allocator"], report["damage"]) == ("annotated", [])
    assert {(stack["stack"][0]["function"], stack["live_blocks"], stack["live_bytes"]) for stack in report["top"]} == \
        {("start", 1, 300), ("open_port", 7, 700), ("read_sensor", 6, 456)}


ARM_BIG = shutil.which("qemu-armeb") or shutil.which("qemu-armeb-static")


@needs_arm
@pytest.mark.skipif(not ARM_BIG, reason="no qemu-armeb")
@pytest.mark.parametrize("flags", [[], ["-DHW_ANNOTATE_INLINE=1"]])
def test_big_endian(flags, tmp_path):
    """The highest byte of a word comes first: in the RAM of a program that ran, and in its file."""
    program, image = tmp_path / "board.elf", tmp_path / "ram.bin"
    compile_source(ARM, "-mcpu=cortex-a15", "-mthumb", "-mbig-endian", "-Wl,--be8", "-g", *FREESTANDING, *flags, PROGRAMS / "big_endian.c",
                   "-T", PROGRAMS / "big_endian.ld", "-o", program)
    image.write_bytes(subprocess.run([ARM_BIG, program], stdout=subprocess.PIPE, check=True, timeout=60).stdout)
    check_core(program, image, "--big-endian")
    report = core_of_board(program, image, "--big-endian", "--leaks")
    assert report["leaked_blocks"] == 0
    retained = core_of_board(program, image, "--big-endian", "--retained")["retained"]
    assert {row["held_by"]["variable"] for row in retained} == {"kept"}
    without = subprocess.run([HW, "core", "--word", "32", "--raw", f"{image}@{RAM:#x}", program], capture_output=True, text=True, check=False)
    assert without.returncode == 2 and "no heap was found" in without.stderr


@needs_arm
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33"])
def test_it_builds_for(cpu, tmp_path):
    build_board(tmp_path, cpu, "-O2")


@pytest.mark.parametrize("language", ["c11", "c17", "c2x", "c++17"])
def test_it_needs_no_libc(language, tmp_path):
    """Its functions call nothing but what the user gives."""
    source = tmp_path / ("user.cc" if "++" in language else "user.c")
    source.write_text("#include <stddef.h>\n" + 'extern "C" {\n' * ("++" in language) + "void *below(size_t bytes, size_t align);\nvoid give_back(void *memory);\n"
                      "#define HW_ANNOTATE_ALLOC(bytes, align) below(bytes, align)\n#define HW_ANNOTATE_FREE(memory) give_back(memory)\n"
                      "#define HW_ANNOTATE_INLINE 1\n#define HW_ANNOTATE_RED_ZONE 16\n#include <heapwright/annotate.h>\n"
                      "void *get(size_t size);\nvoid *get(size_t size) { return hw_annotate_realloc(hw_annotate_calloc(size, 2), 9 * size); }\n"
                      "void *get2(size_t size);\nvoid *get2(size_t size) { return hw_annotate_aligned(64, size); }\n"
                      "void put(void *block);\nvoid put(void *block) { hw_annotate_free(block); }\n" + "}\n" * ("++" in language))
    for level in ("-O0", "-O2", "-O3"):
        compile_source("gcc", f"-std={language}", "-c", *FREESTANDING, *INLINE_ATOMICS, level, source, "-o", tmp_path / "user.o")
        symbols = subprocess.run(["nm", "-u", tmp_path / "user.o"], capture_output=True, text=True, check=True).stdout.split()
        assert set(symbols) - {"U", "_GLOBAL_OFFSET_TABLE_"} == {"below", "give_back"}
