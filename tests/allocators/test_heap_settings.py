"""libheapwright-heap.so: its settings from the environment, what it writes about itself, and libc's malloc in its place."""

import os
import re
import shutil
import subprocess

import pytest

from allocators_library import EXAMPLES, LIBRARIES, PROGRAMS, ROOT, compile_source, compiler_of, expect_done

LIBRARY = LIBRARIES / "libheapwright-heap.so"
PREFIX = "HEAPWRIGHT_HEAP_"


@pytest.fixture
def user(user_on):
    return user_on(LIBRARY, 300)


@pytest.fixture
def subject(programs):
    """subject(what, before=(), **environment): the finished process of heap_subject.c."""
    program = programs(PROGRAMS / "heap_subject.c")

    def start(what, before=(), folder=None, **environment):
        return subprocess.run([*before, program, what], env={**os.environ, "LD_PRELOAD": str(LIBRARY), **environment}, cwd=folder,
                              capture_output=True, text=True, timeout=60, check=False)

    return start


def settings(**values):
    return {PREFIX + name: value for name, value in values.items()}


# --- settings ---

CENTRAL = settings(THREADS="central")
MANY = settings(CLASS_BYTES="16,64,256,1008,32K", PAGE_BYTES="128K", THREAD_PAGES="3", ARENA_BYTES="16M", ARENA_ALIGN_BYTES="32M", ARENA_GROWTH_PERCENT="20",
                RETURNS="at-once", LOCK="spinning", PAGES="transparent")
LOCKED = settings(LOCK_MEMORY="1", PAGES="small")
EARLY = settings(RETURN_AFTER_MS="1", KEEP_FREE_BYTES="1")
LIBC = settings(LIBC="1")
PRESENT = settings(TOUCH="1", PAGES="huge", NUMA_NODE="0", THREAD_PAGES="1,2,1", CLASS_BYTES="64 1K 32K")


@pytest.mark.parametrize("what, environment", [(["threads"], CENTRAL), (["fork", 3], CENTRAL), (["threads"], {**CENTRAL, "HEAPWRIGHT_CHECK": "1"}),
                                               (["threads"], MANY), (["fork", 3], MANY), (["fork"], {**CENTRAL, **settings(LOCK="spinning")}),
                                               (["threads"], EARLY), (["fork", 3], EARLY), (["threads"], LIBC), (["fork", 3], LIBC)],
                         ids=["central", "central-fork", "central-check", "many", "many-fork", "spinning-fork", "early", "early-fork", "libc",
                              "libc-fork"])
def test_programs_run_with_any_settings(user, what, environment):
    """Forks that close the lock again and again: a request that fails because of one used to be taken for the end of memory."""
    expect_done(user(*what, **environment))


@pytest.mark.parametrize("what", [["threads"], ["fork", 3]], ids=["threads", "fork"])
def test_programs_run_in_locked_memory(user, what):
    """Or, where so much may not be locked, without that."""
    process = user(*what, **LOCKED)
    assert (process.returncode, process.stdout) == (0, "done\n")
    assert all("the heap's memory cannot be locked" in line for line in process.stderr.splitlines())


def test_what_the_system_refuses_is_said_once(user):
    process = user("wrong", "foreign", **PRESENT)
    assert (process.returncode, process.stdout) == (0, "done\n")
    lines = process.stderr.splitlines()
    assert len(set(lines)) == len(lines) and all(re.match(r"heapwright: (no |the heap's memory).* \([A-Z][a-z ]+\)$", line) for line in lines)


