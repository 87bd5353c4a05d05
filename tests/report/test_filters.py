"""test_filters.py - every output says when a filter matches nothing

Breaks if an empty table, chart or total looks like an answer.
"""

import pytest

PROGRAM = """
#include <stdlib.h>

void *volatile block;
__attribute__((noinline)) void *half(void) { return malloc(1000); }
int main(void)
{
  for (int i = 0; i < 100; i++)
    block = i % 2 ? half() : malloc(50);
}
"""

FILTERS = [("--only", "func=halve"), ("--thread", "zork"), ("--only", "size=7"), ("--ignore", "module=*")]
OUTPUTS = ["--by=stack", "--by=function", "--by=file", "--by=line", "--by=module", "--by=thread", "--by=size", "--by=entry",
           "--tree", "--leaks", "--resizes", "--lifetimes", "--cost=calls"]
OF_WHOLE_STACKS = ["--lifetimes", "--resizes"]  # these refuse filters of threads and sizes


@pytest.fixture
def trace(record, compile_c):
    return record([compile_c(PROGRAM)]).trace


@pytest.mark.parametrize("output", OUTPUTS)
def test_text_says_that_nothing_is_left(hw, trace, output):
    for words in FILTERS:
        done = hw("report", output, *words, trace)
        if output in OF_WHOLE_STACKS and ("thread" in words[0] or "size" in words[1]):
            assert done.returncode == 2 and "only for whole stacks" in done.stderr, done
            continue
        assert done.returncode == 0
        lines = done.stdout.splitlines()
        assert any(line.endswith(": nothing is left of the run") for line in lines), done.stdout
        assert "      none" in lines or "the selected part" in done.stdout, done.stdout
        assert words[0] == "--ignore" or "matches nothing in this recording" in done.stdout, done.stdout


def test_lifetimes_are_of_what_is_left(hw, trace):
    lines = hw("report", "--lifetimes", "--only", "func=half", trace, env={"COLUMNS": "160", "PATH": "/bin"}).stdout.splitlines()
    whole = next(line for line in lines if line.endswith("   the selected part"))
    assert whole.split()[0] == "50"


@pytest.mark.parametrize("name", ["x.gp", "x.svg"])
def test_pictures_say_so_beside_them(hw, trace, tmp_path, name):
    done = hw("report", "--only", "func=halve", "-o", tmp_path / name, trace)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "heapwright: func=halve matches nothing in this recording; did you mean func=half?",
        "heapwright: nothing of the run is selected"]


def test_pictures_of_something_say_nothing(hw, trace, tmp_path):
    assert hw("report", "--only", "func=half", "-o", tmp_path / "x.gp", trace).stderr == ""


def test_the_page_refuses_a_filter(hw, trace, tmp_path):
    done = hw("report", "--only", "func=half", "-o", tmp_path / "x.html", trace)
    assert done.returncode == 2 and "leave --only out" in done.stderr
