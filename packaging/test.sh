#!/bin/sh
# test.sh DEB WORK   tests the packages that deb.sh made in the folder DEB, in bare Debian machines (debootstrap's) in the folder WORK:
# they are installed, record a program, and leave nothing when they are purged. In one of them, those of another architecture are built
# and installed together with them. Then the steps of the container's recipe run in one. Before, the tarball is made again, and must be the
# same. Only root may do this. SUITES are the releases of Debian: by default 12 and 13, or the one that runs here.
set -eu
packages=$(realpath "${1:?usage: test.sh DEB WORK}")
mkdir -p "${2:?usage: test.sh DEB WORK}"
work=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
own=$release
[ "$own" != bookworm ] || own="bookworm trixie"

# machine SUITE   makes $machine, a copy of a bare machine, with the sources and the packages
machine() {
  base=$work/$1
  if [ ! -e "$base" ]; then
    debootstrap --variant=minbase "$1" "$base.new" >"$base.log" 2>&1 || { tail -n 5 "$base.log" >&2; exit 1; }
    mv "$base.new" "$base"
  fi
  machine=$base.machine
  rm -rf "$machine"
  cp -a --reflink=auto "$base" "$machine"
  cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
  find /etc/apt/apt.conf.d -name '99*' -exec cp {} "$machine/etc/apt/apt.conf.d/" \; # settings of this machine
  mkdir "$machine/source" "$machine/packages"
  tar -xf "$packages"/heapwright_*.orig.tar.xz -C "$machine/source" --strip-components=1
  cp "$packages"/*.deb "$machine/packages/"
}

# run COMMAND...   quietly in $machine
run() {
  "$here/within.sh" "$machine" 0 "$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
}

# files   lists the files of $machine, without those of apt and dpkg themselves
files() {
  (cd "$machine" && find . -xdev \( -path ./tmp -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) -prune -o \
    -print) | sort
}

cmp "$packages"/heapwright_*.orig.tar.xz "$("$here/dist.sh" "$work")" # the same commit, the same bytes

for suite in ${SUITES:-$own}; do
  machine "$suite"
  run apt-get update
  files >"$work/before"
  run sh -c 'apt-get install -y /packages/heapwright_*.deb /packages/libheapwright_*.deb'
  run sh -c 'cd /source && packaging/debian/tests/record'
  if nm -D "$machine"/usr/lib/*/libheapwright-*.so | grep "_chk"; then
    echo "test.sh: what runs in the target has checks that end it" >&2
    exit 1
  fi
  # also what another package recommends, as apt does ca-certificates
  run apt-get purge -y --autoremove -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false \
    heapwright libheapwright
  files >"$work/after"
  diff "$work/before" "$work/after" || { echo "test.sh: $suite: purge left other files" >&2; exit 1; }
  run sh -c 'apt-get install -y /packages/heapwright*.deb /packages/libheapwright_*.deb build-essential cmake pkgconf'
  run sh -c 'cd /source && packaging/debian/tests/build'
  echo "test.sh: $suite: the packages work, and leave nothing"
done

# Multi-arch: the packages of the libraries have no file in common that differs, and the other architecture's serve its programs. The
# release is that of the packages, so that both have the same version.
if [ "$(dpkg --print-architecture)" = amd64 ]; then
  machine "$release"
  run dpkg --add-architecture arm64
  run apt-get update
  run apt-get install -y --no-install-recommends build-essential crossbuild-essential-arm64 qemu-user-static
  run cp -r /source/packaging/debian /source/debian
  run sh -c 'cd /source && apt-get build-dep -y --no-install-recommends -a arm64 -P cross,nocheck .'
  run sh -c 'cd /source && dpkg-buildpackage --build=binary --unsigned-changes --host-arch=arm64 --build-profiles=cross,nocheck'
  run sh -c 'apt-get install -y /packages/heapwright_*.deb /packages/heapwright-dev_*.deb /packages/libheapwright_*.deb \
    /heapwright-dev_*_arm64.deb /libheapwright_*_arm64.deb'
  run sh -c 'cd /source && packaging/debian/tests/record'
  run sh -c 'cd /source && packaging/foreign.sh aarch64'
  echo "test.sh: $release: the packages of amd64 and arm64 are installed together, and both work"
fi

machine bookworm
run sh -c "cd /source && $(sed -n '/^RUN /,/[^\\]$/p' "$here/container/Containerfile" | sed 's/^RUN //')"
"$here/container/check.sh" "$machine/image"