@pytest.mark.parametrize("name, value, rule", [
    ("CLASS_BYTES", "16,40,32768", ": number 2 must be a multiple of 16, and not 0"),
    ("CLASS_BYTES", "16,64", ": number 2 must be 32768 for the last class, and less for all others"),
    ("CLASS_BYTES", "many", " must be a list of at most 64 numbers, such as 16,64,32K"),
    ("CLASS_BYTES", "", " must be a list of at most 64 numbers, such as 16,64,32K"),
    ("CLASS_BYTES", " ".join(str(16 * i) for i in range(1, 66)), " must be a list of at most 64 numbers, such as 16,64,32K"),
    ("PAGE_BYTES", "100K", ": number 1 must be a multiple of 64 KiB, at most 2 MiB"),
    ("PAGE_BYTES", "64K,64K", ": the length must be 1, or the number of classes"),
    ("THREAD_PAGES", "1025", ": number 1 must be from 0 to 1024"),
    ("ARENA_BYTES", "5M", " must be a multiple of 4 MiB, at most 1 GiB"),
    ("ARENA_BYTES", "4M,4M", " must be a multiple of 4 MiB, at most 1 GiB"),
    ("ARENA_BYTES", "4MB", " must be a multiple of 4 MiB, at most 1 GiB"),
    ("ARENA_BYTES", "99999999999999999999999999999999999", " must be a multiple of 4 MiB, at most 1 GiB"),
    ("ARENA_ALIGN_BYTES", "12M", " must be a power of two from 4 MiB to 1 GiB"),
    ("ARENA_ALIGN_BYTES", "2M", " must be a power of two from 4 MiB to 1 GiB"),
    ("ARENA_GROWTH_PERCENT", "101", " must be from 0 to 100"),
    ("ARENA_GROWTH_PERCENT", "10%", " must be from 0 to 100"),
    ("THREADS", "single", " must be caching or central for the malloc of a process"),
    ("THREADS", "some", " must be caching or central"),
    ("LOCK", "1", " must be adaptive or spinning"),
    ("LOCK", "none", " must be adaptive or spinning for the malloc of a process"),
    ("RETURNS", "never", " must be later, above, at-once or on-collect"),
    ("KEEP_FREE_BYTES", "0", " must be a size, such as 64M, and not 0"),
    ("RETURN_AFTER_MS", "4000000", " must be from 1 to 3600000"),
    ("PAGES", "Huge", " must be usual, small, transparent or huge"),
    ("TOUCH", "yes", " must be 0 or 1"),
    ("LOCK_MEMORY", "2", " must be 0 or 1"),
    ("NUMA_NODE", "1023", " must be the number of a memory node of this machine"),
    ("NUMA_NODE", "-1", " must be the number of a memory node of this machine"),
])
def test_a_wrong_value_is_said_and_the_default_is_used(user, name, value, rule):
    process = user("wrong", "foreign", **settings(**{name: value}))
    assert (process.returncode, process.stdout) == (0, "done\n")
    assert process.stderr == f"heapwright: {PREFIX}{name}={value}{rule}; the default of this setting is used\n"


@pytest.mark.parametrize("value, size", [("yes", "32"), ("0", "32"), ("1", "24")])
def test_libcs_malloc_is_asked_for_by_a_number(subject, value, size):
    """What is used instead of a wrong value is said, as for the other settings."""
    process = subject("size", HEAPWRIGHT_HEAP_LIBC=value)
    said = "" if value in "01" else "heapwright: HEAPWRIGHT_HEAP_LIBC=yes is neither 0 nor 1; 0 is used\n"
    assert (process.stdout, process.stderr) == (f"{size}\n", said)


def test_values_that_exclude_each_other_are_said(user):
    process = user("wrong", "foreign", **settings(RETURNS="on-collect", KEEP_FREE_BYTES="1M", RETURN_AFTER_MS="3"))
    assert process.stdout == "done\n"
    assert process.stderr == (f"heapwright: {PREFIX}KEEP_FREE_BYTES=1M must be left out unless `returns` is later or above; the default of this setting is used\n"
                              f"heapwright: {PREFIX}RETURN_AFTER_MS=3 must be left out unless `returns` is later; the default of this setting is used\n")


