#!/usr/bin/python3
"""make_seeds.py BUILD FOLDER   fills FOLDER with a small core dump, whole and without its first page."""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WRITER = """
#include <stdio.h>
#include "small_core.h"
int main(void)
{
  static uint8_t file[SMALL_CORE_BYTES];
  small_core_make(file);
  return fwrite(file, sizeof file, 1, stdout) != 1;
}
"""


def main(_build, folder):
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "writer"
        subprocess.run(["gcc", "-x", "c", "-", f"-I{HERE}", "-o", program], input=WRITER, text=True, check=True)
        core = subprocess.run([program], capture_output=True, check=True).stdout
    (Path(folder) / "core").write_bytes(core)
    (Path(folder) / "raw").write_bytes(core[4096:])


main(*sys.argv[1:])
