#!/bin/sh
# cross.sh ARCH build|test|run PROGRAM...   builds heapwright for another architecture, and tests it with qemu-user. ARCH is one of
# the files of cmake/cross: arm64, riscv64.
#   build   into build/ARCH: the tool, its libraries, the unit tests
#   test    builds, runs unit tests of what depends on the CPU, and records programs (tests/cross): recorded there, reported here
#   run     runs a program of the other architecture
# Debian's libraries for it are downloaded once, into a folder of the user's cache (HW_CROSS_CACHE): nothing of the system is changed
# except that root gets the compiler and the emulator.
set -eu
from=$PWD
cd "$(dirname "$0")/.."
if [ $# -lt 2 ] || [ ! -e "cmake/cross/$1.cmake" ]; then
  sed -n '2,8s/^# //p' "$0" >&2
  exit 2
fi
arch=$1 action=$2
shift 2
# shellcheck disable=SC1091 # names the release of the host: its libraries match the cross compiler
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
case $arch in
  arm64) triple=aarch64-linux-gnu emulator=qemu-aarch64-static ;;
  riscv64)
    triple=riscv64-linux-gnu emulator=qemu-riscv64-static
    [ "$release" != bookworm ] || release=trixie # the first release for it
    ;;
esac
compiler="gcc-$triple g++-$triple"
cache=${HW_CROSS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/heapwright}
HW_SYSROOT=$cache/$arch-$release
build=build/$arch
export HW_SYSROOT

# As apt would install it into an empty system of that architecture, but only unpacked.
libraries='libc6-dev linux-libc-dev libgcc-s1 libstdc++6 libdw-dev libelf-dev libzstd-dev zlib1g-dev liblzma-dev libsqlite3-dev
  libiberty-dev libjansson-dev libmicrohttpd-dev libcurl4-openssl-dev libncurses-dev libcmocka-dev'

# Unit tests of what depends on the CPU, without those that take minutes when they are emulated (trace/test_damage,
# test_no_memory; allocators/test_heap_threads) or need what qemu-user does not have: a second mapping of a page (trace/test_writer),
# limits of address space (allocators/test_heap_faults), what /proc says of the pages of a mapping (allocators/test_heap_memory).
unit_tests='^(allocators|base|memory|platform|record|trace)/'
left_out='trace/test_(damage|no_memory|writer)|allocators/test_heap_(faults|memory|threads)'

make_sysroot() {
  [ -e "$HW_SYSROOT/.complete" ] && return
  echo "Downloading Debian's libraries for $arch into $HW_SYSROOT" >&2
  rm -rf "$HW_SYSROOT"
  mkdir -p "$HW_SYSROOT/apt/lists/partial" "$HW_SYSROOT/apt/archives/partial"
  : >"$HW_SYSROOT/apt/status"
  echo "deb $(apt-get indextargets --format '$(REPO_URI)' | head -n 1) $release main" >"$HW_SYSROOT/apt/sources.list"
  for command in update "install -y --download-only $libraries"; do
    # shellcheck disable=SC2086 # a command and its arguments
    apt-get -qq -o Dir::State="$HW_SYSROOT/apt" -o Dir::State::lists="$HW_SYSROOT/apt/lists" \
      -o Dir::State::status="$HW_SYSROOT/apt/status" -o Dir::Cache="$HW_SYSROOT/apt" \
      -o Dir::Etc::sourcelist="$HW_SYSROOT/apt/sources.list" -o Dir::Etc::sourceparts=- \
      -o Dir::Cache::archives="$HW_SYSROOT/apt/archives" -o Dir::Log="$HW_SYSROOT/apt" -o Debug::NoLocking=1 \
      -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Install-Recommends=false $command >"$HW_SYSROOT/apt/log" 2>&1 ||
      { cat "$HW_SYSROOT/apt/log" >&2; exit 1; }
  done
  mkdir -p "$HW_SYSROOT/usr/lib"
  ln -s usr/lib "$HW_SYSROOT/lib" # as Debian has it
  for package in "$HW_SYSROOT"/apt/archives/*.deb; do
    dpkg -x "$package" "$HW_SYSROOT"
  done
  rm -rf "$HW_SYSROOT/apt"
  touch "$HW_SYSROOT/.complete"
}

build_all() {
  # shellcheck disable=SC2086 # a list of packages
  tools/setup.sh --packages $compiler qemu-user-static cmake ninja-build pkg-config python3
  make_sysroot
  mkdir -p "$build"
  export PKG_CONFIG_SYSROOT_DIR="$HW_SYSROOT" PKG_CONFIG_LIBDIR="$HW_SYSROOT/usr/lib/$triple/pkgconfig:$HW_SYSROOT/usr/share/pkgconfig"
  cmake -S . -B "$build" -G Ninja --toolchain "$PWD/cmake/cross/$arch.cmake" >"$build/configure.log" 2>&1 ||
    { cat "$build/configure.log" >&2; exit 1; }
  cmake --build "$build" -j "${JOBS:-$(nproc)}" --target all unit-tests
}

case $action in
  build) build_all ;;
  run)
    make_sysroot
    cd "$from"
    exec "$emulator" -L "$HW_SYSROOT" "$@"
    ;;
  test)
    build_all
    tools/setup.sh --packages python3-pytest clang
    ctest --test-dir "$build" -L unit -R "$unit_tests" -E "$left_out" -j "${JOBS:-$(nproc)}" --output-on-failure
    make --no-print-directory build-it
    HW_BUILD=$PWD/build HW_CROSS_BUILD=$PWD/$build HW_CROSS_ARCH=$arch \
      /usr/bin/python3 -B -m pytest -q -rs --tb=short --rootdir tests -p no:cacheprovider tests/cross
    ;;
  *) echo "cross.sh: no action named $action" >&2; exit 2 ;;
esac
