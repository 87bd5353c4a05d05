"""other_cpus.py - the CPU of `tools/cross.sh ARCH test`: its compilers, its programs under qemu-user, and recordings of them"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CROSS = os.environ.get("HW_CROSS_BUILD")
ARCH = os.environ.get("HW_CROSS_ARCH")
SYSROOT = os.environ.get("HW_SYSROOT", "")
PROGRAMS = Path(__file__).parent / "cross/programs"
# Compilers know the tables for unwinding of RISC-V and 32-bit Arm, but do not make them for C by themselves.
CPUS = {"arm64": ("aarch64", 183, "-mbranch-protection=standard"), "riscv64": ("riscv64", 243, "-fasynchronous-unwind-tables"),
        "armhf": ("arm", 40, "-funwind-tables")}
needs_cpu = pytest.mark.skipif(not CROSS or ARCH not in CPUS, reason="needs tools/cross.sh ARCH test, with the name of a CPU")
CPU, MACHINE, OPTION = CPUS.get(ARCH, CPUS["arm64"])
TRIPLE = "arm-linux-gnueabihf" if ARCH == "armhf" else f"{CPU}-linux-gnu"
QEMU = shutil.which(f"qemu-{CPU}-static") or f"qemu-{CPU}"
EMULATOR = [QEMU, "-L", SYSROOT]
# What a program is compiled with. On Arm, the option is that return addresses are signed, which is tried without it, too.
WHERE = [f"--sysroot={SYSROOT}", f"-B{SYSROOT}/usr/lib/{TRIPLE}"]
GCC = [f"{TRIPLE}-gcc", *WHERE, *([] if ARCH == "arm64" else [OPTION])]
OF_GCC = max(Path("/usr/lib/gcc-cross", TRIPLE).glob("[0-9]*"), default="")
CLANG = ["clang", f"--target={TRIPLE}", *WHERE, f"-B{OF_GCC}", f"-L{OF_GCC}", "-fuse-ld=bfd", OPTION]
COMPILERS = {
    "gcc": [*GCC, "-O2"],
    "gcc-O0": [*GCC, "-O0"],
    "gcc-option": [*GCC, "-O2", OPTION],
    "gcc-frame-pointer": [*GCC, "-O2", "-fno-omit-frame-pointer"],
    "gcc-no-frame-pointer": [*GCC, "-O2", "-fomit-frame-pointer", OPTION],
    "gcc-checked-stack": [*GCC, "-O2", "-fstack-protector-all", "-fstack-clash-protection"],
    "clang": [*CLANG, "-O2"],
    "clang-no-frame-pointer": [*CLANG, "-O2", "-fomit-frame-pointer"],
}
if ARCH == "armhf":
    COMPILERS.update({"gcc-arm": [*GCC, "-O2", "-marm"], "clang-arm": [*CLANG, "-O2", "-marm"]})
# By default, gcc keeps frame pointers on Arm alone. Without them, code without tables cannot be passed.
# On 32-bit Arm, frame pointers do not lead from frame to frame.
HAS_POINTERS = {"arm64": {"gcc", "gcc-O0", "gcc-option", "gcc-frame-pointer", "gcc-checked-stack", "clang"},
                "riscv64": {"gcc-O0", "gcc-frame-pointer"}, "armhf": set()}.get(ARCH, set())
CXX = [f"{TRIPLE}-g++", *WHERE, "-O2", OPTION]


def run(command, status=0, root=SYSROOT, **env):
    """Runs a program of that CPU, which finds its libraries below `root`."""
    done = subprocess.run([QEMU, "-L", root, *map(str, command)], env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done.stderr
    return done


def record_to(trace, command, status=0, root=SYSROOT, **env):
    """Records a run without a launcher. Returns its trace and what it printed."""
    done = run(command, status, root, LD_PRELOAD=f"{CROSS}/lib/libheapwright-record.so", HEAPWRIGHT_OUTPUT=str(trace), **env)
    assert not done.stderr, done.stderr
    return trace, done.stdout


def report_of(hw, trace, *options):
    done = hw("report", "--json", *options, trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
