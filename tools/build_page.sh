#!/bin/sh
# build_page.sh [--install | --check]   builds the page of HTML reports, web/dist/page.html, from web/src. It is in the
# repository, so that the C build needs no node.
# --install: only installs web/node_modules as in the lock file. --check: type-checks, lints, builds into a temporary file, and
# fails if that differs from the page in the repository.
set -eu
cd "$(dirname "$0")/../web"
kept=dist/page.html

# npm writes a copy of the installed lock file into node_modules; if ours has changed since, it is newer.
installed=node_modules/.package-lock.json
if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
  npm ci --no-audit --no-fund --loglevel=error
  touch "$installed"
fi
case ${1:-} in
  --install) ;;
  --check)
    npm run --silent check
    built=$(mktemp)
    trap 'rm -f "$built"' EXIT
    node build.mjs "$built"
    if ! cmp "$built" "$kept"; then
      echo "web/$kept is not what web/src builds: run 'make web' and commit it" >&2
      exit 1
    fi
    ;;
  '')
    npm run --silent check
    node build.mjs
    echo "web/$kept: $(wc -c <"$kept") bytes"
    ;;
  *)
    sed -n '2,5s/^# //p' "$0" >&2
    exit 2
    ;;
esac
