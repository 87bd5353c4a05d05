"""libheapwright-tlsf.so: growth as in heaphook, no system call and no page fault in steady state, forks, faults and
invalid settings.
"""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from allocators_library import LIBRARIES, expect_done

LIBRARY = LIBRARIES / "libheapwright-tlsf.so"
GROWN = re.compile(r"pool exhausted: (\d+) bytes additionally mmaped")


@pytest.fixture
def user(user_on):
    return user_on(LIBRARY)


@pytest.mark.parametrize("what", ["churn", "threads", "fork"])
def test_use(user, what):
    """With a pool of which a fork has few pages to copy."""
    expect_done(user(what, HEAPWRIGHT_POOL_SIZE="20M"))


# --- growth ---

def growths(process):
    """Up to the answer: the rest is printed by the program itself, which finds the pool full."""
    return [int(number) for number in GROWN.findall(process.stderr.partition("malloc(")[0])]


@pytest.mark.parametrize("names", [("HEAPWRIGHT_POOL_SIZE", "HEAPWRIGHT_POOL_GROWTH"),
                                   ("INITIAL_MEMPOOL_SIZE", "ADDITIONAL_MEMPOOL_SIZE")])
def test_growth_doubles_until_it_fits(user, names):
    process = user("exhaust", 1000, **dict(zip(names, ("1000000", "100"))))
    assert growths(process) == [100, 200, 400, 800]
    assert "malloc(1000): a block, errno 0" in process.stderr


def test_one_growth_is_enough(user):
    process = user("exhaust", 1000, HEAPWRIGHT_POOL_SIZE="1MiB", HEAPWRIGHT_POOL_GROWTH="64K")
    assert growths(process) == [64 << 10]


def test_growth_is_joined(user):
    """Larger than any one piece except the last, which comes after the others."""
    process = user("exhaust", 10_000_000, HEAPWRIGHT_POOL_SIZE="1M", HEAPWRIGHT_POOL_GROWTH="1MB")
    assert growths(process) == [1_000_000, 2_000_000, 4_000_000, 8_000_000]


def test_growth_elsewhere(user):
    """If there is a mapping right after the pool: the new pieces are adjacent to one another, and blocks of both
    regions are freed."""
    process = user("exhaust-apart", 1000, HEAPWRIGHT_POOL_SIZE="1M", HEAPWRIGHT_POOL_GROWTH="100")
    assert growths(process) == [100, 200, 400, 800]
    assert process.stdout == "done\n" and "block 0x" not in process.stderr


@pytest.mark.parametrize("what", ["threads", "fork"])
def test_growth_while_others_allocate(user, what):
    process = user(what, HEAPWRIGHT_POOL_SIZE="64K", HEAPWRIGHT_POOL_GROWTH="64K")
    assert process.stdout == "done\n" and growths(process)
    line = "heapwright: TLSF memory pool exhausted: N bytes additionally mmaped."
    more = line + " All of it is touched; HEAPWRIGHT_POOL_TOUCH=start avoids that"
    first, *others = re.sub(r"\d+", "N", process.stderr).splitlines()
    assert first == more and set(others) <= {line, more}  # the first line of each process


@pytest.mark.parametrize("touch, present", [("all", "much"), ("start", "little")])
@pytest.mark.parametrize("more", [{}, {"HEAPWRIGHT_POOL_LOCK": "0"}], ids=["locked", "unlocked"])
def test_growth_without_touching(user, touch, present, more):
    """Memory that the program never uses is not present, and calloc's memory is zero, whichever block used it
    before."""
    process = user("little", HEAPWRIGHT_POOL_TOUCH=touch, HEAPWRIGHT_POOL_SIZE="10M", HEAPWRIGHT_POOL_GROWTH="10M", **more)
    assert process.stdout == f"present of what is not used: {present}\ndone\n"
    assert growths(process) and ("touched" in process.stderr) == (touch == "all")


