#!/usr/bin/env bash
# tests/system/long_gossip_kills.sh [KILLS]
# Ranks of gossip on a ring of 8, over TCP, each a process: in each of so many runs, by default 20, one that chance
# draws is killed. Test system_gossip_kills, which checks that every survivor ends, says which rank was lost, and that
# the sum of the survivors' parameters moves by their own steps alone once the loss is known. Then the table
# bench/results/gossip_kills.md, of how long the longest step of a survivor was. Nothing else should run meanwhile.
#   BUILD        where it builds; by default build/release
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=$(git -C "$root" describe --always --dirty)  # before the table is written
build=${BUILD:-$root/build/release}
command="tests/system/long_gossip_kills.sh${*:+ $*}"
kills=${1:-20}
if [[ ! $kills =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: tests/system/long_gossip_kills.sh [KILLS]: $kills is no number of kills" >&2
    exit 2
fi

"$root/cmake/install_debian.sh" tests
cmake --preset release -D SOTTO_TOGETHER=OFF -D SOTTO_QUICK=OFF -S "$root" -B "$build" > /dev/null
cmake --build "$build" --target system_gossip_kills > /dev/null
log=$build/gossip_kills.log
SOTTO_GOSSIP_KILLS=$kills SOTTO_GOSSIP_RANKS=8 timeout 3600 "$build/tests/system/system_gossip_kills" \
    --test-case='neighbours of a rank*' 2>&1 | tee "$log"

{
    echo "# Ranks of gossip that are killed"
    echo
    sed -n 's/^model name[^:]*: /'"$(date +%F)"', /p' /proc/cpuinfo | head -n 1
    echo "($(nproc --all) processors), commit $commit. Command: \`$command\`"
    echo
    echo "A ring of 8 over TCP, 60 steps, every other run with \`consensus_control\`. In each run SIGKILL ends one rank."
    echo "All survivors went through all their steps, named the rank that was killed and no other, and the sum of"
    echo "their parameters moved by their own steps alone from the step on after which all knew. The time is that of"
    echo "the longest step of any survivor, the one with the loss among them; a rank that dies is missed at once."
    echo
    echo "| rank killed | known to all after step | longest step, s |"
    echo "|---|---|---|"
    sed -nE 's/^rank ([0-9]+) of 8 killed, known after step ([0-9]+): longest step ([0-9.]+) s$/| \1 | \2 | \3 |/p' "$log"
} > "$root/bench/results/gossip_kills.md"
cat "$root/bench/results/gossip_kills.md"
