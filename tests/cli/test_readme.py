"""test_readme.py - the examples in README.md are the tool's output, and its commands can be typed

If this fails, the first page that readers see promises more than the tool does. The figures of the small program
below are known, and must be those of the page. A program that indexes a machine's headers has other figures and
stacks on each machine: there the parts of the report must be those of the page, in their order.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "README.md").read_text()
BLOCKS = [text for _, text in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)]
TRACKS = r"""
#include <stdlib.h>
struct track { char state[480]; };
static struct track *volatile tracks[4000];
static char *volatile map, *volatile line;
static void load_map(void)   { map = malloc(1 << 20); }

static void add_track(int i) { tracks[i] = malloc(sizeof *tracks[i]); }
static void log_line(void)   { free(line), line = malloc(LINE); }
int main(void)
{
  load_map();
  for (int i = 0; i < TRACKS; i++) add_track(i), log_line();
  for (int i = 0; i < TRACKS; i++) free(tracks[i]);
  free(line);
}
""".lstrip("\n").replace("#include <stdlib.h>\n", "#include <stdlib.h>\n\n")


def steps_of(block):
    """Returns [(command, its output)] of a session."""
    return [(step.partition("\n")[0], step.partition("\n")[2]) for step in re.split(r"^\$ ", block, flags=re.M)[1:]]


@pytest.fixture(scope="module")
def folder(build, tmp_path_factory):
    """A folder with old.hwt, new.hwt and codeindex.hwt."""
    folder = tmp_path_factory.mktemp("readme")
    tool = build / "bin/heapwright"
    for name, tracks, line in (("old", 1999, 79), ("new", 3999, 95)):
        (folder / name).mkdir()
        (folder / name / "tracks.c").write_text(TRACKS)
        subprocess.run(["gcc", "-g", "-O1", "-fno-inline", f"-DTRACKS={tracks}", f"-DLINE={line}", "tracks.c", "-o", "tracks"],
                       cwd=folder / name, check=True)
        subprocess.run([tool, "record", "-q", "-o", folder / f"{name}.hwt", "--", "./tracks"], cwd=folder / name, check=True)
    source = ROOT / "examples/demo/codeindex.cpp"
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-pthread", source, "-o", "codeindex"], cwd=folder, check=True)
    command = next(line for line in BLOCKS[0].splitlines() if line.startswith("codeindex.hwt ")).split()[1:]
    subprocess.run([tool, "record", "-q", "-o", "codeindex.hwt", "--", *command], cwd=folder, check=True,
                   env={"PATH": f"{folder}:/usr/bin:/bin"}, stdout=subprocess.DEVNULL)
    return folder


def run(build, folder, command, columns):
    environment = {"PATH": f"{build}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "COLUMNS": str(columns)}
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    assert done.stderr == "" and done.returncode in (0, 1)
    return done.stdout


def known_sessions():
    blocks = [block for block in BLOCKS if "new.hwt" in block and block.startswith("$ ")]
    return [step for block in blocks for step in steps_of(block)]


@pytest.mark.parametrize("command, shown", known_sessions(), ids=lambda value: value if value.startswith("heapwright") else "")
def test_known_figures(build, folder, command, shown):
    printed = run(build, folder, command, 100).splitlines()
    lines = shown.splitlines()
    if command.startswith("heapwright diff"):  # the page does not show the head
        printed = printed[printed.index(lines[0]):]
    assert printed == lines


def part_of(line):
    """The part of a line that is the same on another machine: its words up to the first figure. None: a chart, a
    stack, a finding."""
    if re.match(r" {6}\S|  .{8}│| {10}", line) or re.match(r"  (churn|handed on|advice|grows|slack|RSS gap|giant|failed)\b", line):
        return None
    return re.split(r"\s*[\d:]", line.strip(), maxsplit=1)[0].replace("Peak RSS", "RSS").replace("RSS near the peak, at", "RSS").replace("RSS at the peak", "RSS")


def parts_of(text):
    parts = [part_of(line) for line in text.splitlines()]
    return [part for part in dict.fromkeys(parts) if part]


@pytest.mark.parametrize("options, heading", [("--top 5", "Top stacks at the peak"), ("--leaks --top 2", "Still allocated at the end")])
def test_report(build, folder, options, heading):
    shown = next(block for block in BLOCKS if heading in block).partition("\n")[2] if options == "--top 5" else next(
        block for block in BLOCKS if heading in block)
    printed = run(build, folder, f"heapwright report {options} codeindex.hwt", 96)
    wanted, there = parts_of(shown), parts_of(printed)
    missing = [part for part in wanted if part not in there and not part.startswith("What stands out")]
    assert not missing, printed
    assert [part for part in there if part in wanted] == [part for part in wanted if part in there]


def test_demo_shows_what_the_page_shows():
    command = steps_of(BLOCKS[0])[0][0]
    assert command == "heapwright report --top 5 codeindex.hwt"
    demo = (ROOT / "examples/demo/run.sh").read_text()
    assert 'report --top 5 "$trace"' in demo and 'report --leaks --top 2 "$trace"' in demo


def test_options_exist(hw):
    """Each command line of the page has an existing subcommand, and options that its help lists."""
    lines = [line.removeprefix("$ ") for block in BLOCKS for line in block.splitlines()]
    commands = [line for line in lines if re.match(r"heapwright [a-z]+\b", line)]
    assert len(commands) > 15
    for line in commands:
        words = line.split("  ")[0].partition(" -- ")[0].split()
        explained = hw("help", words[1])
        assert explained.returncode == 0, line
        for option in (word.partition("=")[0] for word in words[2:] if word.startswith("-") and word != "-"):
            assert re.search(rf"(^|[\s,]){re.escape(option)}\b", explained.stdout), f"{option}: {line}"
