"""The heap of a process keeps malloc's contract in every configuration.

In the usual run, some configurations together, and the rules that depend on them most. HW_CONFIGS=all tries each one with all rules
(`make soak`). What the system refuses, such as huge pages, the heap does without, and says so.
"""

import json
import os
import re

import pytest

CONFIGS = {
    "checked": {"HEAPWRIGHT_CHECK": "1"},
    "central": {"HEAPWRIGHT_HEAP_THREADS": "central"},
    "spinning": {"HEAPWRIGHT_HEAP_LOCK": "spinning"},
    "at once": {"HEAPWRIGHT_HEAP_RETURNS": "at-once"},
    "on collect": {"HEAPWRIGHT_HEAP_RETURNS": "on-collect"},
    "above": {"HEAPWRIGHT_HEAP_RETURNS": "above", "HEAPWRIGHT_HEAP_KEEP_FREE_BYTES": "1M"},
    "powers of two": {"HEAPWRIGHT_HEAP_CLASS_BYTES": "16,32,64,128,256,512,1K,2K,4K,8K,16K,32K"},
    "one class": {"HEAPWRIGHT_HEAP_CLASS_BYTES": "32K"},
    "large pages": {"HEAPWRIGHT_HEAP_PAGE_BYTES": "256K", "HEAPWRIGHT_HEAP_CLASS_BYTES": "64,512,4K,32K"},
    "more for a thread": {"HEAPWRIGHT_HEAP_THREAD_PAGES": "8"},
    "none for a thread": {"HEAPWRIGHT_HEAP_THREAD_PAGES": "0"},
    "large arenas": {"HEAPWRIGHT_HEAP_ARENA_BYTES": "64M"},
    "aligned arenas": {"HEAPWRIGHT_HEAP_ARENA_ALIGN_BYTES": "64M"},
    "growing arenas": {"HEAPWRIGHT_HEAP_ARENA_GROWTH_PERCENT": "100"},
    "transparent": {"HEAPWRIGHT_HEAP_PAGES": "transparent"},
    "fast": {"HEAPWRIGHT_HEAP_PAGES": "transparent", "HEAPWRIGHT_HEAP_RETURNS": "on-collect"},
    "compact": {"HEAPWRIGHT_HEAP_PAGES": "small", "HEAPWRIGHT_HEAP_RETURNS": "above", "HEAPWRIGHT_HEAP_KEEP_FREE_BYTES": "12M"},
    "touched": {"HEAPWRIGHT_HEAP_TOUCH": "1"},
    "huge": {"HEAPWRIGHT_HEAP_PAGES": "huge"},
    "locked": {"HEAPWRIGHT_HEAP_LOCK_MEMORY": "1"},
    "after a time": {"HEAPWRIGHT_HEAP_RETURNS": "later", "HEAPWRIGHT_HEAP_RETURN_AFTER_MS": "1", "HEAPWRIGHT_HEAP_KEEP_FREE_BYTES": "1"},
    "libc": {"HEAPWRIGHT_HEAP_LIBC": "1"},
    "numa": {"HEAPWRIGHT_HEAP_NUMA_NODE": "0"},
}
TOGETHER = {
    "central, spinning, at once": ["central", "spinning", "at once", "powers of two", "none for a thread"],
    "checked, large": ["checked", "on collect", "large pages", "large arenas", "aligned arenas", "more for a thread"],
    "huge, locked": ["huge", "locked", "growing arenas", "after a time", "numa"],
    "libc": ["libc"],
    "fast": ["fast"],
    "compact": ["compact"],
}
REFUSED = r"heapwright: .* The program goes on with(out| transparent ones)( \([A-Z][a-z ]+\))?"
RULES = ["fork-threads", "thread-exit", "cross*", "realloc-random"]
IS_ALL = os.environ.get("HW_CONFIGS") == "all"
TRIED = {name: [name] for name in CONFIGS} | TOGETHER if IS_ALL else TOGETHER


@pytest.mark.parametrize("names", TRIED.values(), ids=TRIED)
def test_contract(names, hw):
    variables = {variable: value for name in names for variable, value in CONFIGS[name].items()}
    accepted = hw("run", "-a", "heap", "--", "sort", "/dev/null", env={**os.environ, **variables})
    lines = accepted.stderr.splitlines()
    assert accepted.returncode == 0 and all(re.fullmatch(REFUSED, line) for line in lines), lines  # else the defaults would be tried
    rules = [] if IS_ALL else [word for rule in RULES for word in ("--rule", rule)]
    done = hw("test", "--json", "--timeout", "60s", *rules, "heap", env={**os.environ, **variables}, timeout=600)
    found = {rule["rule"]: rule["result"] for rule in json.loads(done.stdout)["rules"]}
    assert done.returncode == 0 and len(found) >= len(RULES), done.stdout
    assert {rule for rule, result in found.items() if result != "kept"} <= {"reuse"}, done.stdout
