#!/usr/bin/env bash
# tests/fresh_debian.sh [-k] [COMMAND]...
# Shows that a fresh clone works on a bare Debian 12: makes one with debootstrap in a temporary
# folder, clones HEAD into it and runs each COMMAND there, by default examples/run.sh and
# tests/run.sh. Needs root, debootstrap and git; takes its mirror and proxy from this machine's apt.
#   -k   keeps the folder, for a look at what went wrong
#   SOTTO_DATA               folder with data sets; can be read in there too
#   SOTTO_FRESH_DEBIAN_DIR   where to make it; by default below TMPDIR or /tmp
set -euo pipefail

if [ "$(id -u)" -ne 0 ]; then
    echo "tests/fresh_debian.sh needs root: debootstrap and chroot do" >&2
    exit 2
fi
# In a mount namespace of our own the mounts end with us, however we end.
if [ -z "${SOTTO_OWN_MOUNTS:-}" ]; then
    SOTTO_OWN_MOUNTS=yes exec unshare --mount --propagation private "$0" "$@"
fi

keep=no
if [ "${1:-}" = -k ]; then
    keep=yes
    shift
fi
[ $# -gt 0 ] || set -- examples/run.sh tests/run.sh

source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d "${SOTTO_FRESH_DEBIAN_DIR:-${TMPDIR:-/tmp}}/fresh_debian.XXXXXX")
root=$folder/root

# shellcheck disable=SC2317  # called by the trap
finish() {
    if mountpoint -q "$root/dev"; then umount -R "$root/dev"; fi
    if mountpoint -q "$root/sys"; then umount -R "$root/sys"; fi
    if mountpoint -q "$root/data"; then umount "$root/data"; fi
    if mountpoint -q "$root/proc"; then umount -R "$root/proc"; fi
    if [ "$keep" = yes ]; then
        echo "kept: $root"
    else
        rm -rf --one-file-system "$folder"
    fi
}
trap finish EXIT

# shellcheck disable=SC2016  # apt's variable, not the shell's
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 2> /dev/null | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}
echo "== debootstrap from $mirror"
if ! debootstrap --variant=minbase bookworm "$root" "$mirror" > "$folder/debootstrap.log" 2>&1; then
    tail -n 20 "$folder/debootstrap.log" >&2
    exit 1
fi

# Debian's own sources and the proxy, nothing else of this machine's apt.
for list in sources.list sources.list.d/debian.sources; do
    if [ -e "/etc/apt/$list" ]; then cp "/etc/apt/$list" "$root/etc/apt/$list"; fi
done
if [ -e /etc/apt/sources.list.d/debian.sources ]; then rm -f "$root/etc/apt/sources.list"; fi
apt-config dump | grep -iE '^Acquire::https?::Proxy' > "$root/etc/apt/apt.conf.d/99proxy" || true
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /dev "$root/dev"

data=
if [ -n "${SOTTO_DATA:-}" ]; then
    data=/data
    mkdir "$root/data"
    mount --bind -o ro "$SOTTO_DATA" "$root/data"
fi

git clone -q --no-local "$source" "$root/sotto"
echo "== clone of $(git -C "$root/sotto" log -1 --format='%h %s')"

status=0
for command in "$@"; do
    echo
    echo "== in the fresh Debian: $command"
    started=$SECONDS
    if env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        SOTTO_FUZZ_SECONDS="${SOTTO_FUZZ_SECONDS:-}" SOTTO_DATA="$data" \
        chroot "$root" sh -c "cd /sotto && $command" < /dev/null; then
        echo "== $command: passed after $((SECONDS - started)) s"
    else
        status=$?
        echo "== $command: failed with status $status after $((SECONDS - started)) s"
    fi
done
exit "$status"
