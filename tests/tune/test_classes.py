"""`heapwright tune --classes` derives a table of size classes whose figures are known exactly, with which real programs need less
memory on the heap, also with other input than the recorded one.
"""

import json
import os
import re
import shutil
import subprocess

import pytest

from allocators_library import LIBRARIES, ROOT, compile_source

HEAP = LIBRARIES / "libheapwright-heap.so"
MANY = 65536 // 112  # blocks of 112 bytes in a page


@pytest.fixture
def classes(hw):
    """classes(trace, *options): the answer as JSON. Its tables by their names."""

    def run(trace, *options):
        done = hw("tune", "--json", "--classes", *options, trace)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["schema"] == "heapwright-classes/1"
        for table in answer["tables"]:
            waste = sum(table[f"{part}_bytes"] for part in ("rounding", "page_end", "partly_filled"))
            assert table["peak_bytes"] == answer["asked_bytes"] + waste
            assert table["class_bytes"] == sorted(set(table["class_bytes"])) and table["class_bytes"][-1] == 32768
            assert all(size % 16 == 0 for size in table["class_bytes"])
        answer["tables"] = {table["name"]: table for table in answer["tables"]}
        assert len(answer["tables"]["tuned"]["class_bytes"]) == answer["class_count"]
        assert len(answer["tables"]["default"]["class_bytes"]) == 45
        assert answer["tables"]["powers_of_two"]["class_bytes"] == [16 << i for i in range(12)]
        return answer

    return run


PROGRAM = """#include <stdlib.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile blocks[30000];
static void *thread(void *first)
{
  for (int i = 0; i < 100; i++)
    blocks[(long)first + i] = malloc(100);
  return NULL;
}
int main(void)
{
  pthread_t threads[20];
  (void)threads, (void)thread;
%s
}
"""


@pytest.fixture
def recorded(compile_c, record):
    """recorded(body, *options of record): a program whose main has this body."""

    def run(body, *options):
        recording = record([compile_c(PROGRAM % body, "-fno-builtin", "-pthread")], *options)
        assert recording.process.returncode == 0
        return recording.trace

    return run


STAY = "for (int i = 0; i < 10000; i++) blocks[i] = malloc(100);"


@pytest.fixture(scope="module")
def stay(hw, tmp_path_factory):
    """The trace of a program that has 10,000 blocks of 100 bytes."""
    folder = tmp_path_factory.mktemp("stay")
    (folder / "stay.c").write_text(PROGRAM % STAY)
    compile_source("gcc", "-w", "-fno-builtin", folder / "stay.c", "-o", folder / "stay")
    assert hw("record", "-q", "-o", folder / "stay.hwt", "--", folder / "stay").returncode == 0
    return folder / "stay.hwt"


# --- known answers ---

def test_one_size(stay, classes):
    answer = classes(stay, "2")
    assert (answer["requests"], answer["asked_bytes"], answer["large_bytes"], answer["threads"]) == (10000, 1000000, 0, 1)
    assert answer["class_count"] == 2 and not answer["is_chosen"]
    tuned, default, powers = (answer["tables"][name] for name in ("tuned", "default", "powers_of_two"))
    assert tuned["class_bytes"] == [112, 32768]
    assert tuned["rounding_bytes"] == default["rounding_bytes"] == 120000
    assert powers["rounding_bytes"] == 280000
    assert tuned["page_end_bytes"] == round(10000 * (65536 / MANY - 112))
    assert powers["page_end_bytes"] == 0
    assert tuned["partly_filled_bytes"] == 2048


def test_the_number_is_chosen(recorded, classes):
    """Five sizes, of which the default table has none."""
    body = "static const int sizes[] = {272, 400, 720, 4224, 9008};" \
           "for (int i = 0; i < 10000; i++) blocks[i] = malloc(sizes[i % 5]);"
    trace = recorded(body)
    answer = classes(trace)
    assert answer["is_chosen"] and 5 <= answer["class_count"] <= answer["best_class_count"] <= 64
    tuned, default = answer["tables"]["tuned"], answer["tables"]["default"]
    assert {272, 400, 720} <= set(tuned["class_bytes"])
    assert tuned["rounding_bytes"] + tuned["page_end_bytes"] <= 0.005 * answer["asked_bytes"]
    assert default["rounding_bytes"] == 2000 * (320 - 272 + 448 - 400 + 768 - 720 + 4608 - 4224 + 9216 - 9008)
    assert answer["best_cost_bytes"] <= answer["cost_bytes"] <= answer["best_cost_bytes"] * 1.0003 + 1
    assert tuned["peak_bytes"] < default["peak_bytes"]
    for count in (1, 64):
        assert classes(trace, str(count))["class_count"] == count