def test_policy_fail(user):
    process = user("exhaust", 1000, HEAPWRIGHT_POOL_SIZE="1M", HEAPWRIGHT_POOL_POLICY="fail")
    assert process.stderr == "malloc(1000): NULL, errno 12\n" and process.returncode == 0


def test_policy_abort(user):
    process = user("exhaust", 1000, HEAPWRIGHT_POOL_SIZE="1M", HEAPWRIGHT_POOL_POLICY="abort")
    assert process.returncode == -signal.SIGABRT
    assert "no room for 1000 bytes" in process.stderr and "malloc(1000)" not in process.stderr
    assert re.search(r"\n.*#0 0x[0-9a-f]+ .*/tlsf_user\+0x", process.stderr)


@pytest.mark.parametrize("bytes_asked", [1 << 45, 1 << 62])
def test_growth_refused(user, bytes_asked):
    process = user("exhaust", bytes_asked, HEAPWRIGHT_POOL_SIZE="1M")
    assert f"malloc({bytes_asked}): NULL, errno 12" in process.stderr
    assert not growths(process)


def test_no_room_for_the_pool(user):
    """The library reports it, and the program goes on with the memory that growth can get."""
    process = user("churn", before=["prlimit", "--as=200000000"], HEAPWRIGHT_POOL_SIZE="1G", HEAPWRIGHT_POOL_GROWTH="8M")
    assert "cannot map 1073741824 bytes" in process.stderr
    assert process.stdout == "done\n"


# --- in steady state ---

@pytest.mark.parametrize("what", ["steady", "steady-threads"])
def test_no_fault(user, what):
    process = user(what)
    assert process.stdout == "faults in fresh memory: few\nfaults in a window: 0\ndone\n"


