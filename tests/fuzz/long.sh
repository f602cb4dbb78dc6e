#!/usr/bin/env bash
# tests/fuzz/long.sh [EXECUTIONS] [TARGET]...
# tests/fuzz/long.sh --table
# A long search of each target, by default 100000000 executions of hello, dense_block, sparse_block and frames, in
# slices, so that one that was interrupted goes on where it stopped; then the table bench/results/fuzzing.md. A target
# whose result is a line of bench/results/fuzzing.jsonl is not run again: take that line out for that. What is found
# ends the search of its target until the input that the message names does no harm any more. --table makes the table
# alone.
#   SOTTO_JOBS   slices side by side; by default one for each processor
#   BUILD        where it builds; by default build/fuzz. What it found so far is kept there, in long/
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build/fuzz}
results=$root/bench/results/fuzzing.jsonl
executions=100000000
command="tests/fuzz/long.sh${*:+ $*}"
only_table=no
if [ "${1:-}" = --table ]; then
    only_table=yes
    shift
fi
if [[ ${1:-} =~ ^[1-9][0-9]*$ ]]; then
    executions=$1
    shift
fi
targets=${*:-hello dense_block sparse_block frames}
for target in $targets; do
    if [ ! -e "$root/tests/fuzz/$target.cpp" ] || [ ! -d "$root/tests/fuzz/corpus/$target" ]; then
        echo "usage: tests/fuzz/long.sh [EXECUTIONS] [TARGET]...: $target is no target in tests/fuzz" >&2
        exit 2
    fi
done

findings_of() {
    [ ! -d "$build/long/$1" ] || find "$build/long/$1" -maxdepth 1 -type f -name 'finding-*' ! -name '*.txt' | sort
}

stored() { [ ! -e "$results" ] || cat "$results"; }

# write_table: the page, with what is found and not mended yet.
write_table() {
    local target finding found=() page=$root/bench/results/fuzzing.md
    for target in $targets; do
        for finding in $(findings_of "$target"); do found+=("$target: ${finding#"$root/"}"); done
    done
    {
        echo "# Long searches of the fuzzers"
        echo
        echo "Every target from the inputs in tests/fuzz/corpus on, with libFuzzer and the address and undefined-behaviour"
        echo "sanitizers. Seconds are summed over processes; edges, and features (edges by how"
        echo "often they are taken), are those of sotto and of the target."
        echo
        echo "| target | executions | findings | seconds | executions a second | a processor second | edges | features" \
            "| inputs kept | date | commit |"
        echo "|---|---|---|---|---|---|---|---|---|---|---|"
        stored | jq -r '
            "| \(.target) | \(.executions) | 0 | \(.seconds | round) | \(.executions / .seconds | round) " +
            "| \(.executions / .processor_seconds | round) | \(.edges) | \(.features) | \(.inputs) " +
            "| \(.date) | \(.commit) |"'
        echo
        stored | jq -rs '
            map("\(.processor), \(.cores) cores, \(.compiler).\nCommand: `\(.command)`") | unique | .[]'
        if [ "${#found[@]}" -gt 0 ]; then
            echo
            echo "Found, and not mended yet:"
            echo
            printf -- '- %s\n' "${found[@]}"
        fi
    } > "$page.part"
    mv "$page.part" "$page"
    cat "$page"
}

if [ "$only_table" = yes ]; then
    write_table
    exit
fi

commit=$(git -C "$root" describe --always --dirty)
slice_executions=$((executions < 10000000 ? executions : 10000000))
slices=$(((executions + slice_executions - 1) / slice_executions))

"$root/cmake/install_debian.sh" tests
cmake --preset fuzz -S "$root" -B "$build" > /dev/null
# shellcheck disable=SC2046,SC2086  # the targets' names hold no blanks
cmake --build "$build" --target $(printf 'fuzz_%s ' $targets) > /dev/null

# search TARGET PROGRAM ARGUMENTS...: under the limits that all have. What was freed is kept for 1 MiB only, and of who
# took memory only the innermost function is noted: the report of a finding tells the rest. What has to wait for a
# processor is not slow: ten minutes are.
search() {
    ASAN_OPTIONS=quarantine_size_mb=1:malloc_context_size=1 UBSAN_OPTIONS=print_stacktrace=1 \
        "$2" "${@:3}" -timeout=600 -report_slow_units=600 -malloc_limit_mb=64 -print_final_stats=1 \
        "-artifact_prefix=$build/long/$1/finding-"
}