def test_what_lives_on_counts_over_time_as_well(recorded, classes):
    """At the peak there are blocks of 1,000 bytes, but those of 400 are there all the time."""
    answer = classes(recorded("""for (int i = 0; i < 2000; i++) blocks[i] = malloc(400);
  for (int i = 2000; i < 4000; i++) blocks[i] = malloc(1000);
  for (int i = 2000; i < 4000; i++) free(blocks[i]);
  usleep(200000);"""), "3")
    assert answer["asked_bytes"] == 2000 * 1400
    assert 0.9 * 2000 * 400 < answer["mean_asked_bytes"] < answer["asked_bytes"]
    assert answer["tables"]["tuned"]["class_bytes"] == [400, 1008, 32768]


def test_the_parts_are_the_sum(recorded, classes):
    """Also if ends of pages and partly filled pages are no whole bytes; the sum used to be rounded by itself."""
    trace = recorded("""for (int i = 0; i < 3000; i++) blocks[i] = malloc(i * 37 % 3000 + 1);
  for (int i = 0; i < 2000; i++) free(blocks[i]);
  for (int i = 3000; i < 9000; i++) blocks[i] = malloc(i % 7 * 100 + 50);""")
    for count in range(4, 20):
        classes(trace, str(count))


def test_larger_blocks_have_no_class(recorded, classes):
    answer = classes(recorded(STAY + "blocks[20000] = malloc(40000); free(malloc(1)); blocks[20001] = malloc(100);"))
    assert (answer["requests"], answer["asked_bytes"], answer["large_bytes"]) == (10002, 1000100, 40000)


def test_aligned_blocks(recorded, classes):
    """A class is a multiple of the alignments of its blocks."""
    answer = classes(recorded("for (int i = 0; i < 10000; i++) blocks[i] = i % 2 ? memalign(256, 200) : malloc(264);"), "2")
    assert answer["tables"]["tuned"]["class_bytes"] == [512, 32768]


def test_an_aligned_block_may_have_a_larger_class(recorded, classes):
    """One aligned block used to keep away every class between its size and the next multiple of its alignment."""
    answer = classes(recorded("""blocks[0] = memalign(4096, 4096);
  for (int i = 1; i <= 1500; i++) blocks[i] = malloc(i % 2 ? 4000 : 4600);"""), "2")
    assert answer["tables"]["tuned"]["class_bytes"] == [4672, 32768]
    assert answer["cost_bound_bytes"] == answer["cost_bytes"]


def test_a_table_that_may_not_be_the_best_says_so(recorded, classes, hw):
    """Few blocks in each of several processes, of many sizes and with several alignments: not all tables are tried."""
    trace = recorded("""for (unsigned process = 1; process <= 4; process++)
    if (fork() == 0) {
      for (unsigned i = 0, x = process; i < 60; i++) {
        x = x * 1664525 + 1013904223;
        int align = 32 << (x >> 16) % 3;
        blocks[i] = memalign(align, align * (1 + (x >> 20) % (2048 / align)));
      }
      _exit(0);
    }
  while (wait(NULL) > 0) {}""")
    answer = classes(trace, "24", "--children")
    bound = answer["cost_bound_bytes"]
    assert 0.9 * answer["cost_bytes"] < bound < answer["cost_bytes"]
    said = re.search(r"Another table of 24 may cost up to ([\d.]+) % less",
                     hw("tune", "--classes=24", "--children", trace).stdout.replace("\n", " "))
    assert float(said[1]) == pytest.approx(100 * (1 - bound / answer["cost_bytes"]), abs=0.011)


