#!/bin/sh
# image.sh BUILD ROOT   makes the folder ROOT with all that a container image of heapwright needs: the tool, the libraries to preload,
# the libraries that they are linked with or load, certificates for `push`, terminals for `live --text`, and busybox, whose
# cp copies the recorder to other containers. With the terms of each.
set -eu
build=$(realpath "${1:?usage: image.sh BUILD ROOT}")
mkdir "${2:?usage: image.sh BUILD ROOT}"
root=$(realpath "$2")

# copy FILE...   each into the same folder below ROOT
copy() {
  for file in "$@"; do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
  done
}

installed=$(mktemp -d)
trap 'rm -r "$installed"' EXIT
DESTDIR=$installed cmake --install "$build" --prefix /usr --strip >/dev/null
mkdir -p "$root/usr/lib"
cp -r "$installed/usr/bin" "$installed/usr/libexec" "$root/usr/"
cp -r "$installed"/usr/lib/*.so "$installed/usr/lib/heapwright" "$root/usr/lib/"

# cmake/Dependencies.cmake makes a library that needs all that are loaded.
libraries=$(ldd "$build/bin/heapwright" "$build/CMakeFiles/loaded_libraries.so" /bin/busybox |
  awk '$2 == "=>" && $3 ~ "^/" { print $3 } $1 ~ "^/" && $2 ~ "^[(]" { print $1 }' | sort -u)
# shellcheck disable=SC2086 # a list of names without blanks
copy /bin/busybox /etc/ssl/certs/ca-certificates.crt $libraries
for name in sh cat cp ls; do ln -s busybox "$root/bin/$name"; done
cp -rL /lib/terminfo "$root/lib/"

# The terms of all that is in the image. dpkg knows a library by the name with /usr, or without.
copy_terms() {
  for package in "$@"; do copy "/usr/share/doc/$package/copyright"; done
}
for file in /bin/busybox $libraries; do
  owner=$(dpkg -S "$file" 2>/dev/null || dpkg -S "/usr$file" 2>/dev/null || dpkg -S "${file#/usr}")
  copy_terms "${owner%%:*}"
done
copy_terms ca-certificates ncurses-base
mkdir -p "$root/usr/share/common-licenses"
cp -L /usr/share/common-licenses/* "$root/usr/share/common-licenses/"
install -D -m 644 "$(dirname "$0")/../../LICENSE" "$root/usr/share/doc/heapwright/copyright"
install -d -m 1777 "$root/tmp"
