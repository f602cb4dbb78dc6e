#!/usr/bin/env bash
# tests/system/long_faults.sh [SEEDS]
# tests/system/long_faults.sh --table
# Mixed faults on the simulated network under many seeds, by default 100000 of each test case that draws them, in
# slices: a search that was interrupted goes on where it stopped. Then the table bench/results/faults.md. A test case
# whose result is a line of bench/results/faults.jsonl is not run again: take that line out for that. A seed that fails
# is named with the command that repeats it, and ends nothing. --table makes the table alone.
#   SOTTO_JOBS   slices side by side; by default one for each processor
#   BUILD        where it builds; by default build/release. What was done so far is kept there, in faults/
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build/release}
results=$root/bench/results/faults.jsonl

# write_table: the page. It fails if a slice of any test case broke.
write_table() {
    [ -s "$results" ] || { echo "no result in $results" >&2; return 1; }
    {
        echo "# Seeds of mixed faults on the simulated network"
        echo
        echo "Every seed draws a strategy, 2 to 16 ranks and what goes wrong; what is checked stands in the tests of these"
        echo "names in tests/system. Seeds count that ran to their end. Seconds are summed over processes."
        echo
        echo "| test | seeds | seeds that failed | seconds | date | commit |"
        echo "|---|---|---|---|---|---|"
        jq -r '
            "| \(.test) | \(.seeds) | \([(.failed | length), .broken_slices] | max) | \(.seconds | round) | \(.date) | \(.commit) |"
            ' "$results"
        echo
        jq -rs 'map("\(.processor), \(.cores) cores.\nCommand: `\(.command)`") | unique | .[]' "$results"
        jq -r '.failed[] | "- failed: `\(.)`"' "$results"
    } > "$root/bench/results/faults.md"
    cat "$root/bench/results/faults.md"
    jq -es 'all(.broken_slices == 0)' "$results" > /dev/null
}

if [ "${1:-}" = --table ]; then
    write_table
    exit
fi
command="tests/system/long_faults.sh${*:+ $*}"
seeds=${1:-100000}
if [[ ! $seeds =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: tests/system/long_faults.sh [SEEDS]: $seeds is no number of seeds" >&2
    exit 2
fi
size=$((seeds < 2000 ? seeds : 2000))
tests="simulated_faults elastic_faults gossip_faults"
commit=$(git -C "$root" describe --always --dirty)

"$root/cmake/install_debian.sh" tests
cmake --preset release -D SOTTO_TOGETHER=OFF -D SOTTO_QUICK=OFF -S "$root" -B "$build" > /dev/null
# shellcheck disable=SC2046,SC2086  # the tests' names hold no blanks
cmake --build "$build" --target $(printf 'system_%s ' $tests) > /dev/null

# shellcheck disable=SC2317  # it is called by xargs
# slice CASE FIRST: its seeds from FIRST on; a line of figures in the case's `slices` when they are done. A seed that
# crashes or hangs ends the program, which says so; the seeds behind it then have a run of their own.
slice() {
    local folder=$build/faults/$1 count=$((seeds - $2 < size ? seeds - $2 : size)) spent=0 failed=0 completed=0
    local next=$2 end ended took log name
    # In a filter a comma would begin another pattern.
    name=$(tr , '?' < "$folder/name")
    grep -q "^$2 " "$folder/slices" && return
    end=$((next + count))
    TIMEFORMAT=%R
    while [ "$next" -lt "$end" ]; do
        log=$folder/$next.log
        local broken=0
        took=$({ time SOTTO_FAULT_SEED=$next SOTTO_FAULT_SEEDS=$((end - next)) "$folder/program" \
            --test-case="$name" > "$log" 2>&1; } 2>&1) || broken=1
        spent=$(awk -v a="$spent" -v b="${took##*$'\n'}" 'BEGIN { print a + b }')
        ended=$(sed -nE 's/.*seeds completed: ([0-9]+).*/\1/p' "$log" | tail -n 1)
        ended=${ended:-0}
        completed=$((completed + ended))
        if [ "$broken" -eq 0 ]; then
            rm "$log"
        else
            failed=1
            sed -nE "s/.*again: (SOTTO[^']*'[^']*').*/\1/p" "$log" | sort -u >> "$folder/failed"
            # Killed from outside it could not say so.
            if [ "$ended" -lt $((end - next)) ] && ! grep -q "^seed .* crashed or hung" "$log"; then
                echo "SOTTO_FAULT_SEED=$((next + ended)): it ended without a word" >> "$folder/failed"
            fi
            echo "$1: see $log" >&2
        fi
        next=$((next + ended + 1))
    done
    echo "$2 $count $spent $failed $completed" >> "$folder/slices"
    echo "$1 $end of $seeds"
}

work=() cases=()
for test in $tests; do
    number=0
    while IFS= read -r name; do
        number=$((number + 1))
        case=$test.$number
        cases+=("$case")
        folder=$build/faults/$case
        mkdir -p "$folder"
        if [ -s "$results" ] &&
            jq -en --arg case "$case" "any(inputs; .name == \$case and (.tried // .seeds) >= $seeds)" \
                "$results" > /dev/null; then
            echo "$case: done, see its line in $results"
            continue
        fi
        # What another program has run does not count.
        if ! cmp -s "$build/tests/system/system_$test" "$folder/program"; then
            cp "$build/tests/system/system_$test" "$folder/program"
            echo "$commit" > "$folder/commit"
            : > "$folder/slices"
            : > "$folder/failed"
        fi
        echo "$name" > "$folder/name"
        for first in $(seq 0 "$size" $((seeds - 1))); do work+=("$case $first"); done
    done < <("$build/tests/system/system_$test" --list-test-cases --no-intro --test-case='random faults*' |
        grep '^random faults')
    [ "$number" -gt 0 ] || { echo "system_$test has no test case 'random faults...'" >&2; exit 1; }
done
export build seeds size
export -f slice
if [ "${#work[@]}" -gt 0 ]; then
    printf '%s\n' "${work[@]}" | xargs -P "${SOTTO_JOBS:-$(nproc)}" -L 1 bash -c 'slice "$@"' slice
fi

for case in "${cases[@]}"; do
    folder=$build/faults/$case
    if [ ! -s "$folder/slices" ] ||
        [ "$(awk '{ sum += $2 } END { print sum + 0 }' "$folder/slices")" -lt "$seeds" ]; then continue; fi
    jq -Rs --arg test "${case%.*}: $(cat "$folder/name")" --arg commit "$(cat "$folder/commit")" --arg date "$(date +%F)" \
        --arg processor "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" --arg cores "$(nproc --all)" \
        --arg command "$command" --rawfile failed "$folder/failed" '
        split("\n") | map(select(length > 0) | split(" ") | map(tonumber))
        | {test: $test, seeds: map(.[4]) | add, tried: map(.[1]) | add, seconds: map(.[2]) | add, broken_slices: map(.[3]) | add,
            failed: ($failed | split("\n") | map(select(length > 0))), date: $date, commit: $commit,
            processor: $processor, cores: $cores, command: $command}' "$folder/slices" > "$folder/result.json"
    python3 "$root/bench/common/store.py" add "$results" "$case" "$folder/result.json"
    rm "$folder/result.json"
    : > "$folder/slices"
done

write_table