def test_threads_have_pages_of_their_own(recorded, classes):
    """Those that run one after the other share them."""
    together = "for (long i = 0; i < 20; i++) pthread_create(&threads[i], NULL, thread, (void *)(i * 100));" \
               "for (int i = 0; i < 20; i++) pthread_join(threads[i], NULL);"
    apart = "for (long i = 0; i < 20; i++) { pthread_create(&threads[i], NULL, thread, (void *)(i * 100));" \
            "pthread_join(threads[i], NULL); }"
    many, one = (classes(recorded(body), "8") for body in (together, apart))
    assert many["asked_bytes"] >= 20 * 100 * 100 and one["threads"] <= 3
    assert many["threads"] >= one["threads"]


def test_processes(recorded, classes):
    trace = recorded(STAY + """if (fork() == 0) {
    for (int i = 0; i < 5000; i++) blocks[i] = malloc(500);
    _exit(0);
  }
  wait(NULL);""")
    both, child = classes(trace, "--children"), classes(trace)
    assert (both["processes"], both["asked_bytes"]) == (2, 1000000 + 2500000)
    assert (child["processes"], child["asked_bytes"]) == (1, 2500000)
    assert {112, 512} <= set(both["tables"]["tuned"]["class_bytes"])


def test_a_sample(recorded, classes, hw):
    trace = recorded("for (int i = 0; i < 20000; i++) blocks[i] = malloc(i % 2 ? 600 : 700);", "--sample=16K")
    answer = classes(trace)
    assert answer["sample_bytes"] == 16384
    assert answer["asked_bytes"] == pytest.approx(20000 * 650, rel=0.2)
    assert {608, 704} <= set(answer["tables"]["tuned"]["class_bytes"])
    for output in ("text", "conf"):
        assert "all figures are estimates" in hw("tune", "--classes", "--format", output, trace).stdout


@pytest.mark.parametrize("count, few", [(4, True), (99, True), (100, False)])
def test_few_requests(count, few, recorded, hw, tmp_path):
    """The table of a recording with hardly any requests used to be printed like any other."""
    trace = recorded(f"for (int i = 0; i < {count}; i++) blocks[i] = malloc(100);")
    said = f"The recording has only {count} requests of at most 32 KiB: the table is not worth much"
    done = hw("tune", "--classes", "4", trace)
    assert (said in done.stdout.replace("\n", " "), done.stderr) == (few, "")
    done = hw("tune", "--json", "--classes", "4", trace)
    assert (json.loads(done.stdout)["few_requests"], said in done.stderr) == (few, few)
    done = hw("tune", "--classes", "4", trace, "-o", tmp_path / "heap.conf")
    assert said in done.stderr if few else done.stderr == ""


def test_few_requests_of_a_sample(recorded, hw):
    """Those that are in the sample count, not those for which they stand."""
    trace = recorded("for (int i = 0; i < 20000; i++) blocks[i] = malloc(i % 2 ? 600 : 700);", "--sample=1M")
    text = hw("tune", "--classes", "4", trace).stdout
    assert re.search(r"^The recording has only \d\d? requests? of at most 32 KiB", text, re.M)


def test_heaps_of_the_program_are_apart(stay, hw):
    done = hw("tune", "--classes", "--heap", "nothing", stay)
    assert done.returncode == 2 and "nothing" in done.stderr


# --- another recording ---

@pytest.fixture
def shorter(recorded):
    """The trace of a run whose blocks are shorter: the default table has a class of 96 bytes, that of `stay` none."""
    return recorded("blocks[5000] = malloc(50000); for (int i = 0; i < 5000; i++) blocks[i] = malloc(90);")


def test_the_table_is_checked_with_another_recording(stay, shorter, classes):
    answer, itself = classes(stay, "2", "--check", shorter), classes(stay, "2", "--check", stay)
    check = answer["check"]
    tables = {table["name"]: table for table in check["tables"]}
    assert (check["recording"], check["sample_bytes"], check["requests"]) == (str(shorter), 0, 5000)
    assert (check["asked_bytes"], check["large_bytes"]) == (5000 * 90, 50000)
    assert {name: table["rounding_bytes"] for name, table in tables.items()} == {
        "tuned": 5000 * (112 - 90), "default": 5000 * (96 - 90), "powers_of_two": 5000 * (128 - 90)}
    own = classes(shorter)["tables"]["default"]
    assert tables["default"] == {key: own[key] for key in own if key != "class_bytes"}
    assert answer["tables"] == itself["tables"] == classes(stay, "2")["tables"]
    for table in itself["check"]["tables"]:
        assert table == {key: itself["tables"][table["name"]][key] for key in table}
    assert "check" not in classes(stay, "2")


