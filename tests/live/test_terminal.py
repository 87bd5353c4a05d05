"""test_terminal.py - heapwright live --text: rows of figures that agree with the report, keys, and a terminal that is as it was

A terminal of tmux is the user's.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from trace_header import is_begun
from waiting import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
SIZES = ((80, 24), (200, 50))
NAMES = ("stack", "function", "thread", "size", "sizes", "process")
TABS = ("Stacks", "Functions", "Threads", "Sizes", "Size classes", "Processes")


class Terminal:
    """A shell in a terminal of tmux."""

    def __init__(self, columns, lines, folder):
        self.folder = tempfile.mkdtemp(prefix="hw")  # the path of a socket must be short
        Path(self.folder, "conf").write_text("set -g status off\nset -sg escape-time 0\n")
        self.run("new-session", "-d", "-x", columns, "-y", lines, "-c", folder,
                 "env -u NO_COLOR -u DISPLAY -u WAYLAND_DISPLAY LC_ALL=C.UTF-8 PS1='ready$ ' bash --norc --noprofile")
        self.wait(lambda: self.text().startswith("ready$"))

    def run(self, *words):
        done = subprocess.run(["tmux", "-S", os.path.join(self.folder, "s"), "-f", os.path.join(self.folder, "conf"), *map(str, words)], capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lines(self):
        return self.run("capture-pane", "-p").split("\n")[:-1]

    def text(self):
        return "\n".join(self.lines())

    def codes(self):
        """The screen with its escape sequences."""
        return self.run("capture-pane", "-e", "-p")

    def press(self, *keys):
        self.run("send-keys", *keys)

    def type(self, text):
        self.run("send-keys", "-l", text)

    def command(self, line):
        self.type(line)
        self.press("Enter")

    def wait(self, condition):
        try:
            return wait_until(condition)
        except AssertionError:
            raise AssertionError(self.text()) from None

    def wait_for(self, words):
        self.wait(lambda: words in self.text())

    def is_alternate(self):
        return self.run("display-message", "-p", "#{alternate_on} #{cursor_flag}") != "0 1\n"

    def rows(self):
        """The table: by name, a dict of columns; and the titles, in their order."""
        lines = self.lines()
        at = next((i for i, line in enumerate(lines) if re.match(r" *.?growth +", line)), None)
        return table(lines[at:]) if at is not None else {}

    def end(self):
        subprocess.run(["tmux", "-S", os.path.join(self.folder, "s"), "kill-server"], capture_output=True)
        shutil.rmtree(self.folder)


def table(lines):
    """The rows below a line of titles: each figure must end where its title ends."""
    titles = [(match.group().lstrip("▼*"), match.end()) for match in re.finditer(r"[▼*]?(at peak|\S+)", lines[0])]
    names = next((i for i, (title, _) in enumerate(titles) if title in NAMES), 0)
    rows = {}
    for line in lines[1:] if names else []:
        cells, begin = {}, 0
        for title, end in titles[:names]:
            cells[title] = line[begin:end].strip()
            begin = end
        if not re.fullmatch(r"[+-]?[\d,.]+( B| [kMG]B)?", cells["growth"]):
            break
        rows[line[begin:].strip()] = cells
    return rows


@pytest.fixture
def terminal(tmp_path):
    made = []

    def start(columns=80, lines=24):
        made.append(Terminal(columns, lines, tmp_path))
        return made[-1]

    yield start
    for each in made:
        each.end()


@pytest.fixture
def program(record_steps):
    return record_steps("rows", "-g", "-pthread")


@pytest.fixture
def show_trace(tool, terminal):
    """show_trace(trace, 80, 24): a terminal with the view of a recording."""

    def start(trace, columns=200, lines=24, before=""):
        made = terminal(columns, lines)
        made.command(f"{before}{tool} live --text {trace}")
        made.wait_for("growth/s")
        return made

    return start


@pytest.fixture
def show(program, show_trace):
    """show(80, 24): a terminal with the view of the program."""
    return lambda columns=80, lines=24, before="": show_trace(program.trace, columns, lines, before)


def row_of(terminal, name):
    return next((row for found, row in terminal.rows().items() if found.startswith(name)), {})


def wait_for_row(terminal, name, **figures):
    """Waits until the row has these figures."""
    terminal.wait(lambda: {title: row_of(terminal, name).get(title) for title in figures} == figures)


@pytest.mark.parametrize("columns, lines", SIZES)
def test_rows_have_the_figures_of_the_program(program, show, columns, lines):
    screen = show(columns, lines)
    program.tell("alpha 1000")
    program.tell("beta 500")
    wait_for_row(screen, "alpha", live="1.0 MB", blocks="1,001")
    wait_for_row(screen, "beta", live="32.0 kB", blocks="500")
    screen.wait(lambda: list(screen.rows())[0].startswith("alpha"))  # what grows is first
    assert row_of(screen, "alpha")["growth"] == "+1.0 MB"
    program.tell("free")
    wait_for_row(screen, "alpha", live="0", blocks="0", growth="0")
    assert max(map(len, screen.lines())) <= columns
    assert len(screen.lines()) == lines


@pytest.mark.parametrize("columns, lines", SIZES)
def test_each_tab(program, show, columns, lines):
    program.tell("alpha 1000")
    program.tell("beta 500")
    screen = show(columns, lines)
    wait_for_row(screen, "beta", blocks="500")
    expected = {"2": ("alpha", "1,001"), "3": ("beta (", "500"), "4": ("1,000 B", "1,001"), "5": ("513 to 1,024 B", "1,001"), "6": (None, None)}
    for key, (name, blocks) in expected.items():
        screen.press(key)
        if name:
            wait_for_row(screen, name, blocks=blocks)
        else:
            screen.wait(lambda: any("/rows" in name for name in screen.rows()))
        assert max(map(len, screen.lines())) <= columns
    screen.press("Tab")
    wait_for_row(screen, "alpha", blocks="1,001")
    assert all(tab in screen.text() for tab in TABS)


def test_a_reset_begins_growth_and_can_be_undone(program, show):
    program.tell("alpha 1000")
    screen = show()
    wait_for_row(screen, "alpha", growth="+1.0 MB")
    screen.press("r")
    screen.wait_for("(reset ")
    wait_for_row(screen, "alpha", growth="0")
    program.tell("alpha 9")
    wait_for_row(screen, "alpha", growth="+9,000 B", blocks="1,010")
    screen.press("r")
    wait_for_row(screen, "alpha", growth="0")
    screen.press("u")
    wait_for_row(screen, "alpha", growth="+9,000 B")
    screen.press("u")
    screen.wait_for("(growth in ")
    screen.press("u")
    screen.wait_for("no reset to undo")


def test_the_order(program, show):
    program.tell("alpha 1000")
    program.tell("beta 5000")
    program.tell("churn 100000")
    screen = show()

    def is_first(name):
        rows = list(screen.rows())
        return rows and rows[0].startswith(name)

    for title, name in ("growth", "alpha"), ("growth/s", None), ("live", "alpha"), ("blocks", "beta"), ("allocs/s", None), ("at peak", "alpha"), ("allocs", "churn"):
        screen.wait(lambda: f"▼{title} " in screen.text())
        if name:
            screen.wait(lambda: is_first(name))
        screen.press(">")
    screen.wait(lambda: "▼growth " in screen.text())
    screen.press("Left")
    screen.wait(lambda: is_first("churn"))


def test_filters_and_a_stack(program, show):
    program.tell("alpha 1000")
    program.tell("beta 500")
    screen = show()
    screen.press("/")
    screen.wait_for("Only names with")
    screen.type("betax")
    screen.press("BSpace")
    screen.press("Enter")
    screen.wait_for("Only func=*beta*: 32.0 kB in 500 blocks")
    screen.wait(lambda: [name.split()[0] for name in screen.rows()] == ["beta"])
    screen.press("Enter")
    screen.wait(lambda: re.search(r"^beta +\S*rows\.c:\d+$", screen.text(), re.M))
    assert row_of(screen, "beta")["blocks"] == "500"
    screen.press("Escape")
    screen.wait(lambda: "Esc back" not in screen.text())
    screen.press("Escape")
    screen.wait(lambda: "Only" not in screen.text() and row_of(screen, "alpha"))
    for key, title, name, rule in (("3", "thread", "beta (", "thread="), ("4", "size", "1,000 B", "size=1000"), ("5", "sizes", "33 to 64 B", "size=33..64"),
                                   ("2", "function", "alpha", "func=alpha"), ("6", "process", "", "pid=")):
        screen.press(key)
        screen.wait(lambda: f"  {title}" in screen.text() and row_of(screen, name))
        for _ in range(next(i for i, row in enumerate(screen.rows()) if row.startswith(name))):
            screen.press("Down")
        screen.press("Enter")
        screen.wait_for(f"Only {rule}")
        screen.press("Escape")
        screen.wait(lambda: "Only" not in screen.text())
    screen.press("/")
    screen.type("size=abc")
    screen.press("Enter")
    screen.wait_for("size= takes a size")
    screen.press("/")
    screen.type("func=alpah")
    screen.press("Enter")
    screen.wait_for("did you mean func=alpha?")


def test_the_chosen_row_is_followed(program, show):
    program.tell("alpha 100")
    program.tell("beta 10")
    screen = show()
    screen.wait(lambda: row_of(screen, "beta"))
    while not screen.lines()[-2].startswith("beta"):
        before = screen.lines()[-2]
        screen.press("Down")
        screen.wait(lambda: screen.lines()[-2] != before)
    program.tell("beta 100000")
    screen.wait(lambda: list(screen.rows())[0].startswith("beta"))
    assert screen.lines()[-2].startswith("beta")
    screen.press("End")
    screen.wait(lambda: not screen.lines()[-2].startswith("beta"))
    screen.press("Home")
    screen.wait(lambda: screen.lines()[-2].startswith("beta"))


def test_pause_and_interval(program, show):
    screen = show()
    for key, words in ("+", "every 500 ms"), ("+", "every 200 ms"), ("+", "every 100 ms"), ("-", "every 200 ms"):
        screen.press(key)
        screen.wait_for(words)
    screen.press("Space")
    screen.wait_for("paused at ")
    before = row_of(screen, "alpha")
    program.tell("alpha 77")
    screen.press("?")
    screen.wait_for("PgUp PgDn")
    screen.press("x")
    screen.wait_for("paused at ")
    assert row_of(screen, "alpha") == before
    screen.press("Space")
    wait_for_row(screen, "alpha", blocks="78")


def test_marks_and_switching_the_recording(program, show, hw):
    screen = show()
    screen.press("m")
    screen.type("loaded ü")
    screen.press("Enter")
    screen.wait_for("The mark 'loaded ü' is set.")
    screen.press("o")
    screen.wait_for("recording is off")
    screen.wait_for(", recording is off")
    program.tell("alpha 5")
    screen.press("o")
    screen.wait_for("Recording is on.")
    screen.wait(lambda: ", recording is off" not in screen.text())
    program.tell("alpha 2")
    wait_for_row(screen, "alpha", blocks="3")
    assert program.end() == 0
    report = json.loads(hw("report", "--json", program.trace).stdout)
    assert "loaded ü" in [mark["text"] for image in report["images"] for mark in image["marks"] if "text" in mark]


def test_the_size_may_change(program, show):
    program.tell("alpha 1000")
    screen = show()
    screen.run("resize-window", "-x", 60, "-y", 24)
    screen.wait_for("Too small: it needs 72 columns and 12 lines")
    screen.run("resize-window", "-x", 160, "-y", 40)
    wait_for_row(screen, "alpha", blocks="1,001", allocs="1,001")
    screen.run("resize-window", "-x", 72, "-y", 12)
    wait_for_row(screen, "alpha", blocks="1,001")
    assert screen.lines()[-1].startswith("q quit")


def test_the_end_of_the_program_and_its_death(program, show):
    program.tell("alpha 1000")
    screen = show()
    wait_for_row(screen, "alpha", blocks="1,001")
    pid = int(re.search(r"PID (\d+)", screen.text()).group(1))
    os.kill(pid, signal.SIGKILL)
    screen.wait_for("the program has ended")
    assert row_of(screen, "alpha")["blocks"] == "1,001"
    screen.press("q")
    screen.wait(lambda: not screen.is_alternate())


def test_processes(program, show):
    for _ in range(3):
        program.tell("fork 100")
    screen = show()
    screen.press("6")
    screen.wait_for("4 of 4 processes")
    screen.wait(lambda: sum(row["blocks"] == "100" for row in screen.rows().values()) == 3)
    child = next(name for name, row in screen.rows().items() if row["blocks"] == "100").split()[0]
    os.kill(int(child), signal.SIGKILL)
    screen.wait_for("3 of 4 processes")
    screen.wait(lambda: sum(row["blocks"] == "100" for row in screen.rows().values()) == 2)  # its blocks are no longer live


def test_colours_only_where_they_are_wanted(program, show):
    colour = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    screen = show()
    assert colour.search(screen.codes())
    screen.press("q")
    screen.wait(lambda: not screen.is_alternate())
    plain = show(before="NO_COLOR=1 ")
    assert not colour.search(plain.codes())


def test_without_utf8(program, show):
    program.tell("alpha 1000")
    screen = show(before="LC_ALL=C ")
    wait_for_row(screen, "alpha", blocks="1,001")
    assert screen.text().isascii()
    assert "*growth" in screen.text()


@pytest.mark.parametrize("type", ("dumb", "", "nothing-known"))
def test_terminals_that_cannot_show_it(program, terminal, tool, type):
    screen = terminal(200, 24)
    screen.command(f"TERM={type} {tool} live --text {program.trace}; echo status $?")
    screen.wait_for("status 2")
    assert "set TERM" in screen.text()


def test_the_terminal_is_as_it_was(program, terminal, tool):
    screen = terminal(200, 24)
    before = terminal_settings(screen, 0)
    for number, way in enumerate(("q", "C-c", signal.SIGTERM, signal.SIGHUP, "C-z"), 1):
        screen.command(f"clear; {tool} live --text {program.trace}")
        screen.wait_for("growth/s")
        if isinstance(way, signal.Signals):
            os.kill(viewer_of(program), way)
        else:
            screen.press(way)
        screen.wait(lambda: not screen.is_alternate())
        assert terminal_settings(screen, number) == before
        if way == "C-z":
            screen.command("fg")
            screen.wait_for("growth/s")
            screen.press("q")
            screen.wait(lambda: not screen.is_alternate())
            assert terminal_settings(screen, number + 1) == before


def terminal_settings(screen, number):
    screen.command(f"clear; stty -a; echo shown $(({number}))")
    return screen.wait(lambda: re.search(rf"speed.*?(?=^shown {number}$)", screen.text(), re.M | re.S)).group()


def viewer_of(program):
    found = subprocess.run(["pgrep", "-o", "-f", f"live --text {program.trace}"], capture_output=True, text=True)
    return int(found.stdout)


def test_a_command_keeps_off_the_terminal(terminal, tool, tmp_path, compile_c):
    (tmp_path / "talks.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\nvoid *keep;\nint main(void)\n"
                                      "{ keep = malloc(5000); printf(\"out %d\\n\", getchar()); fprintf(stderr, \"err\\n\"); fflush(0); while (1) pause(); }\n")
    program = compile_c(tmp_path / "talks.c", name="talks")
    screen = terminal(200, 24)
    screen.command(f"{tool} live --text -o a.hwt -- {program}; echo status $?")
    wait_for_row(screen, "main", live="5,000 B")
    wait_until(lambda: is_begun(tmp_path / "a.hwt") and (tmp_path / "a.hwt.err").read_text() == "err\n")
    assert (tmp_path / "a.hwt.out").read_text() == "out -1\n"
    assert "out -1" not in screen.text()
    screen.press("C-c")
    screen.wait_for("status 130")
    assert "a.hwt.out" in screen.text()
    screen.command(f"clear; {tool} live -o b.hwt -- {program}; echo status $?")  # without a display
    wait_for_row(screen, "main", live="5,000 B")
    pid = int(re.search(r"PID (\d+)", screen.text()).group(1))
    screen.press("q")
    screen.wait_for("status 0")
    assert "goes on" in screen.text()
    os.kill(pid, signal.SIGKILL)
    screen.command(f"clear; {tool} live --text -o c.hwt -- /nothing; echo status $?")
    screen.wait_for("status 127")
    assert "/nothing" in screen.text()


def test_estimates_have_errors(record, hw):
    trace = record(["python3", "-c", "blocks = [bytearray(2000) for i in range(3000)]"], "--sample=16K").trace
    done = hw("live", "--text", "--once", trace, env={**os.environ, "COLUMNS": "160", "LC_ALL": "C.UTF-8"})
    lines = done.stdout.split("\n")
    assert re.search(r"peak [\d.]+ MB ± [\d.]+ kB   [\d,]+ allocations", lines[1])
    assert re.match(r"Live [\d.]+ kB ± [\d,.]+ k?B in ", lines[2])


def test_calls_of_threads_are_exact_in_a_sample(record, compile_c, show_trace, hw):
    """Also of those that allocated no block of the sample."""
    program = compile_c("""
        #include <pthread.h>
        #include <stdlib.h>
        static void *small(void *nothing) { for (int i = 0; i < 77; i++) free(malloc(10)); return nothing; }
        int main(void)
        {
          pthread_t thread;
          for (int i = 0; i < 3; i++)
            pthread_create(&thread, NULL, small, NULL), pthread_join(thread, NULL);
          for (int i = 0; i < 3000; i++)
            if (!malloc(2000))
              return 1;
          return 0;
        }""", "-pthread", "-fno-builtin")

    trace = record([program], "--sample").trace
    report = json.loads(hw("report", "--json", trace).stdout)
    expected = {f"{row['name']} ({row['tid']})": f"{row['allocation_calls']:,}" for row in report["by_thread"]}
    assert len(expected) == 4 and list(expected.values()).count("77") == 3
    screen = show_trace(trace)
    screen.press("3")
    screen.wait(lambda: {name: row["allocs"] for name, row in screen.rows().items()} == expected)
    screen.press("6")
    screen.wait(lambda: [row["allocs"] for row in screen.rows().values()] == [f"{report['allocation_calls']:,}"])


def test_once_agrees_with_the_report(program, hw):
    program.tell("alpha 1000")
    program.tell("beta 500")
    program.tell("churn 300")
    assert program.end() == 0
    done = hw("live", "--text", "--once", program.trace)
    assert done.returncode == 0
    lines = done.stdout.split("\n")
    assert not re.search(r"[\x00-\x09\x0b-\x1f]| $", done.stdout, re.M)
    assert max(map(len, lines)) <= 100
    report = json.loads(hw("report", "--json", "--by", "stack", program.trace).stdout)
    assert f"in {report['live_blocks_at_end']:,} blocks" in lines[2]
    assert f"{report['allocation_calls']:,} allocations" in lines[1]
    rows = table(lines[5:])
    alpha = next(row for name, row in rows.items() if name.startswith("alpha"))
    assert alpha["blocks"] == "1,001"
    assert sum(int(row["blocks"].replace(",", "")) for row in rows.values()) == report["live_blocks_at_end"]
    assert hw("live", "--once", program.trace).stdout == done.stdout


def test_each_tab_agrees_with_the_report(program, show, hw):
    program.tell("alpha 1000")
    program.tell("beta 500")
    program.tell("churn 300")
    assert program.end() == 0
    screen = show(200, 50)
    screen.wait_for("the program has ended")
    report = json.loads(hw("report", "--json", "--by", "function", program.trace).stdout)
    expected = {"function": {row["function"]: row["self"] for row in report["by_function"]},
                "size": {f"{row['size']:,} B": row for row in report["sizes"]},
                "thread": {f"{row['name']} ({row['tid']})": {**row, "calls": row["allocation_calls"]} for row in report["by_thread"]}}
    for key, title in ("2", "function"), ("3", "thread"), ("4", "size"):
        screen.press(key)
        screen.wait(lambda: re.search(rf"share  {title}\b", screen.text()))
        shown = {name: (row["blocks"], row["allocs"]) for name, row in screen.rows().items() if row["blocks"] != "0"}
        assert shown == {name: (f"{row['live_blocks']:,}", f"{row['calls']:,}") for name, row in expected[title].items() if row["live_blocks"]}


def test_once_while_the_program_runs(program, hw):
    program.tell("alpha 1000")
    wait_until(lambda: " 1,001 " in hw("live", "--once", program.trace).stdout)
    assert hw("live", "--json", "--once", program.trace).stdout.startswith("{")


def test_wrong_usage(program, hw):
    for words, reason in ((("--text", program.trace), "--text needs a terminal"), (("--text", "--page", program.trace), "choose one"),
                          (("--once", "--page", program.trace), "a page is no text"), (("--once", "--", "true"), "--once shows a run that is there")):
        done = hw("live", *words)
        assert done.returncode == 2, words
        assert reason in done.stderr


def test_what_others_write_can_be_drawn_over(program, show):
    program.tell("alpha 1000")
    screen = show()
    wait_for_row(screen, "alpha", blocks="1,001")
    tty = screen.run("display-message", "-p", "#{pane_tty}").strip()
    with open(tty, "w") as other:
        other.write("\033[H" + "destroyed " * 100)
    screen.wait_for("destroyed")
    screen.press("C-l")
    screen.wait(lambda: "destroyed" not in screen.text())
    wait_for_row(screen, "alpha", blocks="1,001")
