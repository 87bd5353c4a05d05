"""test_files.py - a library that was loaded by a relative path is found in the program's working directory of that time

Breaks if its frames stay addresses, or if a file of that name is looked for in the folder in which the program
started.
"""

import pytest

PLUGIN = """
#include <stdlib.h>
void *NAME(void)
{
  return malloc(4321);
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  if (argc < 3 || chdir(argv[1]))
    return 1;
  void *library = dlopen("./plugin.so", RTLD_NOW);
  void *(*allocate)(void) = library ? (void *(*)(void))dlsym(library, argv[2]) : NULL;
  if (!allocate)
    return fputs(dlerror(), stderr), 2;
  if (!allocate())
    return 3;
  return read(0, argv[0], 1); /* input ends after a look at the process */
}
"""


@pytest.mark.parametrize("options", [[], ["-q"]])
@pytest.mark.parametrize("is_decoy", [False, True])
def test_relative_after_chdir(compile_c, record_until, tmp_path, is_decoy, options):
    program = compile_c(PROGRAM, name="program")
    elsewhere = tmp_path / "elsewhere"
    start = tmp_path / "start"
    elsewhere.mkdir()
    start.mkdir()
    compile_c(PLUGIN.replace("NAME", "allocate_elsewhere"), "-shared", "-fPIC", name="plugin.so").rename(elsewhere / "plugin.so")
    if is_decoy:
        compile_c(PLUGIN.replace("NAME", "decoy"), "-shared", "-fPIC", name="plugin.so").rename(start / "plugin.so")

    def frame_of(report):
        stack = next((top["stack"] for top in report["top"] if top["bytes"] == 4321), [])
        return next((frame for frame in stack if frame["module"].endswith("plugin.so")), None)

    def is_seen(report):
        frame = frame_of(report)
        return frame and frame["module"] == str(elsewhere / "plugin.so")

    recording = record_until(is_seen, [program, elsewhere, "allocate_elsewhere"], *options, cwd=start)
    assert recording.process.returncode == 0, recording.process.stderr
    frame = frame_of(recording.report)
    assert (frame["function"], frame["module"]) == ("allocate_elsewhere", str(elsewhere / "plugin.so"))