def test_what_the_check_finds_is_said(stay, shorter, hw, tmp_path):
    plain, text = (hw("tune", "--classes", "2", *options, stay).stdout for options in ([], ["--check", shorter]))
    found = re.findall(r"In .*? over time\.", text.replace("\n", " "))
    assert len(found) == 2
    assert re.fullmatch(rf"In {shorter}, against the default table it needs [\d.]+ kB \([\d.]+ %\) more at the peak and [\d.]+ kB "
                        r"\([\d.]+ %\) more over time\.", found[0])
    assert found[1].startswith(f"In {shorter}, against powers of two it saves")
    words = text.replace("\n", " ")
    for sentence in found:
        words = words.replace(sentence + " ", "")
    assert words == plain.replace("\n", " ")
    assert hw("tune", "--classes", "2", "--check", shorter, stay, "-o", tmp_path / "heap.conf").returncode == 0
    assert all(f"# {sentence}\n" in (tmp_path / "heap.conf").read_text() for sentence in found)


def test_any_name_stays_a_comment(stay, shorter, hw, tmp_path):
    odd = tmp_path / "a*" / "b\nclass_bytes 16.hwt"
    odd.parent.mkdir()
    shutil.copy(shorter, odd)
    outputs = {form: hw("tune", "--classes", "2", "--check", odd, "--format", form, stay).stdout for form in ("text", "conf", "c")}
    assert all("a*/b\\nclass_bytes 16.hwt" in output.replace("\n", " ") for output in outputs.values())
    assert [line for line in outputs["conf"].splitlines() if not line.startswith("#")] == ["class_bytes 112 32768"]
    (tmp_path / "odd.c").write_text("#include <stddef.h>\n" + outputs["c"] + "int main(void) { return class_bytes[0] != 112; }\n")
    compile_source("cc", "-Wall", "-Wextra", "-Werror", tmp_path / "odd.c", "-o", tmp_path / "odd")


def test_a_check_with_a_sample(stay, recorded, hw):
    trace = recorded("for (int i = 0; i < 20000; i++) blocks[i] = malloc(i % 2 ? 600 : 700);", "--sample=16K")
    text = hw("tune", "--classes", "2", "--check", trace, stay).stdout.replace("\n", " ")
    assert f"In {trace}, a sample, against the default table it needs" in text and "all figures are estimates" not in text


def test_a_check_with_a_part(stay, recorded, hw):
    trace = recorded("for (unsigned i = 0; i < 700000; i++) free(malloc(i * 7919 % 50000));", "--max-size", "4M")
    text = hw("tune", "--classes", "2", "--check", trace, stay).stdout.replace("\n", " ")
    assert f"In {trace}, of which a part is missing, against powers of two" in text and "whole run" not in text


def test_a_check_that_cannot_be(stay, recorded, hw):
    nothing = recorded("blocks[0] = malloc(50000);")
    for trace, said in ((nothing, f"{nothing}: the recording has no block of at most 32 KiB"), ("missing.hwt", "missing.hwt")):
        done = hw("tune", "--classes", "--check", trace, stay)
        assert done.returncode == 2 and said in done.stderr and not done.stdout


def test_the_process_is_chosen_in_one_recording_only(stay, shorter, hw):
    """A process of another run has another number."""
    pid = json.loads(hw("tune", "--json", stay).stdout)["processes"][0]["pid"]
    done = hw("tune", "--classes", "--pid", str(pid), "--check", shorter, stay)
    assert done.returncode == 0, done.stderr


# --- the output ---

def test_text(stay, hw):
    text = hw("tune", "--classes", "2", stay).stdout
    assert text.startswith("HEAPWRIGHT_HEAP_CLASS_BYTES=112,32768\n")
    assert re.search(r"^ +1\.1 MB +\d+\.\d kB +\d+\.\d % .* this table, 2$", text, re.M)
    assert re.search(r"^ +1\.3 MB .* powers of two, 12$", text, re.M)
    assert "Against powers of two it saves" in text and "does not hold the whole run" not in text


