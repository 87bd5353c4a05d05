#!/bin/sh
# setup.sh LIST...   installs the Debian packages of each LIST that are missing: build, demo, test, fuzz, web, bench,
# format, or `--packages NAME...` for packages by name. As root it installs them; otherwise it prints the one line to run
# and fails. Quick where nothing is missing. On a system without dpkg it says what is needed and goes on.
set -eu

packages_of() {
  case $1 in
    build) echo gcc libc6-dev make cmake ninja-build pkg-config libdw-dev libelf-dev libzstd-dev zlib1g-dev libsqlite3-dev libiberty-dev libjansson-dev ;;
    demo) echo g++ ;;
    # Formats are tried with the tools that read them, pprof with go's (80 MB to fetch).
    test) echo g++ valgrind musl-tools libc6-i386 libcmocka-dev python3 python3-pytest binutils procps xz-utils dwz libc++1 libc++abi1 heaptrack sqlite3 zstd gnuplot-nox poppler-utils libjemalloc2 libjemalloc-dev libtcmalloc-minimal4 libmimalloc2.0 libtbbmalloc2 groff-base ament-cmake colcon python3-colcon-ros python3-colcon-cmake python3-colcon-bash python3-colcon-library-path python3-colcon-recursive-crawl
      command -v go >/dev/null || echo golang-go ;;
    fuzz) echo clang libclang-rt-14-dev ;;
    # A node from elsewhere brings its npm, and does not go together with Debian's.
    web) echo chromium; command -v node >/dev/null || echo nodejs; command -v npm >/dev/null || echo npm ;;
    format) echo clang-format-14 ;;
    bench) echo g++ python3 sqlite3 heaptrack zstd valgrind libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 libtbbmalloc2 ;;
    *) echo "setup.sh: no list named $1" >&2; exit 2 ;;
  esac
}

# The packages of "$@" that are not installed, each once.
missing_of() {
  for package in "$@"; do echo "$package"; done | sort -u >"$scratch/wanted"
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort -u >"$scratch/there"
  comm -23 "$scratch/wanted" "$scratch/there"
}

# Services that packages bring along must not start on the user's machine just because they were installed.
install_quietly() {
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
    policy_is_ours=1
  fi
  apt-get update -qq >"$scratch/log" 2>&1 || return 1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$scratch/log" 2>&1
}

leave() {
  [ -z "$policy_is_ours" ] || rm -f /usr/sbin/policy-rc.d
  rm -rf "$scratch"
}

wanted=
if [ "${1:-}" = --packages ]; then
  shift
  wanted=$*
else
  for list in "$@"; do wanted="$wanted $(packages_of "$list")"; done
fi
[ -n "$wanted" ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: no dpkg here; on Debian 12 the packages needed are: $wanted" >&2
  exit 0
fi

policy_is_ours=
scratch=$(mktemp -d)
trap leave EXIT
trap 'exit 130' INT TERM
# shellcheck disable=SC2086 # a list of words
missing=$(missing_of $wanted)
[ -n "$missing" ] || exit 0
missing=$(echo $missing)
if [ "$(id -u)" -ne 0 ]; then
  echo "Some packages are missing. Run this, then try again:" >&2
  echo "  sudo apt-get install --no-install-recommends $missing" >&2
  exit 1
fi
echo "Installing: $missing" >&2
# shellcheck disable=SC2086
if ! install_quietly $missing; then
  tail -n 15 "$scratch/log" >&2
  echo "setup.sh: apt-get failed; its last lines are above" >&2
  exit 1
fi
