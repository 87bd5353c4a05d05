#!/bin/sh
# build_page.sh [--install | --check]   builds the page of HTML reports, web/dist/page.html, from web/src. It is kept in the
# repository, so that the C build needs no node.
# --install: only brings web/node_modules up to the lock file. --check: type-checks, lints, builds into a temporary file, and
# fails where that differs from the page that is kept.
set -eu
cd "$(dirname "$0")/../web"
kept=dist/page.html

# npm writes the lock file that it installed into node_modules; ours is newer where they differ.
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
