"""test_packages.py - the tarball, the Debian packages and the container's image have all that they need, and name its licences

The packages themselves are built and installed by `make test-packages`. Breaks if something that is installed is in no package or in
two, or if a library is linked whose licence users are not told.
"""

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "packaging/debian"
VERSION = re.search(r'HWI_VERSION "(.+)"', (ROOT / "src/base/version.h").read_text())[1]


def run(*command, **environment):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# --- the tarball ---


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a tarball is made in a clone of the repository")
def test_the_tarball_has_what_is_committed(tmp_path):
    path = run(ROOT / "packaging/dist.sh", tmp_path, XZ_OPT="-0").strip()
    assert path == f"{tmp_path}/heapwright-{VERSION}.tar.xz"
    with tarfile.open(path) as file:
        members = [member for member in file if not member.isdir()]
    committed = run("git", "-C", ROOT, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")[:-1]
    assert sorted(member.name for member in members) == sorted(f"heapwright-{VERSION}/{name}" for name in committed)
    assert f"heapwright-{VERSION}/web/dist/page.html" in {member.name for member in members}
    assert {member.mode & 0o777 for member in members} == {0o644, 0o755}


def test_no_tarball_outside_of_a_clone(tmp_path):
    """Also where an unpacked tarball is in a folder of another repository."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "heapwright/packaging").mkdir(parents=True)
    shutil.copy(ROOT / "packaging/dist.sh", tmp_path / "heapwright/packaging")
    done = subprocess.run([tmp_path / "heapwright/packaging/dist.sh", tmp_path / "to"], capture_output=True, text=True)
    assert done.returncode == 2 and f"{tmp_path}/heapwright is no clone" in done.stderr


# --- Debian's packages ---


def fields(paragraph):
    return {name: [word.strip() for word in text.split(",") if word.strip()]
            for name, text in re.findall(r"^([\w-]+):((?:.*\n?)(?:[ \t].*\n?)*)", paragraph, re.M)}


def test_version():
    assert (DEBIAN / "changelog").read_text().startswith(f"heapwright ({VERSION}-")


def test_what_the_build_needs():
    """The packages of tools/setup.sh, without those that each build of Debian has."""
    needed = {re.sub(r" .*", "", word) for word in fields((DEBIAN / "control").read_text().split("\n\n")[0])["Build-Depends"]}
    installed = set(re.search(r"build\) echo (.*) ;;", (ROOT / "tools/setup.sh").read_text())[1].split())
    assert needed == installed - {"gcc", "libc6-dev", "make", "ninja-build"} | {"debhelper-compat", "libcmocka-dev"}


def matches(name, pattern):
    """Whether dh_install takes the file: * is no slash, and a folder has what is in it."""
    return re.match(re.escape(pattern).replace(r"\*", "[^/]*") + "(/|$)", name)


def test_each_installed_file_is_in_one_package(installed):
    """With the names that they have in Debian."""
    names = [path.relative_to(installed) for path in installed.rglob("*") if path.is_symlink() or not path.is_dir()]
    names = [re.sub("^usr/lib/", "usr/lib/x86_64-linux-gnu/", f"usr/{name}") for name in names]
    lists = {path.name: path.read_text().split() for path in [*DEBIAN.glob("*.install"), DEBIAN / "not-installed"]}
    assert len(lists) == 4
    taken = {name: [file for file, patterns in lists.items() if any(matches(name, pattern) for pattern in patterns)] for name in names}
    assert {name: files for name, files in taken.items() if len(files) != 1} == {}
    for file, patterns in lists.items():
        for pattern in patterns:
            assert any(matches(name, pattern) for name in names), (file, pattern)


def test_packages_of_two_architectures_share_no_folder_of_libraries():
    """Those of the libraries are installed together; `make test-packages` does it."""
    paragraphs = {fields(text)["Package"][0]: fields(text) for text in (DEBIAN / "control").read_text().split("\n\n")[1:]}
    assert {name: words["Multi-Arch"] for name, words in paragraphs.items()} == {
        "heapwright": ["foreign"], "libheapwright": ["same"], "heapwright-dev": ["same"]}
    for name in ("libheapwright", "heapwright-dev"):
        for pattern in (DEBIAN / f"{name}.install").read_text().split():
            assert re.match("usr/(lib/[*]|include|share/doc)", pattern), pattern


# --- the container ---


@pytest.mark.skipif(subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0, reason="no mounts of its own: not root, or in a chroot")
@pytest.mark.skipif(not shutil.which("busybox"), reason="busybox is not installed")
def test_the_image_is_small_and_records(build, tmp_path):
    run(ROOT / "packaging/container/image.sh", build, tmp_path / "image")
    found = re.fullmatch(r"check.sh: the image has (\d+) bytes, and records\n", run(ROOT / "packaging/container/check.sh", tmp_path / "image"))
    said = [int(re.search(pattern, (ROOT / file).read_text())[1]) for file, pattern in
            {"docs/packages.md": r"its files\s+have (\d+) MB", "CHANGELOG.md": r"container's image has (\d+) MB"}.items()]
    assert said[0] == said[1] == pytest.approx(int(found[1]) / 1e6, rel=0.1)


def test_a_large_image_is_refused(tmp_path):
    with open(tmp_path / "large", "wb") as file:
        file.truncate(40_000_001)
    done = subprocess.run([ROOT / "packaging/container/check.sh", tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "40000001 large" in done.stderr


# --- licences ---


LICENCES = dict(re.findall(r"^\| `([\w.+-]+)` \|.*\| ([^|]+) \|$", (ROOT / "docs/packages.md").read_text(), re.M))
ELSEWHERE = {"libatomic", "mingw-w64", "winpthreads"}  # on RISC-V, and on Windows: see cross/test_windows.py


def needed_by(file):
    return set(re.findall(r"\(NEEDED\).*\[lib([\w+-]+)\.", run("readelf", "-d", file)))


def test_licences_of_libraries(build):
    """Of those that are linked, those that are loaded, those that are linked in, and those in the page."""
    programs = [build / "bin/heapwright", *(build / "libexec/heapwright").iterdir(), *(build / "lib").glob("*.so")]
    libraries = set().union(*map(needed_by, programs), needed_by(build / "CMakeFiles/loaded_libraries.so"))
    cache = (build / "CMakeCache.txt").read_text()
    archives = {Path(path).stem for path in re.findall(r"^\w+:FILEPATH=(/usr/\S+/lib\w+\.a)$", cache, re.M)} & {"libiberty"}
    page = set(json.loads((ROOT / "web/package.json").read_text())["dependencies"])
    listed = {f"lib{name}" for name in libraries} | archives | {"libgcc"} | page | ELSEWHERE
    assert archives and listed == set(LICENCES)


def test_licences_of_the_project():
    """The headers that programs include are copied alone: they name their licence. For all else it is LICENSE."""
    for header in (ROOT / "include").rglob("*.h*"):
        assert header.read_text().count("SPDX-License-Identifier: MIT") == 1, header
    for folder in ("src", "tests", "tools", "bench", "cmake", "examples", "web/src"):
        for path in (ROOT / folder).rglob("*.[ch]*"):
            if path.is_file():
                assert not re.search(r"(copyright|©|\(c\)) *(19|20)\d\d|GNU General Public", path.read_text(errors="replace"), re.I), path