def test_a_setting_that_another_ones_default_excludes_is_said(user):
    """Touched memory stays: what is excluded is not clear from the settings alone."""
    process = user("wrong", "foreign", **settings(TOUCH="1", KEEP_FREE_BYTES="1M", RETURN_AFTER_MS="3"))
    rule = "must be left out if `touch` or `lock_memory` is set and `returns` is not; the default of this setting is used"
    assert process.stdout == "done\n"
    assert process.stderr == f"heapwright: {PREFIX}KEEP_FREE_BYTES=1M {rule}\nheapwright: {PREFIX}RETURN_AFTER_MS=3 {rule}\n"


def test_a_variable_of_no_setting_is_said(user):
    process = user("wrong", "foreign", **settings(CLASSES="16"), HEAPWRIGHT_POOL_SIZE="1M")
    assert process.stderr == f"heapwright: {PREFIX}CLASSES=16 has no effect: the heap has no such setting\n"


@pytest.mark.parametrize("name, meant", [("HEAP_CHECK", "CHECK"), ("HEAP_CHECK_ALL_FREES", "CHECK"), ("HEAP_STATS", "STATS")])
def test_a_variable_of_another_prefix_is_named(user, name, meant):
    process = user("wrong", "foreign", **{f"HEAPWRIGHT_{name}": "1"})
    assert process.stderr == (f"heapwright: HEAPWRIGHT_{name}=1 has no effect: the heap has no such setting; did you mean HEAPWRIGHT_{meant}?\n")


def printed_settings(text):
    return dict(re.findall(rf"^heapwright: ({PREFIX}\w+)=(.*)$", text, re.M))


def test_effective_settings_are_printed_and_can_be_given(subject):
    default = printed_settings(subject("size", HEAPWRIGHT_STATS="stderr").stderr)
    assert default[PREFIX + "CLASS_BYTES"].startswith("16,32,48,") and default[PREFIX + "RETURNS"] == "later"
    assert default[PREFIX + "RETURN_AFTER_MS"] == "25" and default[PREFIX + "NUMA_NODE"] == "default"
    assert default[PREFIX + "ARENA_ALIGN_BYTES"] == str(4 << 20) and default[PREFIX + "ARENA_GROWTH_PERCENT"] == "0"
    again = subject("size", HEAPWRIGHT_STATS="stderr", **default).stderr
    assert printed_settings(again) == default and "must be" not in again
    changed = printed_settings(subject("size", HEAPWRIGHT_STATS="stderr", **MANY).stderr)
    assert changed == {**default, PREFIX + "CLASS_BYTES": "16,64,256,1008,32768", PREFIX + "PAGE_BYTES": "131072",
                       PREFIX + "THREAD_PAGES": "3", PREFIX + "ARENA_BYTES": "16777216", PREFIX + "ARENA_ALIGN_BYTES": "33554432", PREFIX + "ARENA_GROWTH_PERCENT": "20",
                       PREFIX + "RETURNS": "at-once", PREFIX + "LOCK": "spinning", PREFIX + "PAGES": "transparent", PREFIX + "RETURN_AFTER_MS": "default"}


@pytest.mark.parametrize("name, settings", [("fast", {"RETURNS": "on-collect", "PAGES": "transparent"}),
                                            ("compact", {"RETURNS": "above", "KEEP_FREE_BYTES": str(12 << 20), "PAGES": "small"})])
def test_a_profile(subject, tmp_path, name, settings):
    """The file in docs/heap.md."""
    text = re.search(rf"`{name}.conf`:\n\n```\n(.*?)```", (ROOT / "docs/heap.md").read_text(), re.S)[1]
    (tmp_path / "profile.conf").write_text(text)
    found = printed_settings(subject("size", HEAPWRIGHT_STATS="stderr", HEAPWRIGHT_HEAP_CONFIG=str(tmp_path / "profile.conf")).stderr)
    assert text.count("\n") == len(settings)
    assert {setting: found[PREFIX + setting] for setting in settings} == settings


# --- what it writes about itself ---

def rows(text):
    """{class: (pages, peak, taken, room, used, peak used or None, used bytes, unused bytes)}"""
    found = re.findall(r"^heapwright: +(\d+|larger)" + r" +(\d+)" * 5 + r" +(\d+|-)" + r" +(\d+)" * 2 + "$", text, re.M)
    return {line[0]: tuple(None if cell == "-" else int(cell) for cell in line[1:]) for line in found}


