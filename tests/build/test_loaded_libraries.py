"""Libraries that only some commands need are loaded by these alone; a note of the executable names them to those who make packages."""

import json
import os
import pty
import struct
import subprocess
from pathlib import Path

import pytest

PACKAGES = {"curl": "libcurl4", "microhttpd": "libmicrohttpd12", "ncursesw": "libncursesw6", "sqlite3": "libsqlite3-0"}


@pytest.fixture(scope="module")
def noted(build, tmp_path_factory):
    """The names in the notes: {"curl": "libcurl.so.4", ...}."""
    section = tmp_path_factory.mktemp("notes") / "section"
    subprocess.run(["objcopy", "--dump-section", f".note.dlopen={section}", build / "bin/heapwright", "/dev/null"], check=True)
    data, names, at = section.read_bytes(), {}, 0
    while at < len(data):
        owner, text, kind = struct.unpack_from("<III", data, at)
        assert (data[at + 12:at + 12 + owner], kind) == (b"FDO\0", 0x407C0C0A)
        (entry,) = json.loads(data[at + 16:at + 16 + text].rstrip(b"\0"))
        assert entry["feature"] and entry["description"] and entry["priority"] == "recommended"
        (name,) = entry["soname"]
        names[name.split(".so")[0].removeprefix("lib")] = name
        at += 16 + (text + 3) // 4 * 4
    return names


def test_each_is_in_a_note_and_not_linked(build, noted):
    assert noted.keys() == PACKAGES.keys()
    needed = subprocess.run(["ldd", build / "bin/heapwright"], capture_output=True, text=True, check=True).stdout
    assert "libdw.so" in needed
    for name in (*noted, "gnutls", "tinfo"):
        assert f"lib{name}.so" not in needed


def test_a_package_recommends_all(build, noted):
    """From a library that needs them: Debian's tools find the packages, with the names of the release."""
    probe = build / "CMakeFiles/loaded_libraries.so"
    needed = subprocess.run(["readelf", "-d", probe], capture_output=True, text=True, check=True).stdout
    assert all(f"[{name}]" in needed for name in noted.values())
    debian = Path(__file__).parents[2] / "packaging/debian"
    assert f"-dRecommends -Tdebian/heapwright.substvars build/{probe.relative_to(build)}" in (debian / "rules").read_text()
    assert "Recommends:\n ${loaded:Recommends},\n" in (debian / "control").read_text()


def run_on_terminal(command, environment):
    ours, terminal = pty.openpty()
    try:
        return subprocess.run(command, stdin=terminal, stdout=terminal, stderr=subprocess.PIPE, text=True, env={**environment, "TERM": "xterm"})
    finally:
        os.close(ours)
        os.close(terminal)


@pytest.fixture
def fail_without(build, noted, tmp_path):
    """fail_without("curl", source): the error of its command if the library's file is compiled from the source."""

    def run(library, source):
        trace = tmp_path / "true.hwt"
        words = {"curl": ["push", trace, "--to", "http://127.0.0.1:1"], "microhttpd": ["live", "--serve", "127.0.0.1:0"],
                 "ncursesw": ["live", "--text", "--", "true"], "sqlite3": ["export", trace, "-o", tmp_path / "true.sqlite"]}
        subprocess.run([build / "bin/heapwright", "record", "-q", "-o", trace, "--", "true"], check=True)
        file = tmp_path / noted[library]
        if source is None:
            file.write_text("this is no library")
        else:
            subprocess.run(["gcc", "-shared", "-o", file, "-x", "c", "-"], input=source, text=True, check=True)
        done = run_on_terminal([build / "bin/heapwright", *words[library]], {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
        assert done.returncode == 2 and not (tmp_path / "true.sqlite").exists()
        return done.stderr

    return run


@pytest.mark.parametrize("library", PACKAGES)
def test_a_missing_one(fail_without, noted, library):
    assert f" needs {noted[library]}, in Debian's package {PACKAGES[library]}: " in fail_without(library, None)


@pytest.mark.parametrize("library", PACKAGES)
def test_one_without_the_functions(fail_without, noted, library):
    error = fail_without(library, "void nothing(void) {}")
    assert error.startswith(f"heapwright: {noted[library]} has no ") and ": it is older than " in error
