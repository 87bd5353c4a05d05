"""test_crashes.py - what cores are read for: the core dump of each kind of crash, as the kernel writes it

A report on it must say what the C library said, name what is damaged, understand the rest, and take nothing for a leak to which
a stack of the crash refers.
"""

import json
import mmap
import os
import re
import resource
import signal
import struct
import subprocess

import pytest

import words_32
from heap_listing import build_program, crash_of, gcore_of

BLOCKS = 1000
OWN_BYTES = 16  # a chunk's header


@pytest.fixture(scope="module")
def crashes(tmp_path_factory):
    return build_program(tmp_path_factory.mktemp("crashes"), "crashes.c", "crashes", "-pthread", "-fstack-protector-all", "-w")


class Crash:
    def __init__(self, hw, program, core, output):
        self.hw, self.program, self.core, self.output = hw, program, core, output
        self.address = int(output.split()[0], 16)

    def report(self, *options):
        done = self.hw("core", "--json", *options, self.program, self.core)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def around_crash(self):
        return self.report("--around", "crash")

    def text(self, *options):
        done = self.hw("core", *options, self.program, self.core)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split())  # without the breaks of lines


@pytest.fixture
def crash(hw, crashes, tmp_path):
    """crash("twice", limit of memory): a Crash."""

    def run(how, memory_bytes=resource.RLIM_INFINITY, program=crashes):
        core, done = crash_of([program, how], tmp_path, memory_bytes=memory_bytes)
        assert not done.stderr or done.stderr.endswith("\n")
        crash = Crash(hw, program, core, done.stdout)
        crash.said, crash.signal = done.stderr.rstrip("\n"), -done.returncode
        return crash

    return run


def test_invalid_address(crash):
    crashed = crash("null")
    report = crashed.report()
    assert report["signal"] == signal.SIGSEGV and report["abort_message"] is None
    assert report["understood_percent"] == 100 and report["damage"] == [] and report["live_blocks"] == BLOCKS
    assert "The C library" not in crashed.text()


@pytest.mark.parametrize("how", ["twice", "twice-cache", "inside", "assert", "smash"])
def test_abort_with_a_sound_heap(crash, how):
    """The message is that which the program has printed."""
    crashed = crash(how)
    report = crashed.report()
    assert crashed.said and report["abort_message"] == crashed.said
    assert report["signal"] == crashed.signal == signal.SIGABRT
    assert report["understood_percent"] == 100 and report["damage"] == []
    assert abs(report["live_blocks"] - BLOCKS) <= 2
    assert f"The C library ended it: {' '.join(crashed.said.split())}" in crashed.text()


@pytest.mark.parametrize("how, chunk_off", [("overflow", -OWN_BYTES), ("top", 2000)])
def test_abort_by_a_damaged_size(crash, how, chunk_off):
    """The chunk whose size was written over is named; all that is before and behind it is understood."""
    crashed = crash(how)
    report = crashed.report()
    assert crashed.said and report["abort_message"] == crashed.said
    [damage] = report["damage"]
    assert damage["address"] == crashed.address + chunk_off == report["crash_address"]
    assert report["live_blocks"] >= BLOCKS
    if how == "top":  # it goes to the end of the arena, whatever its size says
        assert report["understood_percent"] == 100 and "the size of the top chunk here cannot be right" in damage["text"]
    else:
        assert 80 < report["understood_percent"] < 100
    text = crashed.text()
    assert hex(damage["address"]) in text and "--around crash" not in text and f"--around {damage['address']:#x} shows" in text
    assert crashed.around_crash()["damage"] == [{**damage, "suspect": crashed.around_crash()["damage"][0]["suspect"]}]


@pytest.mark.parametrize("how", ["stack", "stack-thread", "stack-handler"])
def test_overflow_of_a_stack(crash, how):
    """Each frame has the only address of a block. The stack pointer is outside of the stack, or in that of the handler."""
    crashed = crash(how)
    report = crashed.report("--leaks")
    assert report["signal"] == (signal.SIGABRT if how == "stack-handler" else signal.SIGSEGV)
    assert report["understood_percent"] == 100 and report["live_blocks"] > 5 * BLOCKS
    assert report["leaked_blocks"] == 0 and report["leaks"] == []


def test_no_more_memory(crash):
    """What filled the memory is the first line."""
    crashed = crash("memory", 300 << 20)
    report = crashed.report("--by", "size")
    assert report["signal"] == signal.SIGABRT and report["abort_message"] is None
    assert report["understood_percent"] == 100 and 200 << 20 < report["live_bytes"] < 300 << 20
    assert crashed.report("--leaks")["leaked_blocks"] == 0


