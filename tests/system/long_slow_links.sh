#!/usr/bin/env bash
# tests/system/long_slow_links.sh [NAME...]
# Ranks on links of network namespaces whose queues or outages keep signs of life longer than dead_after: see
# tests/system/slow_links.py, which has the jobs. Then the table bench/results/slow_links.md. As root, or where user
# namespaces may be made; some minutes.
#   BUILD        where it builds; by default build/release
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=$(git -C "$root" describe --always --dirty)  # before the table is written
build=${BUILD:-$root/build/release}
command="tests/system/long_slow_links.sh${*:+ $*}"
"$root/cmake/install_debian.sh" tests
cmake --preset release -D SOTTO_TOGETHER=OFF -D SOTTO_QUICK=OFF -S "$root" -B "$build" > /dev/null
cmake --build "$build" --target system_slow_links > /dev/null
failed=0
rows=$(python3 "$root/tests/system/slow_links.py" "$build/tests/system/system_slow_links" "$@") || failed=1

{
    echo "# Jobs on slow links"
    echo
    sed -n 's/^model name[^:]*: /'"$(date +%F)"', /p' /proc/cpuinfo | head -n 1
    echo "($(nproc --all) processors), commit $commit. Command: \`$command\`"
    echo
    echo "Each rank has a link of the given rate in both directions, shaped by tc's tbf with a queue of so much time."
    echo "An outage cuts one rank's link every 4 s; its ends are not notified. All \`tcp_options\` except \`timeout\` have"
    echo "their default values. A silent rank is dropped after 2 s, in the first 20 s of a job after 6 s where nothing is"
    echo "acknowledged, or after more on a slow network: the last column is the largest limit that a measured delay set."
    echo
    echo "| job | rate | queue | busy processes | ended | seconds | limit of silence |"
    echo "|---|---|---|---|---|---|---|"
    echo "$rows"
} > "$root/bench/results/slow_links.md"
cat "$root/bench/results/slow_links.md"
exit $failed