def savings(text):
    """The sentences that say what a table saves."""
    found = re.findall(r"Against .*? over time\.", text.replace("\n", " "))
    assert len(found) == 2
    return found


def test_forms(stay, hw, tmp_path):
    """A table that is written to a file says there what it saves: nothing else is printed."""
    comments = "".join(f"# {line}\n" for line in savings(hw("tune", "--classes", "2", stay).stdout))
    for suffix, expected in {
            "conf": f"# made by heapwright tune --classes 2, for HEAPWRIGHT_HEAP_CONFIG\n{comments}class_bytes 112 32768\n",
            "env": "LD_PRELOAD=libheapwright-heap.so\nHEAPWRIGHT_HEAP_CLASS_BYTES=112,32768\n",
            "py": 'additional_env={"LD_PRELOAD": "libheapwright-heap.so", "HEAPWRIGHT_HEAP_CLASS_BYTES": "112,32768", },\n',
    }.items():
        assert hw("tune", "--classes", "2", stay, "-o", tmp_path / f"heap.{suffix}").returncode == 0
        assert (tmp_path / f"heap.{suffix}").read_text() == expected


def test_c(stay, hw, tmp_path):
    """The array is compiled, and the heap takes it. Comments say what it saves."""
    assert hw("tune", "--classes", stay, "-o", tmp_path / "classes.c").returncode == 0
    text = (tmp_path / "classes.c").read_text()
    assert savings(text) == savings(hw("tune", "--classes", stay).stdout) and text.count("// Against") == 2
    (tmp_path / "main.c").write_text("""#include <heapwright/heap.h>
#include "classes.c"
int main(void)
{
  struct hw_heap_config config = {.class_bytes = class_bytes, .class_count = sizeof class_bytes / sizeof *class_bytes};
  struct hw_heap *heap = hw_heap_create(&config, NULL);
  return !heap || hw_heap_usable_bytes(heap, hw_heap_alloc(heap, 100)) != 112;
}
""")
    compile_source("cc", "-Wall", "-Werror", f"-I{ROOT}/include", tmp_path / "main.c", "-o", tmp_path / "main",
                   LIBRARIES / "static/libheapwright-heaps.a", "-lpthread")
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


@pytest.mark.parametrize("words, said", [
    (["--classes", "0"], "from 1 to 64"),
    (["--classes=65"], "from 1 to 64"),
    (["--classes=few"], "a whole number"),
    (["--classes", "--margin", "5"], "--margin"),
    (["--format", "conf"], "add --classes"),
    (["--check", "missing.hwt"], "add --classes"),
    (["--format", "c"], "add --classes"),
])
def test_what_cannot_be(hw, words, said):
    done = hw("tune", *words, "missing.hwt")
    assert done.returncode == 2 and said in done.stderr and not done.stdout


def test_nothing_to_tune(recorded, hw):
    done = hw("tune", "--classes", recorded(""))
    assert done.returncode == 2 and "nothing to tune" in done.stderr


def test_an_incomplete_recording_is_said(recorded, stay, hw, tmp_path):
    """Not only in the text: what is written to a file, and JSON, may be all that anyone looks at."""
    trace = recorded("for (unsigned i = 0; i < 700000; i++) free(malloc(i * 7919 % 50000));", "--max-size", "4M")
    said = "does not hold the whole run"
    assert said in hw("tune", "--classes", trace).stdout
    for kind in ("conf", "c"):
        done = hw("tune", "--classes", trace, "-o", tmp_path / f"heap.{kind}")
        assert said in done.stderr and said in (tmp_path / f"heap.{kind}").read_text()
    for options in (["--classes"], []):
        done = hw("tune", "--json", *options, trace)
        assert said in done.stderr and json.loads(done.stdout)["whole_run"] is False
        done = hw("tune", "--json", *options, stay)
        assert not done.stderr and json.loads(done.stdout)["whole_run"] is True
    checked = json.loads(hw("tune", "--json", "--classes", "--check", trace, stay).stdout)
    assert (checked["whole_run"], checked["check"]["whole_run"]) == (True, False)


# --- the config file ---

USABLE = """#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
  printf("%zu %zu", malloc_usable_size(malloc(100)), malloc_usable_size(malloc(3000)));
}
"""
DEFAULT = "112 3072"


