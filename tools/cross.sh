#!/bin/sh
# cross.sh ARCH build|test|check|run PROGRAM...   builds heapwright for another system, and tests it with qemu-user or wine. ARCH is one of
# the files of cmake/cross: arm64 (64-bit Arm), armhf (32-bit Arm), riscv64 (64-bit RISC-V), windows (what explains recordings, and the libraries).
#   build   into build/ARCH: the tool, its libraries, the unit tests
#   test    builds, runs the unit tests that the emulator can run, and tests/cross: recorded there, reported here, or the other way
#   check   builds the recorder alone, and records with it; in less than a minute, as a part of `make test`
#   run     runs a program of the other system
# Debian's libraries for it, for Windows built from Debian's sources, are downloaded once, into a folder of the user's cache
# (HW_CROSS_CACHE): nothing of the system is changed except that root gets the compiler and the emulator.
set -eu
from=$PWD
cd "$(dirname "$0")/.."
if [ $# -lt 2 ] || [ ! -e "cmake/cross/$1.cmake" ]; then
  sed -n '2,9s/^# //p' "$0" >&2
  exit 2
fi
arch=$1 action=$2
shift 2
# shellcheck disable=SC1091 # names the release of the host: its libraries match the cross compiler
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
linker=
case $arch in
  arm64) triple=aarch64-linux-gnu emulator=qemu-aarch64-static ;;
  armhf) triple=arm-linux-gnueabihf emulator=qemu-arm-static ;;
  riscv64)
    triple=riscv64-linux-gnu emulator=qemu-riscv64-static
    # The first release for it. Debian 12's linker crashes when it links a static program with that libc: the tests use that release's.
    [ "$release" != bookworm ] || release=trixie linker=' binutils'
    ;;
  windows) triple=x86_64-w64-mingw32 emulator=wine ;;
esac
case $arch in
  windows) emulator_packages='wine wine64' packages='g++ gcc-mingw-w64-x86-64 libz-mingw-w64-dev dpkg-dev' ;;
  *) emulator_packages=qemu-user-static packages="gcc-$triple g++-$triple" ;;
esac
cache=${HW_CROSS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heapwright}
HW_SYSROOT=$cache/$arch-$release
build=build/$arch
export HW_SYSROOT WINEPREFIX="$cache/wine" WINEDEBUG=-all # wine's own folder of settings stays as it is
export G_SLICE=always-malloc # a child of a fork may wait for ever for the locks of GLib's slices, in which qemu-user 7.2 has its trees

# As apt would install it into an empty system of that architecture, but only unpacked.
libraries='libc6-dev linux-libc-dev libgcc-s1 libstdc++6 libdw-dev libelf-dev libzstd-dev zlib1g-dev liblzma-dev libsqlite3-dev
  libiberty-dev libjansson-dev libmicrohttpd-dev libcurl4-openssl-dev libncurses-dev libcmocka-dev'
# Allocators that the tests link into programs.
[ "$arch" != arm64 ] || libraries="$libraries libjemalloc-dev libmimalloc-dev libgoogle-perftools-dev"
libraries="$libraries$linker"

# For Windows, Debian has zlib alone: these are built, and of those only the declarations are needed.
sources='libzstd jansson cmocka'
headers='libdw-dev libelf-dev libc6-dev libsqlite3-dev'

# Unit tests that need what qemu-user does not have: a second mapping of a page (trace/test_writer), limits of address space
# (allocators/test_heap_faults), what /proc says of the pages of a mapping (allocators/test_heap_memory), ptrace
# (launch/test_unseen_processes), the speed at which memory that is much is taken again soon (allocators/test_heap_reuse).
left_out='trace/test_writer|allocators/test_heap_(faults|memory|reuse)|launch/test_unseen_processes'
# On a CPU with 32 bits, a mapping that mremap makes shorter takes the next one with it in qemu-user 7.2, and core dumps of its own are not read.
[ "$arch" != armhf ] || left_out="$left_out|(allocators/test_heap|memory/test_core)\$"

# apt with a state of its own, in the folder that becomes the root of the other system.
private_apt() {
  apt-get -qq -o Dir::State="$HW_SYSROOT/apt" -o Dir::State::lists="$HW_SYSROOT/apt/lists" \
    -o Dir::State::status="$HW_SYSROOT/apt/status" -o Dir::Cache="$HW_SYSROOT/apt" \
    -o Dir::Cache::archives="$HW_SYSROOT/apt/archives" -o Dir::Log="$HW_SYSROOT/apt" -o Debug::NoLocking=1 \
    -o APT::Install-Recommends=false -o APT::Sandbox::User=root "$@" >"$HW_SYSROOT/apt/log" 2>&1 ||
    { cat "$HW_SYSROOT/apt/log" >&2; exit 1; }
}

# The list of packages shows whether it is another version's.
make_sysroot() {
  [ "$arch" != windows ] || libraries="$sources $headers"
  [ "$(cat "$HW_SYSROOT/.complete" 2>/dev/null)" = "$libraries" ] && return
  echo "Downloading Debian's libraries for $arch into $HW_SYSROOT" >&2
  rm -rf "$HW_SYSROOT"
  mkdir -p "$HW_SYSROOT/apt/lists/partial" "$HW_SYSROOT/apt/archives/partial"
  : >"$HW_SYSROOT/apt/status"
  case $arch in
    windows) build_libraries ;;
    *) unpack_libraries ;;
  esac
  rm -rf "$HW_SYSROOT/apt"
  echo "$libraries" >"$HW_SYSROOT/.complete"
}

