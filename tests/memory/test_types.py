"""test_types.py - the types of blocks by debug information: heapwright names what the program itself has counted

Breaks if a type is read wrongly from debug information of any form, if a pointer to a type is followed that is none, or if blocks
are guessed at: each block of the programs is either counted with its type, or as unknown.
"""

import json
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"


def without_defaults(name):
    """A name without what depends on the compiler: default arguments, and blanks between brackets."""
    name = name.replace(STRING, "STRING").replace("std::basic_string<char>", "STRING")
    name = re.sub(r"long(?! int)", "long int", name.replace("std::allocator<void>", "void"))
    for before in iter(lambda: None, 0):
        before, name = name, re.sub(r",? ?std::(allocator|default_delete)<[^<>]*(<[^<>]*> ?)?>", "", name)
        if before == name:
            return name.replace(" >", ">")


def counts_of(report):
    """Returns {"type|member|variable": blocks}."""
    counts = {}
    for row in report["top"]:
        label = "|".join(without_defaults(frame["function"] or "?") for frame in row["stack"])
        counts[label] = counts.get(label, 0) + row["live_blocks"]
    return counts


@pytest.fixture
def counted(hw, tmp_path):
    """counted(program, options...): runs it until it waits; returns its own counts, and those of heapwright core."""

    def run(program, *options):
        expected = {}
        with subprocess.Popen([program], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
            for line in iter(process.stdout.readline, "ready\n"):
                count, _, label = line.rstrip("\n").partition(" ")
                expected[label] = expected.get(label, 0) + int(count)
            done = hw("core", "--json", *options, str(process.pid))
            process.kill()
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["types_complete"] and report["understood_percent"] == 100
        return expected, counts_of(report)

    return run


def build(folder, compiler, sources, *flags, name="program"):
    subprocess.run([compiler, *[PROGRAMS / source for source in sources], *flags, "-o", folder / name], check=True, cwd=folder)
    return folder / name


C_SOURCES = "types.c", "types_more.c"
FLAGS = {"plain": ["-g", "-O0"], "optimized": ["-g", "-O2"], "dwarf-4": ["-gdwarf-4", "-O1", "-no-pie"],
         "dwarf-5": ["-gdwarf-5", "-O1", "-fPIE", "-pie"], "dwarf-3": ["-gdwarf-3", "-gstrict-dwarf", "-O0"],
         "type-units": ["-g", "-fdebug-types-section"], "split": ["-g", "-gsplit-dwarf", "-O1"]}


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_records_of_c(counted, tmp_path, compiler, flags):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    # GCC writes no place of a thread-local variable there, and on 64-bit Arm nowhere
    without = ["-DWITHOUT_LOCAL"] if compiler == "gcc" and (flags == "split" or platform.machine() == "aarch64") else []
    program = build(tmp_path, compiler, C_SOURCES, *FLAGS[flags], *without)
    expected, found = counted(program)
    found = {label: count for label, count in found.items() if label in expected or not label.startswith("type unknown, up to")}
    assert found == expected


@pytest.mark.parametrize("flags", ["plain", "optimized", "dwarf-4", "type-units", "split"])
def test_containers(counted, tmp_path, flags):
    program = build(tmp_path, "g++", ["types_of_containers.cc"], "-std=c++17", *FLAGS[flags])
    expected, found = counted(program)
    assert {label: found.get(label) for label in expected} == expected


@pytest.mark.parametrize("flags", ["plain", "optimized"])
def test_many_blocks_at_one_distance(counted, tmp_path, flags):
    """They are read in the order of their addresses, and have the types that they would have one after the other."""
    expected, found = counted(build(tmp_path, "gcc", ["types_of_many.c"], *FLAGS[flags]))
    assert found == expected


def separate(program, *, link):
    """Moves the debug information to NAME.debug."""
    debug = program.with_suffix(".debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", "--strip-all", program], check=True)
    if link:
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    return debug


def test_a_separate_file(counted, tmp_path):
    program = build(tmp_path, "gcc", C_SOURCES, "-g", "-O2")
    whole = counted(program)[1]
    separate(program, link=True)
    assert counted(program)[1] == whole and "struct person|variable people" in whole


def test_a_separate_file_in_a_folder(counted, tmp_path):
    program = build(tmp_path, "gcc", C_SOURCES, "-g", "-O2")
    (tmp_path / "debug").mkdir()
    separate(program, link=False).rename(tmp_path / "debug/program.debug")
    assert counted(program)[1].get("struct person|variable people") is None
    assert counted(program, "--debug-dir", tmp_path / "debug")[1]["struct person|variable people"] == 1000