@pytest.fixture
def with_config(compile_c, tmp_path):
    """with_config(text, **variables): runs a program on the heap with a config file. Returns the classes of 100 and of 3,000
    bytes, and stderr without the file's folder."""
    program = compile_c(USABLE, "-fno-builtin", name="usable")

    def run(text, **variables):
        path = tmp_path / "heap.conf"
        if text is not None:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = subprocess.run([program], env={"LD_PRELOAD": str(HEAP), "HEAPWRIGHT_HEAP_CONFIG": str(path), **variables},
                              capture_output=True, check=False)
        return done.stdout.decode(), done.stderr.decode(errors="replace").replace(f"{tmp_path}/", "")

    return run


def test_a_config_file(with_config):
    assert with_config("class_bytes 128 3008 32768\n") == ("128 3008", "")
    assert with_config("# a comment\n\n \tclass_bytes\t128,3008, 32768 # another one: \xe4\r\n  # end") == ("128 3008", "")
    assert with_config("") == (DEFAULT, "")
    assert with_config("class_bytes 128 3008 32768\n", HEAPWRIGHT_HEAP_CLASS_BYTES="64,32768") == ("32768 32768", "")


@pytest.mark.parametrize("text, said", [
    ("class_bytes\n", "heap.conf:1: class_bytes has no value"),
    ("\n\nclass_byte 16 32768", "heap.conf:3: class_byte is no field"),
    ("class_bytes 16 x 32768", "heap.conf:1: class_bytes must be a list"),
    ("class_bytes " + "16 " * 65, "heap.conf:1: class_bytes must be a list"),
    ("class_bytes 99999999999999999999", "heap.conf:1: class_bytes must be a list"),
    ("#\nclass_bytes 16 100 32768", "heap.conf:2: class_bytes: number 2 must be a multiple of 16"),
    ("returns at-once extra", "heap.conf:1: returns must be one value"),
    ("arena_bytes 8M 4M", "heap.conf:1: arena_bytes must be one value"),
    ("class_bytes 16 32", "heap.conf:1: class_bytes: number 2 must be 32768 for the last class"),
    ("class_bytes 32768 16", "heap.conf:1: class_bytes: number"),
    ("class_bytes 112 3072 32768\nclass_bytes 128 32768", "heap.conf:2: class_bytes was set in an earlier line"),
    (b"\x7fELF\0\0\0\1\n", "heap.conf:1: this is not text"),
    (b"\x1b[2J evil\n", "heap.conf:1: this is not text"),
    (None, "heap.conf cannot be read (No such file or directory)"),
    ("threads single", "heap.conf:1: threads must be caching or central"),
    ("= 5", "heap.conf:1: there is no name before the ="),
], ids=range(16))
def test_a_wrong_config_file(with_config, text, said):
    """The default is used."""
    found, stderr = with_config(text)
    assert found == DEFAULT and stderr.count("\n") == 1 and said in stderr
    assert "\x1b" not in stderr


def test_a_file_of_garbage_is_not_read_to_its_end(with_config):
    found, stderr = with_config(b"\1\n" * 30000)
    assert found == DEFAULT and stderr.count("\n") == 11 and "many wrong lines" in stderr
    found, stderr = with_config(b"#" * 70000)
    assert found == DEFAULT and stderr.count("\n") == 1 and "is larger than 64 KiB" in stderr


def test_the_tuned_table_is_read(recorded, hw, with_config, tmp_path):
    trace = recorded("for (int i = 0; i < 10000; i++) blocks[i] = malloc(i % 2 ? 100 : 3000);")
    assert hw("tune", "--classes", trace, "-o", tmp_path / "heap.conf").returncode == 0
    sizes = [int(size) for size in (tmp_path / "heap.conf").read_text().split("class_bytes ")[1].split()]
    expected = " ".join(str(min(size for size in sizes if size >= wanted)) for wanted in (100, 3000))
    assert expected != DEFAULT and with_config(None) == (expected, "")


# --- real programs ---

PEAK = """#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static __attribute__((destructor)) void note_peak(void)
{
  static char text[8192];
  int file = open("/proc/self/status", O_RDONLY);
  if (read(file, text, sizeof text - 1) < 0 || !strstr(text, "VmHWM:") || !getenv("PEAK_FILE"))
    return;
  FILE *out = fopen(getenv("PEAK_FILE"), "w");
  fprintf(out, "%ld", atol(strstr(text, "VmHWM:") + 6));
  fclose(out);
}
"""


