"""`heapwright tune` names a pool size whose parts are known exactly, and at which real programs do not make the pool
grow.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

WORD, STEP, LEAST = 8, 16, 32


def in_pool(size):
    return max(LEAST, (size + WORD + STEP - 1) // STEP * STEP)


@pytest.fixture
def tune(hw):
    """tune(trace, *options): returns the answer as JSON."""

    def run(trace, *options):
        done = hw("tune", "--json", *options, trace)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        for process in answer["processes"]:
            parts = ("asked", "rounding", "fragmentation", "tables", "margin")
            assert process["pool_bytes"] == sum(process[f"{part}_bytes"] for part in parts)
            assert process["pool_bytes"] % 4096 == 0
        assert answer["pool_bytes"] == max(process["pool_bytes"] for process in answer["processes"])
        return answer

    return run


PROGRAM = """#include <stdlib.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile blocks[20000];
int main(void)
{
%s
}
"""


@pytest.fixture
def tuned(compile_c, record, tune):
    """tuned(body, *options): returns the first process of the answer, for a program whose main has this body."""

    def run(body, *options):
        recording = record([compile_c(PROGRAM % body, "-fno-builtin")])
        assert recording.process.returncode == 0
        return tune(recording.trace, "--margin", "0", *options)["processes"][0]

    return run


# --- known answers ---

def test_blocks_that_stay(tuned):
    found = tuned("for (int i = 0; i < 10000; i++) blocks[i] = malloc(100);")
    assert found["requests"] == 10000
    assert found["asked_bytes"] == 10000 * 100
    assert found["rounding_bytes"] == 10000 * (in_pool(100) - 100)
    assert found["fragmentation_bytes"] == 0
    assert found["margin_bytes"] < 4096


def test_the_smallest_blocks(tuned):
    found = tuned("for (int i = 0; i < 10000; i++) blocks[i] = i % 2 ? malloc(0) : malloc(1);")
    assert found["asked_bytes"] == 5000
    assert found["rounding_bytes"] == 10000 * LEAST - 5000


def test_holes(tuned):
    """Every other block is freed, and the next ones fit into none of the holes."""
    found = tuned("""for (int i = 0; i < 1000; i++) blocks[i] = malloc(1000);
  for (int i = 0; i < 1000; i += 2) free(blocks[i]);
  for (int i = 0; i < 1000; i += 2) blocks[i] = malloc(1100);""")
    assert found["asked_bytes"] == 500 * 1000 + 500 * 1100
    assert found["fragmentation_bytes"] == 500 * in_pool(1000)


def test_alignment(tuned):
    """The gaps between aligned blocks stay free, and so count as holes. The gap of a valloc belongs to the block,
    not to the caller."""
    found = tuned("for (int i = 0; i < 200; i++) blocks[i] = i % 2 ? memalign(4096, 4000) : valloc(4000);")
    assert found["asked_bytes"] == 200 * 4000
    assert found["rounding_bytes"] == 200 * (in_pool(4000) - 4000)
    assert 199 * (4096 - in_pool(4000)) <= found["fragmentation_bytes"] <= 201 * (4096 - in_pool(4000)) + 4096


def test_realloc_in_place(tuned):
    """No block comes after it: it grows in place."""
    found = tuned("void *p = malloc(100); for (int i = 1; i < 100; i++) p = realloc(p, 10000 * i); blocks[0] = p;")
    assert found["asked_bytes"] == 990000
    assert found["fragmentation_bytes"] == 0


def test_realloc_that_moves(tuned):
    """Both blocks exist while one is copied."""
    found = tuned("void *p = malloc(1000000); blocks[1] = malloc(1); blocks[0] = realloc(p, 2000000);")
    assert found["asked_bytes"] == 3000001


def test_freed_is_used_again(tuned):
    found = tuned("for (int i = 0; i < 10000; i++) free(malloc(50000));")
    assert found["asked_bytes"] == 50000 and found["requests"] == 10000


def test_nothing_allocated(tuned):
    found = tuned("")
    assert (found["requests"], found["pool_bytes"]) == (0, 65536)


def test_fork(tuned):
    """A child has its parent's blocks, and frees some of them."""
    body = """for (int i = 0; i < 1000; i++) blocks[i] = malloc(1000);
  if (fork() == 0) {
    for (int i = 0; i < 500; i++) free(blocks[i]);
    for (int i = 0; i < 1500; i++) blocks[i] = malloc(1000);
    _exit(0);
  }
  wait(NULL);"""
    child = tuned(body, "--children")
    assert child["asked_bytes"] == 2000 * 1000 and not child["inherits_unknown"]
    alone = tuned(body)
    assert alone["asked_bytes"] == 1500 * 1000 and alone["inherits_unknown"]


def test_margin(compile_c, record, hw, tune):
    recording = record([compile_c(PROGRAM % "for (int i = 0; i < 10000; i++) blocks[i] = malloc(1000);")])
    sizes = [tune(recording.trace, "--margin", margin)["pool_bytes"] for margin in ("0", "25%", "100")]
    assert sizes[0] * 1.25 - 4096 <= sizes[1] <= sizes[0] * 1.25 + 4096
    assert sizes[0] * 2 - 4096 <= sizes[2] <= sizes[0] * 2 + 4096
    for bad in ("", "x", "-1", "10.5", "99999"):
        done = hw("tune", f"--margin={bad}", recording.trace)
        assert done.returncode == 2 and "percentage" in done.stderr


