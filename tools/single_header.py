"""single_header.py FILE   writes the pool as one header, for programs that take no library

The public header comes first. The rest is compiled where HEAPWRIGHT_POOL_IMPLEMENTATION is defined. Includes of the project's own
files are replaced by what they hold, each once.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'#include "([^"]+)"\n')
PARTS = ("pool.c", "regions.c", "inspect.c")

HEAD = """\
/* heapwright-pool.h - the memory pool of heapwright, version {version}, in one file
 *
 * Include it wherever the pool is used. In exactly one C or C++ file, best one that holds nothing else, define
 * HEAPWRIGHT_POOL_IMPLEMENTATION before: that is where the pool is compiled. Made from heapwright's sources by
 * `make single-header`. The licence is at the end.
 */
"""


def find(name):
    for folder in (ROOT / "include", ROOT / "src"):
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"single_header.py: no {name} in include/ and src/")


def flatten(path, seen):
    """The text of a file, with the project's own files in place of their includes."""
    if path in seen:
        return ""
    seen.add(path)
    return INCLUDE.sub(lambda match: flatten(find(match[1]), seen), path.read_text(encoding="utf-8"))


def main():
    version = re.search(r'HWI_VERSION "([^"]+)"', (ROOT / "src/base/version.h").read_text(encoding="utf-8"))[1]
    seen = set()
    text = HEAD.format(version=version) + flatten(find("heapwright/pool.h"), seen)
    text += "\n#ifdef HEAPWRIGHT_POOL_IMPLEMENTATION\n\n"
    text += "\n".join(flatten(ROOT / "src/allocators/tlsf" / part, seen) for part in PARTS)
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8").rstrip().replace("*/", "* /")
    text += f"\n#endif /* HEAPWRIGHT_POOL_IMPLEMENTATION */\n\n/*\n{licence}\n*/\n"
    pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
