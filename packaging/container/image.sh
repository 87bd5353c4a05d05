#!/bin/sh
# image.sh BUILD ROOT   makes the folder ROOT with all that a container image of heapwright needs: the tool, the libraries to preload,
# the libraries that they are linked with or load, certificates for `push`, terminals for `live --text`, and busybox, whose
# cp copies the recorder to other containers.
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
# shellcheck disable=SC2046 # a list of names without blanks
copy /bin/busybox /etc/ssl/certs/ca-certificates.crt \
  $(ldd "$build/bin/heapwright" "$build/CMakeFiles/loaded_libraries.so" /bin/busybox |
    awk '$2 == "=>" && $3 ~ "^/" { print $3 } $1 ~ "^/" && $2 ~ "^[(]" { print $1 }' | sort -u)
for name in sh cat cp ls; do ln -s busybox "$root/bin/$name"; done
cp -rL /lib/terminfo "$root/lib/"
install -d -m 1777 "$root/tmp"