@pytest.mark.parametrize("is_absolute", [True, False])
def test_statistics_in_a_file(subject, tmp_path, is_absolute):
    """Also if the program has changed its folder and closed all descriptors; those of several processes follow each other."""
    output = tmp_path / "stats"
    for count in (1, 2):
        process = subject("leak", folder=tmp_path, HEAPWRIGHT_STATS=str(output) if is_absolute else "stats")
        assert (process.returncode, process.stdout) == (0, "done\n")
        assert re.match(r"heapwright: block 0x[0-9a-f]+: the block is free already; it stays as it is\n", process.stderr)
        text = output.read_text()
        assert len(re.findall(r"process \d+ ends; what is used was not freed. Invalid frees: 1\n", text)) == count
        assert text.count("the block is free already") == count and text.count("#0 0x") == count
    assert re.search(r"^heapwright: +block +pages +peak pages +taken +room +used +peak used +used bytes +unused bytes$", text, re.M)
    pages, peak, taken, room, used, peak_used, used_bytes, unused_bytes = rows(text)["5120"]
    assert (pages, peak, taken, used, peak_used, used_bytes) == (1, 1, 1, 7, None, 7 * 5120)
    assert unused_bytes == 262144 - used_bytes and room == 262144 // 5120
    assert "131072" not in rows(text)


def test_the_most_blocks_of_a_class_if_each_free_is_checked(subject):
    text = subject("stats", HEAPWRIGHT_CHECK="1").stderr
    assert rows(text)["2048"][4:6] == (1, 1)
    assert all(used <= peak for *_, used, peak, _, _ in rows(text).values())


def test_nothing_is_written_without_a_wish(subject):
    assert subject("size").stderr == ""


def test_a_file_that_cannot_be_written_is_said(subject):
    process = subject("size", HEAPWRIGHT_STATS="/no/such/folder/stats")
    assert (process.stdout, process.stderr) == ("32\n", "heapwright: HEAPWRIGHT_STATS=/no/such/folder/stats cannot be written; there are no statistics\n")


def test_a_full_disk_is_said_once(subject):
    """The file can be opened. The statistics used to be lost without a word."""
    process = subject("size", HEAPWRIGHT_STATS="/dev/full")
    assert (process.stdout, process.stderr) == (
        "32\n", "heapwright: HEAPWRIGHT_STATS=/dev/full cannot be written; statistics are lost (No space left on device)\n")
    assert subject("leak", HEAPWRIGHT_STATS="/dev/full").stderr.count("statistics are lost") == 1