def test_no_system_call(user, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("no strace")
    log = tmp_path / "strace"
    process = user("steady", before=["strace", "-f", "-o", log])
    assert process.returncode == 0
    calls = [line.split(None, 1)[1] for line in log.read_text().splitlines()]
    begin = next(i for i, call in enumerate(calls) if '"begin"' in call)
    assert '"end"' in calls[begin + 1]


# --- faults ---

@pytest.mark.parametrize("what, text", [
    ("double-free", "the block is free already"),
    ("interior", "no block begins there"),
    ("overrun", "wrote past the end"),
    ("realloc", "the block is free already"),
])
def test_faults(user, what, text):
    process = user("wrong", what)
    assert (process.returncode, process.stdout) == (0, "done\n")
    assert re.match(rf"heapwright: block 0x[0-9a-f]+: .*{text}.*; it stays as it is\n", process.stderr)
    assert re.search(r"\n.*#0 0x[0-9a-f]+ .*/tlsf_user\+0x", process.stderr)
    checked = user("wrong", what, HEAPWRIGHT_CHECK="1")
    assert checked.returncode == -signal.SIGABRT and text in checked.stderr


@pytest.mark.parametrize("function", ["free", "realloc"])
def test_a_wild_pointer_is_named(user, function):
    """libc, which gets the block, ends the process without reporting where."""
    checked = user("wrong", f"wild-{function}", HEAPWRIGHT_CHECK="1")
    assert checked.returncode == -signal.SIGABRT
    assert re.match(rf"heapwright: {function} of 0x[0-9a-f]+: not a block of the pool; .*\nheapwright:   #0 0x[0-9a-f]+ .*/tlsf_user\+0x",
                    checked.stderr)


def test_a_block_of_libcs_is_named_and_freed(user):
    expect_done(user("wrong", "foreign"))
    checked = user("wrong", "foreign", HEAPWRIGHT_CHECK="1")
    assert (checked.returncode, checked.stdout) == (0, "done\n") and "heapwright: free of 0x" in checked.stderr


def test_malloc_in_a_handler_is_reported(user):
    process = user("interrupt")
    assert process.returncode == -signal.SIGABRT
    assert "a signal handler" in process.stderr


# --- settings ---

@pytest.mark.parametrize("name, value", [
    ("HEAPWRIGHT_POOL_SIZE", "0"), ("HEAPWRIGHT_POOL_SIZE", "lots"), ("HEAPWRIGHT_POOL_SIZE", "-1"),
    ("HEAPWRIGHT_POOL_SIZE", "99999999T"), ("HEAPWRIGHT_POOL_SIZE", "9000T"), ("INITIAL_MEMPOOL_SIZE", ""),
    ("HEAPWRIGHT_POOL_GROWTH", "0"), ("ADDITIONAL_MEMPOOL_SIZE", "1x"), ("HEAPWRIGHT_POOL_POLICY", "shrink"),
    ("HEAPWRIGHT_POOL_LOCK", "yes"), ("HEAPWRIGHT_CHECK", "2"), ("HEAPWRIGHT_POOL_TOUCH", "end")])
def test_bad_values_are_said(user, name, value):
    process = user("churn", **{name: value})
    assert process.stdout == "done\n"
    assert process.stderr.startswith(f"heapwright: {name}={value} ") and process.stderr.count("\n") == 1


def test_ours_goes_before_the_alias(user):
    process = user("churn", HEAPWRIGHT_POOL_SIZE="50MB", INITIAL_MEMPOOL_SIZE="1M", HEAPWRIGHT_POOL_STATS="1")
    assert re.search(r" of 49[0-9]{6}; grown 0 times by 0", process.stderr)


def test_locking_beyond_the_limit_is_said(user):
    unprivileged = ["setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock", "prlimit", "--memlock=65536"]
    if os.geteuid():
        unprivileged = unprivileged[3:]
    expect_done(user("churn", before=unprivileged))
    process = user("churn", before=unprivileged, HEAPWRIGHT_POOL_LOCK="1")
    assert process.stdout == "done\n" and "cannot lock 100003840 bytes" in process.stderr


def test_stats_come_after_a_program_closed_stderr(user):
    process = subprocess.run(["ls", "/"], env={**os.environ, "LD_PRELOAD": str(LIBRARY), "HEAPWRIGHT_POOL_STATS": "1"},
                             capture_output=True, text=True, check=True)
    assert re.fullmatch(r"heapwright: pool: used \d+ bytes, peak \d+, of \d+; grown 0 times by 0; fragmentation \d+\.\d %; "
                        r"largest free block \d+\n", process.stderr)


HUGE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* huge off COMMAND...: with huge pages switched off for the process. huge: prints what of its memory is in them. */
int main(int argc, char **argv)
{
  if (argc > 2)
    return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) || execv(argv[2], argv + 2);
  char line[200];
  unsigned long sum = 0, kib;
  FILE *maps = fopen("/proc/self/smaps", "r");
  while (fgets(line, sizeof line, maps))
    sum += sscanf(line, "AnonHugePages: %lu", &kib) == 1 ? kib : 0;
  printf("%lu\n", sum);
  return 0;
}
"""


def test_huge_pages(user, tmp_path):
    """They are used if the system provides them, and a message says if it does not."""
    expect_done(user("churn", HEAPWRIGHT_POOL_HUGE_PAGES="1"))
    source, program = tmp_path / "huge.c", tmp_path / "huge"
    source.write_text(HUGE)
    subprocess.run(["gcc", source, "-o", program], check=True)
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    has_huge_pages = setting.exists() and "[never]" not in setting.read_text()
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), "HEAPWRIGHT_POOL_HUGE_PAGES": "1", "HEAPWRIGHT_POOL_SIZE": "32M"}
    for words, is_off in ([], not has_huge_pages), (["off", str(program)], True):
        done = subprocess.run([program, *words], env=environment, capture_output=True, text=True, check=True)
        assert ("no huge pages for 33554432 bytes of the pool" in done.stderr) == is_off
        assert not is_off or done.stdout == "0\n"
