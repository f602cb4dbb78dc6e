#!/usr/bin/env bash
# Training throughput of one worker against PyTorch, on one thread: forward, backward and a step of momentum SGD, with
# the same weights and batches and the same OpenBLAS. Runs of the two take turns; each gives the median of its steps,
# and of these the median counts. Writes the table bench/results/throughput.md; fails if the two do not compute the
# same losses, or if sotto is slower than asked.
#   bench/training/throughput.sh [ROUNDS [SECONDS]]      default: 5 rounds of 5 s a run
# Needs Debian's python3-torch, libopenblas-dev as <cblas.h>, and a machine that does nothing else.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
rounds=${1:-5}
seconds=${2:-5}
python=${PYTHON:-/usr/bin/python3}
build=${BUILD:-$root/build/bench}
work=$build/throughput
# Name, batch, how many times as fast as PyTorch.
models="mlp:64:1.0 lenet:64:1.5 character_lstm:32:1.0 residual_cnn:64:0.8"
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# OpenBLAS knows no newer processors than it is itself, and takes a slower kernel for them.
if grep -q avx512dq /proc/cpuinfo; then export OPENBLAS_CORETYPE=SKYLAKEX; fi

"$root/cmake/install_debian.sh" bench
"$python" -c 'import torch' || { echo "apt-get install python3-torch" >&2; exit 1; }
cmake --preset bench -S "$root" -B "$build" > /dev/null
cmake --build "$build" --target bench_training_throughput > /dev/null
program=$build/bench/bench_training_throughput
mkdir -p "$work"

load=$(cut -d ' ' -f 1 /proc/loadavg)
if awk "BEGIN { exit !($load > 1.5) }"; then
    echo "the machine is busy (load $load), and ratios of busy machines say little: try again later" >&2
    exit 1
fi
for model in $models; do
    name=${model%%:*}
    "$program" --model "$name" --export "$work"
    rm -f "$work/$name".*.json
    for round in $(seq "$rounds"); do
        echo "$name $round" >&2
        "$program" --model "$name" --seconds "$seconds" > "$work/$name.sotto.$round.json"
        "$python" "$root/bench/training/throughput.py" --model "$name" --data "$work" --seconds "$seconds" \
            > "$work/$name.torch.$round.json"
    done
done

# row NAME BATCH ASKED: a line of the table, from what the rounds have left.
row() {
    jq -rn --arg name "$1" --argjson batch "$2" --argjson asked "$3" \
        --slurpfile ours <(cat "$work/$1".sotto.*.json) --slurpfile theirs <(cat "$work/$1".torch.*.json) '
        def median: sort | .[length / 2 | floor];
        def digits(n): . * pow(10; n) | round / pow(10; n);
        def ratio(f): ($theirs | map(f) | median) / ($ours | map(f) | median);
        def apart: [range(5) as $i | ($ours[0].losses[$i] / $theirs[0].losses[$i] - 1) | fabs] | max;
        if $ours[0].blas != $theirs[0].blas or $ours[0].blas == "unknown" then
            error("\($name): OpenBLAS computes as \($ours[0].blas) for sotto and as \($theirs[0].blas) for PyTorch")
        elif apart > 1e-4 then
            error("\($name): losses are \($ours[0].losses) for sotto and \($theirs[0].losses) for PyTorch")
        else
            ($ours | map(.step_seconds) | median) as $mine | ($theirs | map(.step_seconds) | median) as $other
            | "| \($name) | \($ours[0].parameters) | \($batch) | \($mine * 1000 | digits(2)) | \($other * 1000 | digits(2)) " +
              "| \($batch / $mine | round) | \(ratio(.step_seconds) | digits(2)) | \(ratio(.processor_seconds) | digits(2)) " +
              "| \($asked)\(if ratio(.step_seconds) < $asked then ": missed" else "" end) |"
        end'
}

table=$work/throughput.md
{
    echo "# Training throughput against PyTorch"
    echo
    echo "$(date +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc --all) cores, load $load at first."
    echo "PyTorch $(jq -r .version "$work/mlp.torch.1.json"), OpenBLAS with the kernels of" \
        "$(jq -r .blas "$work/mlp.torch.1.json") for both."
    echo "Command: \`bench/training/throughput.sh $rounds $seconds\`"
    echo
    echo "One thread; forward, backward and a step of momentum SGD on the same weights and batches; the losses of the"
    echo "first five steps agree within 1e-4. Runs took turns, $rounds of $seconds s each; each gives the median of its"
    echo "steps, and of these the median is here. Text: 64 characters an example."
    echo
    echo "| model | parameters | batch | sotto ms a step | PyTorch ms a step | sotto examples a second" \
        "| times as fast | by processor time | asked |"
    echo "|---|---|---|---|---|---|---|---|---|"
    for model in $models; do
        IFS=: read -r name batch asked <<< "$model"
        row "$name" "$batch" "$asked"
    done
} > "$table"
mv "$table" "$root/bench/results/throughput.md"
cat "$root/bench/results/throughput.md"
! grep -q missed "$root/bench/results/throughput.md"
