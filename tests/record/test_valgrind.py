"""A program under valgrind: some of its tools put a malloc of their own in the place of the recorder's.

What would break: a report of three allocations, of a program that made thousands, that does not say why.
"""

import shutil

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")

MADE = 500
SOURCE = f"""
#include <stdlib.h>
int main(void)
{{
  for (int i = 0; i < {MADE}; i++)
    if (!malloc(10))
      return 1;
  return 0;
}}
"""


def recorded(record, program, *options):
    """The calls of the program, and the texts of what its images could not see."""
    recording = record(["valgrind", "-q", *options, program])
    images = recording.report["images"]
    return recording, sum(image["allocation_calls"] for image in images if image["executable"] == str(program)), [
        note["text"].rsplit("/", 1)[-1] for image in images for note in image["notes"] if note["kind"] == "own malloc"]


def test_malloc_of_a_tool_is_named(record, hw, compile_c):
    program = compile_c(SOURCE, "-fno-builtin")
    recording, calls, unseen = recorded(record, program, "--tool=memcheck")
    assert calls < MADE and len(unseen) == 1 and unseen[0].startswith("vgpreload_memcheck-")
    assert f"Not seen: {unseen[0]} brings its own malloc" in " ".join(hw("report", "--children", recording.trace).stdout.split())
    # The shell script that valgrind is allocates more than is seen of the program.
    of_another = " ".join(hw("report", recording.trace).stdout.split())
    assert "other process images" in of_another
    assert f"Not seen: in {program.name}, which is not shown, {unseen[0]} brings its own malloc" in of_another


def test_tools_without_one_hide_nothing(record, compile_c):
    program = compile_c(SOURCE, "-fno-builtin")
    _, calls, unseen = recorded(record, program, "--tool=none")
    assert calls >= MADE and not unseen
