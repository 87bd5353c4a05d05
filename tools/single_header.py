"""single_header.py pool|heap FILE   writes the pool, or the general heap, as one header, for programs that take no library

The public header comes first. The rest is compiled where HEAPWRIGHT_POOL_IMPLEMENTATION or HEAPWRIGHT_HEAP_IMPLEMENTATION is
defined. Includes of the project's own files are replaced by what they hold, each once. The pool's files fit together as they are.
Those of the heap become so (class Parts): of the platform they take what the heap needs; names that a file keeps to itself get the
file's name; includes of libc come first.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'#include "([^"]+)"\n')

POOL_HEAD = """\
/* heapwright-pool.h - the memory pool of heapwright, version {version}, in one file
 *
 * Include it wherever the pool is used. In exactly one C or C++ file, best one that holds nothing else, define
 * HEAPWRIGHT_POOL_IMPLEMENTATION before: that is where the pool is compiled. Made from heapwright's sources by
 * `make single-header`. The licence is at the end.
 */
"""
POOL_PARTS = ["pool.c", "regions.c", "inspect.c"]

HEAP_HEAD = """\
/* heapwright-heap.h - the general heap of heapwright, version {version}, in one file; for Linux with glibc, x86-64, 64-bit and 32-bit Arm
 *
 * Include it wherever heaps are used. In exactly one C or C++ file, which holds nothing else, define
 * HEAPWRIGHT_HEAP_IMPLEMENTATION before, and include it before all other headers: that is where the heaps are compiled.
 * Define HEAPWRIGHT_HEAP_MALLOC there as well, and malloc of the whole process is such a heap, with all its entry
 * points. Compile this file with -O2 -fexceptions -fvisibility=hidden, and link with -pthread -ldl. Made from
 * heapwright's sources by `make single-header`. The licence is at the end.
 */
#if defined HEAPWRIGHT_HEAP_IMPLEMENTATION && defined __GLIBC__ && !defined __USE_GNU
#error "Include heapwright-heap.h before all other headers in the file that has HEAPWRIGHT_HEAP_IMPLEMENTATION, or compile it with -D_GNU_SOURCE."
#undef HEAPWRIGHT_HEAP_IMPLEMENTATION /* what follows from this would be said many times */
#elif defined HEAPWRIGHT_HEAP_IMPLEMENTATION && !defined _GNU_SOURCE
#define _GNU_SOURCE
#endif
"""
# In the order in which they need each other; of the first two lists, only what is needed.
BASE = ["size_text.c"]
PLATFORM = ["elf.c", "find_object.c", "vdso.c", "os.c", "file.c", "dynamic.c", "threads.c", "loader.c", "heap.c"]
SHARED = ["message.c", "lock.c", "setting.c"]
MALLOC = ["pass_on.c", "fork_heap.c", "process_heap/config_file.c", "process_heap/settings.c",
          "process_heap/statistics.c", "process_heap/thread_heaps.c",
          "process_heap/static_program.c", "process_heap/process_heap.c"]

IMPLEMENTATION_BEGIN = """
#ifdef HEAPWRIGHT_HEAP_IMPLEMENTATION

{includes}
#ifdef __cplusplus
#define _Noreturn __attribute__((noreturn))
extern "C" {{
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas" /* not all compilers have all of these warnings */
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wpedantic" /* names and literals of members, which C++17 does not have */
#pragma GCC diagnostic ignored "-Wc++20-extensions"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wextra" /* an enumeration where a number is also possible */
"""
MALLOC_BEGIN = """
#ifdef __cplusplus
}
#endif
#ifdef HEAPWRIGHT_HEAP_MALLOC

"""
IMPLEMENTATION_END = """
#endif /* HEAPWRIGHT_HEAP_MALLOC */
#pragma GCC diagnostic pop
#ifdef __cplusplus
#undef _Noreturn
#endif
#endif /* HEAPWRIGHT_HEAP_IMPLEMENTATION */
"""


def find(name):
    for folder in (ROOT / "include", ROOT / "src", ROOT / "src/platform", ROOT / "src/platform/linux"):
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"single_header.py: no {name} in include/ and src/")


def read(path):
    return path.read_text(encoding="utf-8")


def flatten(path, seen, change=lambda path, text: text):
    """The text of a file, with the project's own files in place of their includes."""
    if path in seen:
        return ""
    seen.add(path)
    return INCLUDE.sub(lambda match: flatten(find(match[1]), seen, change), change(path, read(path)))


# --- the heap's files as parts of one ---

def chunks(text):
    """The text in pieces that end at blank lines outside of functions."""
    piece, depth = [], 0
    for line in text.splitlines(keepends=True):
        piece.append(line)
        depth += line.count("{") - line.count("}")
        if not line.strip() and depth == 0:
            yield "".join(piece)
            piece = []
    yield "".join(piece)


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def identifiers(text):
    return set(re.findall(r"\b[A-Za-z_]\w*", without_comments(text)))


def defined_names(piece):
    """The names that a piece of a file defines or declares, as far as its lines without indentation show them."""
    text = without_comments(piece)
    names = set(re.findall(r"^#\s*define (\w+)", text, re.M)) | set(re.findall(r"\b(?:struct|enum) (\w+) \{", text))
    for constants in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", text):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", constants))
    for line in re.findall(r"^[A-Za-z].*", text, re.M):
        line = re.sub(r"__(attribute__|asm__)\s*\(+[^()]*(\([^()]*\))?[^()]*\)+", "", line)
        names |= set(re.findall(r"^[\w *]*?\b(\w+)\s*(?:\(|\[|=|;|,|$)", line))
    return names - {"static", "extern", "if", "return"}