def test_without_debug_information(counted, tmp_path):
    """Blocks are by size, and objects by their vtables."""
    expected, found = counted(build(tmp_path, "gcc", C_SOURCES, "-O2"))
    assert all(re.fullmatch(r"type unknown, (\d+ bytes|up to \d+ [KM]iB)", label) for label in found)
    assert sum(found.values()) >= sum(expected.values())
    _, found = counted(build(tmp_path, "g++", ["types_of_containers.cc"], "-std=c++17", "-O2"))
    assert found["vtable for shop::Book"] == 500


def test_damaged_debug_information(hw, tmp_path):
    """Whatever is in it, the answer is one: at worst, types are missing."""
    program = build(tmp_path, "gcc", C_SOURCES, "-g", "-O2")
    debug = separate(program, link=False)
    (tmp_path / "debug").mkdir()
    whole, copy = debug.read_bytes(), tmp_path / "debug/program.debug"
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "ready\n":
            pass
        for seed in range(24):
            data = bytearray(whole)
            if seed % 4 == 0:
                del data[len(data) * seed // 24:]
            for i in range(0 if seed % 4 == 0 else 3 + 30 * (seed % 7)):
                at = 64 + (seed * 7919 + i * 104729) % (len(data) - 64)
                data[at] = (seed * 31 + i * 17) & 255
            copy.write_bytes(data)
            done = hw("core", "--json", "--debug-dir", tmp_path / "debug", str(process.pid))
            assert done.returncode == 0, (seed, done.returncode, done.stderr)
            assert json.loads(done.stdout)["live_blocks"] > 1000
        process.kill()


def test_single_blocks(hw, tmp_path):
    """--who has the type, and how it is known; the text of a report has the words."""
    program = build(tmp_path, "gcc", C_SOURCES, "-g")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "ready\n":
            pass
        text = hw("core", str(process.pid)).stdout
        listed = hw("core", "--format", "heapprof", str(process.pid)).stdout
        retained = json.loads(hw("core", "--retained", "--json", str(process.pid)).stdout)["retained"]
        address = next(row["block"]["address"] for row in retained if row["block"].get("type", "").startswith("struct person"))
        who = hw("core", "--who", hex(address), str(process.pid)).stdout
        answer = json.loads(hw("core", "--json", "--who", hex(address), str(process.pid)).stdout)
        process.kill()
    assert "      struct person\n      variable people\n" in text and "member name of struct person" in text
    assert "struct person" in listed
    assert "live, struct person, via people" in who
    assert answer["block"]["type"] == "struct person" and answer["block"]["type_variable"] == "people"


def test_a_moment_has_the_types(hw, tmp_path):
    """They are in a trace of the moment, and in what other commands make of it."""
    program = build(tmp_path, "gcc", C_SOURCES, "-g")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "ready\n":
            pass
        for name in "now.hwt", "types.html", "types.pb.gz":
            assert hw("core", str(process.pid), "-o", tmp_path / name).returncode == 0
        process.kill()
    report = hw("report", "--json", tmp_path / "now.hwt")
    assert counts_of(json.loads(report.stdout))["struct person|variable people"] == 1000
    text = hw("report", "--by", "function", "--top", "0", tmp_path / "now.hwt").stdout
    assert "struct person" in text and "variable people" in text
    same = hw("diff", tmp_path / "now.hwt", tmp_path / "now.hwt")
    assert same.returncode == 0 and "struct" not in same.stdout, (same.stderr, same.stdout)


# Each record that ends with an open array makes a type while it is laid out.
MANY_OPEN = ("#include <stdlib.h>\n#include <unistd.h>\nPAD\n" +
             "".join(f"struct item{i} {{ int *x; }}; struct list{i} {{ long count; struct item{i} last[1]; }};\n" for i in range(6000)) +
             "struct all { " + " ".join(f"struct list{i} m{i};" for i in range(6000)) + " } all;\n"
             "int main(void) { all.m0.last[0].x = malloc(100); write(1, \"r\", 1); pause(); }\n")


@pytest.mark.parametrize("pad", ["", "struct pad { long x; } pad;"])
def test_thousands_of_types(hw, compile_c, pad):
    """The table of types is moved when it grows, also while a record is laid out: where depends on how many types come before."""
    program = compile_c(MANY_OPEN.replace("PAD", pad), "-g")
    for _ in range(5):
        with subprocess.Popen([program], stdout=subprocess.PIPE) as process:
            assert process.stdout.read(1) == b"r"
            done = hw("core", "--json", str(process.pid))
            process.kill()
        assert done.returncode == 0, done.stderr
