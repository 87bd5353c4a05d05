#!/bin/sh
# setup.sh LIST...   installs the Debian packages of each LIST that are missing: build, demo, test, fuzz, web, bench, format,
# dist, deb, packages; or `--packages NAME...` for packages by name. As root it installs them; otherwise it prints the command
# to run and fails. It is quick if nothing is missing. On a system without dpkg it lists the needed packages and succeeds.
# A|B is a package with different names in different releases of Debian: either is sufficient. A package that this release does
# not have is left out with a message; a test that needs it is skipped and says so.
set -eu

packages_of() {
  case $1 in
    build) echo gcc libc6-dev make cmake ninja-build pkgconf libdw-dev libelf-dev libzstd-dev liblzma-dev zlib1g-dev libsqlite3-dev libiberty-dev libjansson-dev libmicrohttpd-dev libcurl4-openssl-dev libncurses-dev ;;
    demo) echo g++ ;;
    # The newest gcc-N-multilib of a release is that of its gcc; gcc-multilib excludes the compilers of tools/cross.sh.
    # Formats are tested with the tools that read them, pprof with that of go (a download of 80 MB), metrics with
    # Prometheus (19 MB).
    test) echo g++ valgrind musl-tools libc6-i386 'gcc-15-multilib|gcc-14-multilib|gcc-12-multilib' gcc-arm-none-eabi qemu-system-arm qemu-user-static gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libcmocka-dev python3 python3-pytest binutils procps xz-utils busybox-static ca-certificates dwz libc++1 libc++abi1 heaptrack sqlite3 zstd lz4 gdb gnuplot-nox poppler-utils prometheus python3-yaml libjemalloc2 libjemalloc-dev 'libtcmalloc-minimal4|libtcmalloc-minimal4t64' libgoogle-perftools-dev 'libmimalloc2.0|libmimalloc3' libmimalloc-dev redis-server redis-tools libtbbmalloc2 libtbb-dev libdnnl-dev groff-base tmux ament-cmake colcon python3-colcon-ros python3-colcon-cmake python3-colcon-bash python3-colcon-library-path python3-colcon-recursive-crawl
      command -v go >/dev/null || echo golang-go ;;
    fuzz) echo clang 'libclang-rt-dev|libclang-rt-14-dev' ;;
    # A node that is not Debian's includes its own npm, and is not compatible with Debian's npm.
    web) echo chromium; command -v node >/dev/null || echo nodejs; command -v npm >/dev/null || echo npm ;;
    format) echo clang-format-14 ;;
    dist) echo git xz-utils ;;
    deb) echo build-essential debhelper lintian libcmocka-dev ;;
    packages) echo debootstrap ;;
    bench) echo g++ python3 sqlite3 heaptrack zstd valgrind binutils-source make apache2-bin curl libjemalloc2 'libtcmalloc-minimal4|libtcmalloc-minimal4t64' 'libgoogle-perftools4|libgoogle-perftools4t64' 'libmimalloc2.0|libmimalloc3' libtbbmalloc2 redis-server redis-tools z3 ;;
    *) echo "setup.sh: no list named $1" >&2; exit 2 ;;
  esac
}

# Prints the words of "$@" that have no installed alternative, each once.
missing_of() {
  # shellcheck disable=SC2046 # a list of words
  dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(echo "$*" | tr '|' ' ') 2>/dev/null |
    sed -n 's/^installed //p' >"$scratch/names"
  first_names "$@" | sed -n 's/^none //p' | sort -u
}

# Prints for each word of "$@" its first alternative that is in $scratch/names, as "found NAME", or "none WORD".
first_names() {
  for word in "$@"; do echo "$word"; done | awk -v known="$scratch/names" '
    BEGIN { while ((getline name <known) > 0) is_known[name] = 1 }
    { count = split($0, names, "|"); answer = "none " $0
      for (i = count; i > 0; i--) if (names[i] in is_known) answer = "found " names[i]
      print answer }'
}

# Sets $available to the packages to install for the words of "$@", and $unknown to the words for which this release has none,
# according to apt's present lists.
look_up() {
  # shellcheck disable=SC2046 # a list of words
  LC_ALL=C apt-cache policy $(echo "$*" | tr '|' ' ') 2>/dev/null |
    awk '/^[^ ]/ { name = substr($1, 1, length($1) - 1) } $1 == "Candidate:" && $2 != "(none)" { print name }' >"$scratch/names"
  first_names "$@" >"$scratch/first"
  available=$(sed -n 's/^found //p' "$scratch/first" | tr '\n' ' ')
  unknown=$(sed -n 's/^none //p' "$scratch/first" | tr '\n' ' ')
}

has_package_lists() {
  LC_ALL=C apt-cache policy 2>/dev/null | grep -q ' Packages$'
}

say_unknown() {
  [ -z "$unknown" ] || echo "setup.sh: left out, since this release of Debian does not have: $unknown" >&2
}

# The lists may be old, or may not exist yet.
update_and_look_up() {
  apt-get update -qq >"$scratch/log" 2>&1 || return 1
  look_up "$@"
}

# Services in these packages must not start on the user's machine just because they were installed.
install_quietly() {
  [ $# -gt 0 ] || return 0
  echo "Installing: $*" >&2
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
    policy_is_ours=1
  fi
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
  echo "setup.sh: no dpkg here; the packages needed are, by their names in Debian (A|B: either): $wanted" >&2
  exit 0
fi

policy_is_ours=
scratch=$(mktemp -d)
trap leave EXIT
trap 'exit 130' INT TERM
# shellcheck disable=SC2086 # a list of words
missing=$(missing_of $wanted)
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086
look_up $missing
if has_package_lists; then
  [ -n "$available" ] || { say_unknown; exit 0; }
  line="apt-get install --no-install-recommends $available"
else
  line="apt-get update" # the names in this release are known only after that
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "Some packages are missing. Run this, then try again:" >&2
  echo "  sudo $line" >&2
  exit 1
fi
# shellcheck disable=SC2086
if ! update_and_look_up $missing || ! install_quietly $available; then
  tail -n 15 "$scratch/log" >&2
  echo "setup.sh: apt-get failed; its last lines are above" >&2
  exit 1
fi
say_unknown
