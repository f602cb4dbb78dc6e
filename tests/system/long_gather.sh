#!/usr/bin/env bash
# tests/system/long_gather.sh
# 32, 64 and 120 ranks on this machine gather over TCP with default options and train, beside busy processes: test
# system_tcp_gather. Then the table bench/results/gather.md. Some minutes.
#   BUILD        where it builds; by default build/release
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=$(git -C "$root" describe --always --dirty)  # before the table is written
build=${BUILD:-$root/build/release}
"$root/cmake/install_debian.sh" tests
cmake --preset release -D SOTTO_TOGETHER=OFF -D SOTTO_QUICK=OFF -S "$root" -B "$build" > /dev/null
cmake --build "$build" --target system_tcp_gather > /dev/null
rows=
failed=0
# ranks, busy processes, 0: without TLS or 1: with TLS
for job in "32 30 1" "64 30 1" "120 0 0" "120 30 0"; do
    read -r ranks load tls <<< "$job"
    log=$build/gather_${ranks}_${load}_$tls.log
    status=trained
    SOTTO_GATHER_RANKS=$ranks SOTTO_GATHER_LOAD=$load SOTTO_GATHER_TLS=$tls timeout 600 \
        "$build/tests/system/system_tcp_gather" > "$log" 2>&1 || { status=FAILED; failed=1; }
    tail -n 4 "$log"
    row=$(sed -nE "s/^([0-9]+) ranks (with|without) TLS: all there after ([0-9.]+) s, trained after ([0-9.]+) s/\
| \1 | \2 | $load | $status | \3 | \4 |/p" "$log")
    rows+=${row:-"| $ranks | $([ "$tls" = 1 ] && echo with || echo without) | $load | FAILED | | |"}$'\n'
done

{
    echo "# Ranks that gather on a busy machine"
    echo
    sed -n 's/^model name[^:]*: /'"$(date +%F)"', /p' /proc/cpuinfo | head -n 1
    echo "($(nproc --all) processors), commit $commit. Command: \`tests/system/long_gather.sh\`"
    echo
    echo "Each rank is a process with default options: signs of life every 250 ms, missed after 2 s, 30 s to join. They"
    echo "gather, compare their configurations and take 10 steps, beside so many processes that do nothing but compute."
    echo
    echo "| ranks | TLS | busy processes | ended | seconds until all were there | until all were trained |"
    echo "|---|---|---|---|---|---|"
    echo -n "$rows"
} > "$root/bench/results/gather.md"
cat "$root/bench/results/gather.md"
exit $failed