# --- the output ---

def test_forms(compile_c, record, hw, tmp_path):
    recording = record([compile_c(PROGRAM % "blocks[0] = malloc(1000000);", "-fno-builtin")])
    text = hw("tune", recording.trace).stdout
    size = re.match(r"HEAPWRIGHT_POOL_SIZE=(\d+)\n", text).group(1)
    assert "replayed on a pool of exactly this size, which did not grow" in text
    forms = {
        "env": f"LD_PRELOAD=libheapwright-tlsf.so\nHEAPWRIGHT_POOL_SIZE={size}\n",
        "sh": f"export LD_PRELOAD=libheapwright-tlsf.so\nexport HEAPWRIGHT_POOL_SIZE={size}\n",
        "xml": f'<env name="LD_PRELOAD" value="libheapwright-tlsf.so"/>\n<env name="HEAPWRIGHT_POOL_SIZE" value="{size}"/>\n',
        "py": f'additional_env={{"LD_PRELOAD": "libheapwright-tlsf.so", "HEAPWRIGHT_POOL_SIZE": "{size}", }},\n',
    }
    for suffix, expected in forms.items():
        out = tmp_path / f"pool.{suffix}"
        assert hw("tune", recording.trace, "-o", out).returncode == 0
        assert out.read_text() == expected
        assert hw("tune", recording.trace, "--format", suffix).stdout == expected
    refused = hw("tune", recording.trace, "-o", tmp_path / "pool.yaml")
    assert refused.returncode == 2 and ".env" in refused.stderr


def test_an_incomplete_recording_is_said(compile_c, record, hw):
    body = "for (unsigned i = 0; i < 700000; i++) free(malloc(i * 7919 % 50000));"
    recording = record([compile_c(PROGRAM % body, "-fno-builtin")], "--max-size", "4M")
    assert "does not hold the whole run" in hw("tune", recording.trace).stdout


def test_no_address_space(compile_c, record, build):
    recording = record([compile_c(PROGRAM % "blocks[0] = malloc(1000000);", "-fno-builtin")])
    done = subprocess.run(["prlimit", "--as=60000000", build / "bin/heapwright", "tune", recording.trace], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 2 and "ulimit -v" in done.stderr


# --- real programs, on a pool of exactly the size ---

STATS = re.compile(r"pool: used \d+ bytes, peak (\d+), of (\d+); grown (\d+) times by (\d+)")
SQL = """create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into t select i, hex(i * 7919) || 'text' from n;
create index tb on t(b);
select count(*), sum(length(b)) from t where b like '%5%';"""
PYTHON = """import json
data = [{"id": i, "name": f"name {i}", "tags": [str(j) for j in range(i % 20)]} for i in range(20000)]
text = json.dumps(data)
print(len(json.loads(text)), len(text))"""


def real_programs(folder):
    (folder / "in.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <pthread.h>\n" + "".join(
        f"int f{i}(int x) {{ for (int i = 0; i < x; i++) x += printf(\"%d\", i * {i}); return x; }}\n" for i in range(300)))
    return {
        "sqlite3": ["sqlite3", ":memory:", SQL],
        "python3": ["env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-c", PYTHON],
        "gcc": ["gcc", "-O2", "-c", str(folder / "in.c"), "-o", str(folder / "out.o")],  # its largest process, cc1
    }


@pytest.mark.parametrize("name", ["sqlite3", "python3", "gcc"])
def test_no_growth(name, record, tune, build, tmp_path):
    command = real_programs(tmp_path)[name]
    if not shutil.which(command[0]):
        pytest.skip(f"no {name}")
    recording = record(command)
    assert recording.process.returncode == 0, recording.process.stderr
    answer = tune(recording.trace)
    environment = {**os.environ, "LD_PRELOAD": str(build / "lib/libheapwright-tlsf.so"), "HEAPWRIGHT_POOL_STATS": "1",
                   "HEAPWRIGHT_POOL_GROWTH": "64K", "HEAPWRIGHT_POOL_SIZE": str(answer["pool_bytes"])}
    peaks = []
    for _ in range(3):  # what cc1 needs differs by one percent from run to run
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.stdout == recording.process.stdout
        stats = STATS.findall(done.stderr)
        assert stats and all(grown == "0" for _, _, grown, _ in stats), done.stderr
        peaks += [int(peak) for peak, *_ in stats]
    process = answer["processes"][0]
    used = process["asked_bytes"] + process["rounding_bytes"]
    assert abs(max(peaks) - used) < 0.02 * used + 16384  # the size that the recording predicted
    small = subprocess.run(command, env={**environment, "HEAPWRIGHT_POOL_SIZE": str(answer["pool_bytes"] * 3 // 4)},
                           capture_output=True, text=True, check=False)
    assert "additionally mmaped" in small.stderr  # the size is no larger than necessary
