#!/bin/sh
# deb.sh FOLDER   builds the Debian source package and the binary packages of the committed sources in FOLDER, and fails if lintian
# finds an error or a warning. DEB_BUILD_OPTIONS=nocheck leaves out the unit tests.
set -eu
here=$(realpath "$(dirname "$0")")
mkdir -p "${1:?usage: deb.sh FOLDER}"
cd "$1"
tarball=$("$here/dist.sh" .)
name=$(basename "$tarball" .tar.xz)
rm -rf "$name" ./*.deb ./*.dsc ./*.changes ./*.buildinfo ./*.debian.tar.xz
tar -xf "$tarball"
ln -f "$tarball" "heapwright_${name#heapwright-}.orig.tar.xz"
cp -r "$name/packaging/debian" "$name/debian"
(cd "$name" && dpkg-buildpackage --unsigned-source --unsigned-changes >../build.log 2>&1) || {
  tail -n 40 build.log
  echo "deb.sh: dpkg-buildpackage failed; its last lines are above, all are in $PWD/build.log" >&2
  exit 1
}
lintian --allow-root --fail-on error,warning ./*.changes
ls -1 "$PWD"/*.deb