@pytest.mark.parametrize("flags", [["-static"], words_32.FLAGS])
def test_message_in_other_programs(crash, tmp_path_factory, flags):
    """The C library is within the program, or has words of 4 bytes."""
    try:
        program = build_program(tmp_path_factory.mktemp("other"), "crashes.c", "crashes", "-pthread", "-w", *flags)
    except subprocess.CalledProcessError:
        pytest.skip(f"this compiler cannot build with {flags[0]}")
    crashed = crash("twice", program=program)
    assert crashed.said and crashed.report()["abort_message"] == crashed.said


@pytest.mark.parametrize("how, address_off", [("links", -OWN_BYTES), ("links-cache", None)])
def test_write_after_free(crash, how, address_off):
    """The links of a free block are written over: all the rest is understood, and the block or its list is named."""
    crashed = crash(how)
    report = crashed.report()
    [damage] = report["damage"]
    assert report["understood_percent"] == 100 and abs(report["live_blocks"] - BLOCKS) <= 2
    if address_off is None:
        assert report["signal"] == (signal.SIGABRT if crashed.said else signal.SIGSEGV)  # at one address in 16 the link looks aligned
        assert report["abort_message"] == (crashed.said or None) and "a list of cached blocks" in damage["text"]
        assert "0x7a7a7a7" in damage["text"]
        assert re.search(r"--around crash shows what is around 0x\w+, where the heap is damaged\.", crashed.text())
        assert f"--around {damage['address']:#x}" not in crashed.text()  # which is no overflow
    else:
        assert damage["address"] == crashed.address + address_off and "after it was freed" in damage["text"]
        assert report["crash_address"] == damage["address"]


# --- threads in malloc


def words_of(core, address, count):
    """Words of a core dump's memory, read by its segments alone."""
    found = b""
    with core.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    (segments,), (number,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for at in range(segments, segments + number * 56, 56):
        kind, _, off, begin, _, in_file, _, _ = struct.unpack_from("<IIQQQQQQ", data, at)
        at_word = address + len(found)
        if kind == 1 and begin <= at_word < begin + in_file:  # the next segment may go on with it
            found += data[off + at_word - begin:off + min(in_file, address + count * 8 - begin)]
    return struct.unpack(f"<{count}Q", found)


def build_churn(folder):
    return build_program(folder, "churn.c", "churn", "-pthread")


@pytest.fixture
def churning(tmp_path):
    """A program whose eight threads replace blocks all the time, the address of its table of blocks, and their number."""
    with subprocess.Popen([build_churn(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        address, count, _ = process.stdout.readline().split()
        yield process, int(address, 16), int(count)
        process.kill()


THREADS = 8
LIBRARY_BLOCKS = 64  # at most: for threads, buffers and messages


def test_threads_in_malloc(churning, find_heap, tmp_path):
    """Block for block, by the program's own table: a block that is missing there is being replaced, one for each thread."""
    process, address, count = churning
    for _ in range(3):
        core = gcore_of(process, tmp_path)
        heap, table = find_heap("core", core), words_of(core, address, count)
        heap.assert_sound()
        kept = {block for block in table if block}
        assert count - THREADS <= len(kept) <= count
        assert kept <= set(heap.blocks["live"])
        assert len(heap.blocks["live"]) - len(kept) <= THREADS + LIBRARY_BLOCKS
        assert len(heap.blocks["own"]) == THREADS + 1
        core.unlink()


def test_threads_in_malloc_go_on(churning, hw):
    process, _, count = churning
    for _ in range(10):
        done = hw("core", "--json", str(process.pid))
        report = json.loads(done.stdout)
        assert report["understood_percent"] == 100 and report["damage"] == []
        assert count - THREADS <= report["live_blocks"] <= count + THREADS + LIBRARY_BLOCKS
    assert process.poll() is None


def test_threads_that_are_recorded(hw, build, tmp_path):
    """The recording goes on after the stop, and is read later: what was live is that of the stop. Each thread may have one call whose
    event is not written yet."""
    trace, words = tmp_path / "churn.hwt", [build_churn(tmp_path), "rests"]
    with subprocess.Popen([build / "bin/heapwright", "record", "-q", "-o", trace, "--", *words], stdout=subprocess.PIPE) as launcher:
        _, _, pid = launcher.stdout.readline().split()
        done = hw("core", "--json", "--recording", trace, pid.decode())
        os.kill(int(pid), signal.SIGKILL)
    report = json.loads(done.stdout)
    assert report["understood_percent"] == 100
    assert report["live_blocks"] - report["recorded_blocks"] <= THREADS + LIBRARY_BLOCKS
    assert 0 <= report["live_bytes"] - report["live_bytes_at_end"] <= 24 * report["live_blocks"]