def sql(rows, columns):
    """The pages of the database are blocks of another size than the default's classes have."""
    return f"""pragma page_size = 2048;
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
insert into t select i, hex(i * 7919) || {columns} from n;
select count(*), sum(length(b)) from t where b like '%5%';"""


def python(count, line):
    return f"""import ast
tree = ast.parse("\\n".join("def f%d(a, b=%d):\\n    {line}" % (i, i) for i in range({count})))
print(sum(1 for _ in ast.walk(tree)))"""


def run_redis(command, sizes, env, folder):
    """Populates a server, and ends it."""
    socket = folder / "redis.sock"
    server = subprocess.Popen([*command, "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--enable-debug-command", "yes"],
                              env=env, stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if "Ready to accept connections" in line or "now ready to accept" in line:
            break
    lines = [f"DEBUG POPULATE 4000 key{size} {size}" for size in sizes] + ["SHUTDOWN NOSAVE"]
    done = subprocess.run(["redis-cli", "-s", socket], input="\n".join(lines), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.count("OK") == len(sizes), done
    server.stdout.read()
    assert server.wait(60) == 0


def run_words(command, words, env, folder):
    subprocess.run([*command, *words], env=env, stdout=subprocess.DEVNULL, timeout=120, check=True)


# name: how it is run, and two inputs
REAL_PROGRAMS = {
    "sqlite3": (run_words, ["sqlite3", ":memory:", sql(90000, "'text'")], ["sqlite3", ":memory:", sql(70000, "'other text'")]),
    "python3": (run_words, ["/usr/bin/python3", "-c", python(800, "return [a * 3 + b for x in range(b)]")],
                ["/usr/bin/python3", "-c", python(600, "return b if a < 3 else {a: [b, 4]}")]),
    "redis-server": (run_redis, [300, 410, 530, 900], [300, 410, 530, 650, 900]),
}


@pytest.mark.parametrize("name", REAL_PROGRAMS)
def test_less_memory(name, hw, build, tmp_path):
    """On the heap, with the table for its recording and with the table for a recording of other input, the peak RSS of a real program is
    smaller than with the default table, by much of what was computed."""
    run, *inputs = REAL_PROGRAMS[name]
    if not shutil.which(name):
        pytest.skip(f"no {name}")
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    (tmp_path / "peak.c").write_text(PEAK)
    compile_source("gcc", "-w", "-O1", "-shared", "-fPIC", tmp_path / "peak.c", "-o", tmp_path / "peak.so")

    def peak_on_heap(**settings):
        peaks = []
        for _ in range(3):  # the system counts RSS only to some dozens of pages, and what is returned depends on time
            run([], inputs[0], {**environment, "LD_PRELOAD": f"{tmp_path}/peak.so:{HEAP}", "PEAK_FILE": str(tmp_path / "peak"), **settings}, tmp_path)
            peaks.append(int((tmp_path / "peak").read_text()) * 1024)
        return min(peaks)

    def tuned(number):
        trace, config = tmp_path / f"{number}.hwt", tmp_path / f"{number}.conf"
        run([build / "bin/heapwright", "record", "-q", "-o", trace, "--"], inputs[number], environment, tmp_path)
        assert hw("tune", "--classes", trace, "-o", config).returncode == 0
        return {"HEAPWRIGHT_HEAP_CONFIG": str(config)}, trace

    (own, trace), (other, _) = tuned(0), tuned(1)
    tables = {table["name"]: table for table in json.loads(hw("tune", "--classes", "--json", trace).stdout)["tables"]}
    predicted = tables["default"]["peak_bytes"] - tables["tuned"]["peak_bytes"]
    default = peak_on_heap()
    found = {"predicted": predicted, "default": default, "own": default - peak_on_heap(**own), "other": default - peak_on_heap(**other)}
    least_own, least_other = (0.3, 0.2) if name == "sqlite3" else (0.5, 0.3)
    assert found["own"] > least_own * predicted and found["other"] > least_other * predicted, found
    assert predicted > 0.01 * default, found
