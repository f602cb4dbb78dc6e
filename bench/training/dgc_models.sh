#!/usr/bin/env bash
# Dense training beside gradient dropping and Deep Gradient Compression on two larger models: every row with every seed,
# one stored result each, so that a run that was interrupted goes on where it stopped; then the table
# bench/results/dgc_models.md.
#   bench/training/dgc_models.sh [SEEDS]      default: 1 2 3
# Needs SOTTO_DATA, a folder that holds cifar10-sample/ and tinyshakespeare/, and for the row "pytorch" Debian's
# python3-torch (left out without it). Takes some hours on two cores.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
: "${SOTTO_DATA:?set it to a folder that holds cifar10-sample/ and tinyshakespeare/}"
build=$root/build/bench
results=$root/bench/results/dgc_models
program=$build/bench/bench_training_dgc_models
python=${PYTHON:-/usr/bin/python3}
seeds=${*:-1 2 3}
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
# OpenBLAS knows no newer processors than it is itself, and takes a slower kernel for them.
if grep -q avx512dq /proc/cpuinfo; then export OPENBLAS_CORETYPE=SKYLAKEX; fi

# What every row of a task has in common, and the learning rates tried for the dense one.
# shellcheck disable=SC2034  # read by name, as ${!...}
{
cifar10="--epochs 30 --batch-size 32 --weight-decay 0.0001"
cifar10_rates="0.05 0.1 0.2"
cifar10_rows="dense gradient_dropping dgc"
shakespeare="--epochs 10 --batch-size 16 --clip 1.0"
shakespeare_rates="0.5 1.0 2.0"
shakespeare_rows="dense dgc"
}

"$root/cmake/install_debian.sh" bench
cmake --preset bench -S "$root" > /dev/null
cmake --build "$build" --target bench_training_dgc_models > /dev/null
mkdir -p "$results"

# run NAME COMMAND...: trains unless its result is stored already.
run() {
    local file=$results/$1.json
    [ -s "$file" ] && return
    echo "$(date +%T) $1"
    shift
    "$@" --out "$file.part" > "$build/dgc_models.log" 2>&1 || { cat "$build/dgc_models.log" >&2; exit 1; }
    mv "$file.part" "$file"
}

# row TASK ROW SEED RATE NAME
row() {
    local options=$1
    # shellcheck disable=SC2086  # a list of options
    run "$5" "$program" --task "$1" --row "$2" --seed "$3" --learning-rate "$4" ${!options}
}

# The grid's best for dense, by the test loss of the first seed.
best_of() {
    local rates=$1_rates rate
    for rate in ${!rates}; do
        jq -r '"\(.test_loss) \(.learning_rate)"' "$results/$1_grid_$rate.json"
    done | sort -g | head -n 1 | cut -d ' ' -f 2
}

for task in cifar10 shakespeare; do
    rates=${task}_rates rows=${task}_rows
    for rate in ${!rates}; do row "$task" dense 1 "$rate" "${task}_grid_$rate"; done
    best=$(best_of "$task")
    cp "$results/${task}_grid_$best.json" "$results/${task}_dense_1.json" 2> /dev/null ||
        cp "$results/${task}_grid_$best.0.json" "$results/${task}_dense_1.json"
    for seed in $seeds; do
        for what in ${!rows}; do row "$task" "$what" "$seed" "$best" "${task}_${what}_$seed"; done
    done
done
if "$python" -c 'import torch' 2> /dev/null; then
    best=$(best_of shakespeare)
    for seed in $seeds; do
        # One process computes what four workers of 16 did.
        run "shakespeare_pytorch_$seed" "$python" "$root/bench/training/character_lstm.py" --data "$SOTTO_DATA" \
            --seed "$seed" --learning-rate "$best" --epochs 10 --batch-size 64 --clip 1.0
    done
fi

# table TASK MEASURE ROWS...: mean and standard deviation over seeds of a measure, and how much smaller messages were.
table() {
    local task=$1 measure=$2 what
    shift 2
    echo "| row | ${measure/_/ } | each seed | gradient / message, last epoch |"
    echo "|---|---|---|---|"
    for what in "$@"; do
        ls "$results/${task}_${what}"_[0-9]*.json > /dev/null 2>&1 || continue
        cat "$results/${task}_${what}"_[0-9]*.json | jq -rs --arg row "$what" --arg measure "$measure" '
            def r: . * 1000 | round / 1000;
            (map(.[$measure])) as $e | ($e | add / length) as $m
            | (if ($e | length) > 1 then ($e | map((. - $m) * (. - $m)) | add / (($e | length) - 1) | sqrt) else 0 end) as $s
            | (if .[0].message_bytes_last_epoch then
                 (map(.dense_bytes_last_epoch / .message_bytes_last_epoch) | add / length | round | tostring)
               else "-" end) as $x
            | "| \($row) | \($m | r) ± \($s | r) | \($e | map(r | tostring) | join(" ")) | \($x) |"'
    done
    echo
    local rates=${task}_rates rate
    echo "| learning rate | dense, seed 1: ${measure/_/ } |"
    echo "|---|---|"
    for rate in ${!rates}; do
        jq -r --arg rate "$rate" --arg measure "$measure" \
            '"| \($rate) | \(.[$measure] * 1000 | round / 1000) |"' "$results/${task}_grid_$rate.json"
    done
}

{
    echo "# Dense training beside Deep Gradient Compression on larger models"
    echo
    echo "$(date +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores."
    echo "Command: \`SOTTO_DATA=... bench/training/dgc_models.sh $seeds\`"
    echo
    echo "Four workers, momentum 0.9, density 0.001, one learning rate for all rows of a task: the best for dense of its"
    echo "grid, falling by a cosine to 0. Mean and standard deviation over seeds."
    echo
    echo "## CIFAR-10 sample (10,000 images), residual CNN of 20 layers: final test error in %"
    echo
    # shellcheck disable=SC2086
    table cifar10 test_error $cifar10_rows
    echo
    echo "## Tiny Shakespeare, character LSTM: final validation loss in nats a character"
    echo
    # shellcheck disable=SC2086
    table shakespeare test_loss $shakespeare_rows pytorch
} > "$root/bench/results/dgc_models.md"
echo "bench/results/dgc_models.md"