def local_names(text):
    """What a source file keeps to itself: static functions and variables, constants, macros; and the tags of its structs."""
    text = re.sub(r"^#ifndef .*?^#endif", "", without_comments(text), flags=re.S | re.M)  # names that libc may have
    names = set(re.findall(r"^#\s*define (\w+)", text, re.M))
    for constants in re.findall(r"^(?:  )?(?:static )?enum\s*\w*\s*\{([^}]*)\}", text, re.M):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", constants))
    for line in re.findall(r"^static [^;{]*", text, re.M):
        line = re.sub(r"__attribute__\s*\(\(.*?\)\)(?= )|__attribute__.*", "", line.split(" = ")[0])
        pointer = re.search(r"\(\*(\w+)", line)  # to a function
        names |= {pointer[1]} if pointer and line.index("(") == pointer.start() else set(
            re.findall(r"\b(\w+)(?=\s*(?:\(|\[|,|$))", line.split("(")[0] + ("(" if "(" in line else "")))
    names -= {"static", "unused", "struct"}
    return names, set(re.findall(r"^(?:static )?(?:struct|enum) (\w+) \{", text, re.M))


class Parts:
    """The heap's files, each changed so that they fit into one."""

    def __init__(self):
        self.includes = []

    def rename(self, path, text):
        """Names that the file keeps to itself begin with its own name."""
        prefix = f"hwi_{path.stem}_own_"
        names, tags = local_names(text)
        for tag in tags:
            text = re.sub(rf"\b(struct|enum) {tag}\b", rf"\1 {prefix}{tag}", text)
        if names:
            text = re.sub(rf'("(?:[^"\\\n]|\\.)*"|/\*.*?\*/)|(?<![\w.])(?<!->)({"|".join(sorted(names, key=len, reverse=True))})\b',
                          lambda match: match[1] or prefix + match[2], text, flags=re.S)
        return text

    def change(self, path, text):
        if path.suffix == ".c":
            text = self.rename(path, text)
        if path.suffix == ".h":
            text = re.sub(r"^#ifndef (\w+)\n#define \1\n(.*)#endif\n$", r"\2", text, flags=re.S | re.M)
        text = re.sub(r"^#define _GNU_SOURCE\n", "", text, flags=re.M)
        cpu = re.fullmatch(r"arch_(\w+)\.h", path.name)
        for include in re.findall(r"^#include <.*>\n", text, re.M):
            include = f"#ifdef __{cpu[1]}__\n{include}#endif\n" if cpu else include
            if include not in self.includes:
                self.includes.append(include)
        return re.sub(r"^#include <.*>\n", "", text, flags=re.M)


def keep_needed(platform, rest):
    """The pieces of the platform whose names the rest needs, or other such pieces."""
    pieces = list(chunks(platform))
    names = [defined_names(piece) for piece in pieces]
    kept = [not name for name in names]
    needed, grows = identifiers(rest), True
    while grows:
        grows = False
        for i, piece in enumerate(pieces):
            if not kept[i] and names[i] & needed:
                kept[i] = grows = True
                needed |= identifiers(piece)
    return "".join(piece for i, piece in enumerate(pieces) if kept[i] and without_comments(piece).strip())


def heap(seen):
    parts = Parts()
    allocators = ROOT / "src/allocators"

    def join(paths):
        return "\n".join(flatten(path, seen, parts.change) for path in paths)

    platform = join([find(f"base/{name}") for name in BASE] + [find(f"platform/linux/{name}") for name in PLATFORM])
    rest = join([allocators / name for name in SHARED] + sorted((allocators / "heap").glob("*.c")))
    malloc = join(allocators / name for name in MALLOC)
    text = IMPLEMENTATION_BEGIN.format(includes="".join(parts.includes)) + keep_needed(platform, rest + malloc) + rest
    return text + MALLOC_BEGIN + malloc + IMPLEMENTATION_END


# --- all ---

def pool(seen):
    text = "\n#ifdef HEAPWRIGHT_POOL_IMPLEMENTATION\n\n"
    text += "\n".join(flatten(ROOT / "src/allocators/tlsf" / part, seen) for part in POOL_PARTS)
    return text + "\n#endif /* HEAPWRIGHT_POOL_IMPLEMENTATION */\n"


KINDS = {"pool": (POOL_HEAD, pool), "heap": (HEAP_HEAD, heap)}


def main():
    kind, output = sys.argv[1:]
    head, implementation = KINDS[kind]
    version = re.search(r'HWI_VERSION "([^"]+)"', read(ROOT / "src/base/version.h"))[1]
    seen = set()
    text = head.format(version=version) + flatten(find(f"heapwright/{kind}.h"), seen) + implementation(seen)
    licence = read(ROOT / "LICENSE").rstrip().replace("*/", "* /")
    pathlib.Path(output).write_text(f"{text}\n/*\n{licence}\n*/\n", encoding="utf-8")


if __name__ == "__main__":
    main()