# CMake builds a library of Debian's sources and installs it into the root. What is no option of a library has no effect; they are in
# C, also where they ask for a compiler of C++.
build_library() {
  folder=$1
  [ -e "$folder/CMakeLists.txt" ] || folder=$folder/build/cmake
  if ! { cmake -S "$folder" -B "$1/built" -G Ninja --toolchain "$PWD/cmake/cross/windows.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER_WORKS=ON -DCMAKE_INSTALL_PREFIX="$HW_SYSROOT" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DZSTD_BUILD_PROGRAMS=OFF \
    -DZSTD_BUILD_SHARED=OFF -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON -DWITH_STATIC_LIB=ON \
    -DWITH_EXAMPLES=OFF -DUNIT_TESTING=OFF && cmake --build "$1/built" -j "${JOBS:-$(nproc)}" && cmake --install "$1/built"; } \
    >"$1/log" 2>&1; then
    cat "$1/log" >&2
    exit 1
  fi
}

build_libraries() {
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' 'Origin: Debian' |
    sort -u | sed 'p; s/^deb/deb-src/' >"$HW_SYSROOT/apt/sources"
  set -- -o Dir::Etc::sourcelist="$HW_SYSROOT/apt/sources" -o Dir::Etc::sourceparts=/dev/null
  private_apt "$@" update
  # A mirror may not have the source of a security update: then that of the release is taken.
  # shellcheck disable=SC2086 # lists of packages
  (cd "$HW_SYSROOT/apt" && { (private_apt "$@" source $sources) 2>/dev/null || private_apt "$@" -t "$release" source $sources; } &&
    private_apt "$@" download $headers)
  for name in "$HW_SYSROOT"/apt/*/debian; do
    build_library "${name%/debian}"
  done
  for package in "$HW_SYSROOT"/apt/*.deb; do
    dpkg -x "$package" "$HW_SYSROOT/apt/headers"
  done
  for name in elfutils dwarf.h elf.h gelf.h libelf.h sqlite3.h; do
    cp -r "$HW_SYSROOT/apt/headers/usr/include/$name" "$HW_SYSROOT/include"
  done
  mkdir "$HW_SYSROOT/include/bits"
  cp "$HW_SYSROOT"/apt/headers/usr/include/*/bits/auxv.h "$HW_SYSROOT/include/bits"
}

unpack_libraries() {
  # shellcheck disable=SC2016 # apt's own variable
  echo "deb $(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' | head -n 1) $release main" >"$HW_SYSROOT/apt/sources"
  set -- -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::Etc::sourcelist="$HW_SYSROOT/apt/sources" -o Dir::Etc::sourceparts=/dev/null
  private_apt "$@" update
  # shellcheck disable=SC2086 # a list of packages
  private_apt "$@" install -y --download-only $libraries
  mkdir -p "$HW_SYSROOT/usr/lib"
  ln -s usr/lib "$HW_SYSROOT/lib" # as Debian has it
  for package in "$HW_SYSROOT"/apt/archives/*.deb; do
    dpkg -x "$package" "$HW_SYSROOT"
  done
}

build_targets() {
  # shellcheck disable=SC2086 # lists of packages
  tools/setup.sh --packages $packages $emulator_packages cmake ninja-build pkg-config python3
  make_sysroot
  mkdir -p "$build"
  PKG_CONFIG_SYSROOT_DIR="$HW_SYSROOT" PKG_CONFIG_LIBDIR="$HW_SYSROOT/usr/lib/$triple/pkgconfig:$HW_SYSROOT/usr/share/pkgconfig" \
    cmake -S . -B "$build" -G Ninja --toolchain "$PWD/cmake/cross/$arch.cmake" >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log" >&2; exit 1; }
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target "$@"
}

# with pytest's words that choose tests
test_recordings() {
  HW_BUILD=${HW_BUILD:-$PWD/build} HW_CROSS_BUILD=$PWD/$build HW_CROSS_ARCH=$arch \
    /usr/bin/python3 -B -m pytest -q -rs --tb=short --rootdir tests -p no:cacheprovider "$@"
}

# Debian 13 has one of the two names.
find_emulator() { command -v "$emulator" || command -v "${emulator%-static}"; }

case $action in
  build) build_targets all unit-tests ;;
  run)
    # shellcheck disable=SC2086 # a list of packages
    find_emulator >/dev/null || tools/setup.sh --packages $emulator_packages
    make_sysroot
    cd "$from"
    [ "$arch" = windows ] || set -- -L "$HW_SYSROOT" "$@"
    exec "$(find_emulator || echo "$emulator")" "$@"
    ;;
  test)
    build_targets all unit-tests
    tools/setup.sh build demo
    tools/setup.sh --packages python3-pytest clang
    if [ "$arch" = windows ]; then
      left_out='^$'            # CMake has the list
      wine wineboot --init >&2 # makes wine's folder, which two tests must not begin at the same time
    fi
    ctest --test-dir "$build" -L unit -E "$left_out" -j "${JOBS:-$(nproc)}" --output-on-failure
    make --no-print-directory build-it
    test_recordings tests/cross
    ;;
  check)
    [ -x "${HW_BUILD:-build}/bin/heapwright" ] || { echo "cross.sh: the recordings are reported here: run make first" >&2; exit 1; }
    build_targets heapwright-record
    test_recordings tests/cross -k 'exact or sample or fork or operators or (once and usual)'
    ;;
  *) echo "cross.sh: no action named $action" >&2; exit 2 ;;
esac
