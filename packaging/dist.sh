#!/bin/sh
# dist.sh FOLDER   writes the committed sources into FOLDER/heapwright-VERSION.tar.xz, the same bytes each time, and prints that name.
# The page of HTML reports is among them (web/dist/page.html), so that they build without node and without git.
set -eu
mkdir -p "${1:?usage: dist.sh FOLDER}"
folder=$(realpath "$1")
cd "$(dirname "$0")/.."
if [ ! -e .git ]; then # also where an unpacked tarball is inside of another repository
  echo "dist.sh: $PWD is no clone of the repository: a tarball is made of what is committed there" >&2
  exit 2
fi
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "dist.sh: changes that are not committed are left out" >&2
name=heapwright-$(git show HEAD:src/base/version.h | sed -n 's/^#define HWI_VERSION "\(.*\)"$/\1/p')
trap 'rm -f "$folder/$name.tar"' EXIT
git -c tar.umask=0022 archive --prefix="$name/" -o "$folder/$name.tar" HEAD
xz --force --threads=1 "$folder/$name.tar"
echo "$folder/$name.tar.xz"
