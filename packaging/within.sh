#!/bin/sh
# within.sh ROOT USER COMMAND...   runs a command with ROOT as its root folder, as a user (a number), with /proc and /dev: its mounts
# end with it. Only root may do this.
set -eu
root=$(realpath "${1:?usage: within.sh ROOT USER COMMAND...}")
user=$2
shift 2
mkdir -p "$root/proc" "$root/dev"
# shellcheck disable=SC2016 # for the shell that is started
exec unshare --mount --fork --kill-child sh -c '
  mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && root=$1 user=$2 && shift 2
  exec env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    chroot --userspec="$user:$user" "$root" "$@"' sh "$root" "$user" "$@"