# shellcheck disable=SC2317  # it is called by xargs
# slice TARGET NUMBER: one slice; a line of figures in the target's `slices` when it is done.
slice() {
    local folder=$build/long/$1 log=$build/long/$1/$2.log code=0 spent finding
    grep -q "^$2 " "$folder/slices" && return
    [ -z "$(findings_of "$1")" ] || return 0
    echo "$1 $2 of $slices"
    TIMEFORMAT='%R %U %S'
    spent=$({ time search "$1" "$folder/program" "$folder/corpus" "$root/tests/fuzz/corpus/$1" \
        "-runs=$slice_executions" > "$log" 2>&1; } 2>&1) || code=$?
    if [ "$code" -eq 0 ]; then
        # One write each, so that slices that end together do not mix their lines.
        echo "$2 $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") $spent" \
            "$(sed -nE 's/.*DONE +cov: ([0-9]+) ft: ([0-9]+) corp: ([0-9]+)\/.*/\1 \2 \3/p' "$log")" \
            >> "$folder/slices"
        rm "$log"
    elif [ -n "$(findings_of "$1")" ]; then
        for finding in $(findings_of "$1"); do
            UBSAN_OPTIONS=print_stacktrace=1 "$folder/program" "$finding" > "$finding.txt" 2>&1 || true
            echo "$1: found $finding; the report is in $finding.txt" >&2
        done
    elif [ "$code" -ne 72 ] && [ "$code" -lt 128 ]; then  # 72: libFuzzer was interrupted
        echo "$1: the search ended with $code and no input; its output is in $log" >&2
        touch "$folder/broken"
    fi
}

work=()
for target in $targets; do
    folder=$build/long/$target
    mkdir -p "$folder/corpus"
    rm -f "$folder/broken"
    if stored | jq -en --arg target "$target" \
        "any(inputs; .name == \$target and .executions >= $executions)" > /dev/null; then
        echo "$target: done, see its line in $results"
        continue
    fi
    # What another program or other slices have executed does not count.
    if ! { cmp -s "$build/tests/fuzz/fuzz_$target" "$folder/program" &&
        grep -qx "$slice_executions" "$folder/size"; } 2> /dev/null; then
        cp "$build/tests/fuzz/fuzz_$target" "$folder/program"
        echo "$slice_executions" > "$folder/size"
        echo "$commit" > "$folder/commit"
        : > "$folder/slices"
    fi
    for finding in $(findings_of "$target"); do
        if search "$target" "$folder/program" "$finding" > "$finding.txt" 2>&1; then
            rm "$finding" "$finding.txt"
        else
            echo "$target: $finding still does harm; the report is in $finding.txt" >&2
        fi
    done
    for number in $(seq "$slices"); do work+=("$target $number"); done
done
export root build slices slice_executions
export -f search findings_of slice
if [ "${#work[@]}" -gt 0 ]; then
    printf '%s\n' "${work[@]}" | xargs -P "${SOTTO_JOBS:-$(nproc)}" -L 1 bash -c 'slice "$@"' slice
fi

failed=0
for target in $targets; do
    folder=$build/long/$target
    if [ -n "$(findings_of "$target")" ]; then failed=1; fi
    if [ -e "$folder/broken" ]; then failed=1; fi
    if [ ! -s "$folder/slices" ] || [ "$(wc -l < "$folder/slices")" -lt "$slices" ]; then continue; fi
    jq -Rs --arg target "$target" --arg commit "$(cat "$folder/commit")" --arg date "$(date +%F)" \
        --arg processor "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" --arg cores "$(nproc --all)" \
        --arg compiler "$(clang++ --version | head -n 1)" --arg command "$command" '
        split("\n") | map(select(length > 0) | split(" ") | map(tonumber))
        | {target: $target, executions: map(.[1]) | add, seconds: map(.[2]) | add,
            processor_seconds: map(.[3] + .[4]) | add, edges: map(.[5]) | max, features: map(.[6]) | max,
            inputs: map(.[7]) | max, date: $date, commit: $commit, processor: $processor, cores: $cores,
            compiler: $compiler, command: $command}' "$folder/slices" > "$folder/result.json"
    python3 "$root/bench/common/store.py" add "$results" "$target" "$folder/result.json"
    rm "$folder/result.json"
    : > "$folder/slices"
done

write_table
exit "$failed"