def test_a_pipe_without_a_reader_does_not_stop_the_program(subject, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    process = subject("size", HEAPWRIGHT_STATS=str(tmp_path / "pipe"))
    assert process.stdout == "32\n" and "pipe cannot be written; there are no statistics\n" in process.stderr


def test_statistics_when_the_program_asks(subject):
    text = subject("stats").stderr
    assert re.match(r"heapwright: heap: used \d+ bytes, mapped \d+, at most \d+; threads 1; the table of all heaps \d+ bytes\n", text) and rows(text)["2048"][4] == 1


def test_statistics_at_a_quick_exit(subject):
    """It runs no destructors; docs/heap.md says what the program can do."""
    process = subject("quick", HEAPWRIGHT_STATS="stderr")
    assert process.returncode == 3 and "has loaded the heap" in process.stderr and "unused bytes" not in process.stderr
    process = subject("quick-stats", HEAPWRIGHT_STATS="stderr")
    assert process.returncode == 3 and rows(process.stderr)["2048"][4] == 1


def test_lines_of_frames_without_a_name(subject):
    """From the file and the offset, as docs/heap.md says."""
    frame = re.search(r"  #0 0x[0-9a-f]+ \? \((\S+)\+(0x[0-9a-f]+)\)\n", subject("leak").stderr)
    found = subprocess.run(["addr2line", "-Cfipe", frame[1], frame[2]], capture_output=True, text=True, check=True)
    assert re.match(r"leak at .*heap_subject\.c:\d+", found.stdout)


def test_functions_of_malloc_h(subject):
    process = subject("trim", HEAPWRIGHT_HEAP_RETURNS="on-collect") # otherwise memory goes back earlier, more of it on a busy machine
    assert process.stdout.splitlines()[:3] == ["trim: 1, 0; back: much", "mallinfo: right", "mallopt: 1"]
    assert "<malloc version=" in process.stdout


def test_an_impossible_request_gives_nothing_back(subject):
    """It used to cost all that was free in all heaps."""
    assert subject("impossible", HEAPWRIGHT_HEAP_RETURNS="on-collect").stdout == "failed: 4; back: nothing\n"


# --- a config of its own ---

def build_own(folder, source, *flags):
    """With the archive, in C or C++."""
    output = folder / "own"
    compile_source(*compiler_of(source), "-O2", "-Wall", "-Wextra", "-Werror", source, "-o", output, f"-I{ROOT}/include", "-Wl,--whole-archive",
                   LIBRARIES / "libheapwright-heap.a", "-Wl,--no-whole-archive", *flags)
    return output


LIBRARY_FLAGS = ["-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,now"]


def test_a_library_with_its_own_config(subject, tmp_path):
    """Variables replace its members."""
    own = build_own(tmp_path, EXAMPLES / "own_heap.c", *LIBRARY_FLAGS)
    process = subject("size", LD_PRELOAD=str(own), HEAPWRIGHT_STATS="stderr", HEAPWRIGHT_HEAP_ARENA_BYTES="8M")
    found = printed_settings(process.stderr)
    assert process.stdout == "32\n" and found[PREFIX + "RETURNS"] == "on-collect" and found[PREFIX + "ARENA_BYTES"] == str(8 << 20)
    assert found[PREFIX + "CLASS_BYTES"].startswith("16,32,48,80,")


WRONG_CONFIG = ("#include <heapwright/heap.h>\nstatic const size_t classes[] = {16, 24, 32768};\n"
                      "const struct hw_heap_config hw_process_heap_config = {classes, 3, nullptr, 0, nullptr, 0, 1 << 23, 0, 0, HW_HEAP_CACHING,\n"
                      "HW_HEAP_LOCK_ADAPTIVE, HW_HEAP_RETURNS_DEFAULT, 0, 0, HW_HEAP_PAGES_USUAL, false, false, 0, false, nullptr, nullptr};\n")


def wrong_config_of(path):
    return (f"heapwright: hw_process_heap_config of {path}: class_bytes: number 2 must be a multiple of 16, and not 0; "
            "the default of this setting is used\n")


def test_a_wrong_config_of_a_library_is_said(subject, tmp_path):
    source = tmp_path / "own.cc"
    source.write_text(WRONG_CONFIG)
    own = build_own(tmp_path, source, *LIBRARY_FLAGS)
    process = subject("size", LD_PRELOAD=str(own))
    assert (process.stdout, process.stderr) == ("32\n", wrong_config_of(own))


@pytest.mark.parametrize("flags", [["-pthread"], ["-static"], ["shared"]], ids=["archive", "static", "shared"])
def test_a_wrong_config_of_a_program_is_said(tmp_path, flags):
    """It used to be called the library's, which has none."""
    source, own = tmp_path / "own.cc", tmp_path / "own"
    source.write_text("#include <cstdio>\n" + WRONG_CONFIG + 'int main() { std::puts("done"); }\n')
    if flags == ["shared"]:
        compile_source(*compiler_of(source), source, "-o", own, f"-I{ROOT}/include", "-Wl,--no-as-needed", LIBRARY, f"-Wl,-rpath,{LIBRARIES}")
    else:
        build_own(tmp_path, source, *flags)
    process = subprocess.run([own], capture_output=True, text=True, timeout=60, check=False)
    assert (process.stdout, process.stderr) == ("done\n", wrong_config_of(own))


# --- libc's malloc in its place ---

def test_libcs_malloc(subject, user):
    assert subject("size").stdout == "32\n"
    process = subject("size", HEAPWRIGHT_HEAP_LIBC="1")
    assert (process.stdout, process.stderr) == ("24\n", "")
    expect_done(user("threads", HEAPWRIGHT_HEAP_LIBC="1"))


@pytest.mark.parametrize("name, value", [("HEAPWRIGHT_STATS", "stderr"), ("HEAPWRIGHT_STATS", "here.txt"), ("HEAPWRIGHT_CHECK", "1")])
def test_what_has_no_effect_on_libcs_malloc_is_said(subject, tmp_path, name, value):
    """It was ignored, and no file was written."""
    process = subject("size", folder=tmp_path, HEAPWRIGHT_HEAP_LIBC="1", **{name: value})
    assert (process.stdout, process.stderr) == ("24\n", f"heapwright: {name}={value} has no effect with HEAPWRIGHT_HEAP_LIBC=1\n")
    assert not list(tmp_path.glob("here*"))


def test_what_is_off_is_not_said(subject):
    process = subject("size", HEAPWRIGHT_HEAP_LIBC="1", HEAPWRIGHT_STATS="", HEAPWRIGHT_CHECK="0")
    assert (process.stdout, process.stderr) == ("24\n", "")


@pytest.fixture
def objects(programs):
    """heap_objects.c, with the archive; with the flags of a sanitizer, too."""
    return lambda *flags: programs(PROGRAMS / "heap_objects.c", f"-I{ROOT}/include", LIBRARIES / "static/libheapwright-heaps.a", "-pthread", "-ldl", *flags,
                                   name="objects" + "".join(flags))


def run_objects(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.parametrize("libc", ["0", "1"])
def test_heaps_as_objects_in_libcs_malloc(objects, libc):
    process = run_objects(objects(), HEAPWRIGHT_HEAP_LIBC=libc)
    assert (process.returncode, process.stdout, process.stderr) == (0, "wrong: 0\n", "")


def test_sanitizers_find_the_faults_of_heaps_as_objects(objects):
    program = objects("-fsanitize=address")
    process = run_objects(program, HEAPWRIGHT_HEAP_LIBC="1", ASAN_OPTIONS="halt_on_error=0:detect_leaks=1:allocator_may_return_null=1")
    assert (process.returncode, process.stdout) == (0, "wrong: 0\n"), process.stderr
    process = run_objects(program, "faults", HEAPWRIGHT_HEAP_LIBC="1", ASAN_OPTIONS="allocator_may_return_null=1")
    assert process.returncode and "heap-buffer-overflow" in process.stderr and "0 bytes after 77-byte region" in process.stderr.replace("located 0 bytes to the right of", "0 bytes after")


def test_valgrind_finds_the_faults_of_heaps_as_objects(objects, tmp_path):
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    log = tmp_path / "log"
    process = run_objects("valgrind", "-q", "--leak-check=full", "--error-exitcode=9", f"--log-file={log}", objects(), "faults", HEAPWRIGHT_HEAP_LIBC="1")
    text = log.read_text()
    assert process.returncode == 9
    assert "Invalid write of size 1" in text and "0 bytes after a block of size 77" in text
    assert "123 bytes in 1 blocks are definitely lost" in text and text.count("lost in loss record") == 1, text


def test_valgrind_finds_the_faults_of_the_program(subject, tmp_path):
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind")
    log = tmp_path / "log"
    process = subject("err", before=["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", f"--log-file={log}"], HEAPWRIGHT_HEAP_LIBC="1")
    text = log.read_text()
    assert process.returncode == 9
    assert "Invalid write of size 1" in text and "0 bytes after a block of size 77" in text
    assert "123 bytes in 1 blocks are definitely lost" in text and text.count("by 0x") + text.count("at 0x") >= 4
    assert len(re.findall(r"(?:err|main) \(heap_subject\.c:\d+\)", text)) >= 4 and text.count("definitely lost") == 1
