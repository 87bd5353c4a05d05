"""test_environment.py - which variables of its program's environment a trace contains

Breaks if a variable that may hold a secret gets into a file that users share, or if one that explains a heap is left
out.
"""

import os

KEPT = {"MALLOC_ARENA_MAX": "3", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=5", "HEAPWRIGHT_DEPTH": "77"}
SECRET = "k3pt-fr0m-3v3ry-tr4ce"
# Includes names similar to those that are kept. HOME goes into no trace, though the recorder reads it.
SECRETS = ["API_TOKEN", "MALLOC", "MY_MALLOC_", "LD_PRELOADED", "LD_LIBRARY_PATH", "GLIBC_TUNABLES_TOO", "HEAPWRIGHT", "HOME"]


def test_only_what_explains_a_heap_is_kept(preload):
    secrets = {name: f"/{SECRET}-{number}" for number, name in enumerate(SECRETS)}
    recording = preload(["sort", os.devnull], env={**KEPT, **secrets, "HEAPWRIGHT_MAX_SIZE": "4M"})
    assert recording.process.returncode == 0, recording.process.stderr
    raw = recording.trace.read_bytes()  # nothing in it is compressed
    assert recording.report["allocation_calls"] > 0
    for name, value in KEPT.items():
        assert f"{name}={value}".encode() in raw
    assert b"LD_PRELOAD=" in raw
    assert SECRET.encode() not in raw
    for name in SECRETS:
        assert f"{name}=".encode() not in raw
