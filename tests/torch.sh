#!/usr/bin/env bash
# tests/torch.sh
# What needs LibTorch, with Debian's, by g++: the adapter's headers, its tests, misuse that must not
# compile, the examples, and its benchmarks, which are only compiled. LibTorch is large, so that
# tests/run.sh gcc, which does all of this where LibTorch is there, does not install it.
#   SOTTO_INSTALL=no   installs nothing
#   SOTTO_JOBS         compilers and tests side by side; by default one for each processor
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export OPENBLAS_NUM_THREADS=1
jobs=${SOTTO_JOBS:-$(nproc)}

echo "== packages"
cmake/install_debian.sh tests
cmake/install_debian.sh torch

echo
echo "== LibTorch"
cmake --preset release -B build/torch -D SOTTO_QUICK=ON -D SOTTO_TORCH=ON
targets=$(ninja -C build/torch -t targets all)
if ! grep -q '^unit_adapters:' <<< "$targets"; then
    echo "tests/torch.sh needs LibTorch, which CMake did not find" >&2
    exit 1
fi
cmake --build build/torch -j "$jobs" --target unit_adapters finetune_with_libtorch \
    replace_a_ddp_loop bench_training_with_torch bench_network_with_torch

ours='^(unit_adapters|torch_headers_compile_alone|compile_fail_torch_.*_gcc|example_(finetune_with_libtorch|replace_a_ddp_loop))$'
there=$(ctest --test-dir build/torch -N -R "$ours" | sed -n 's/^ *Test *#[0-9]*: //p')
for test in unit_adapters torch_headers_compile_alone compile_fail_torch_model_without_labels_gcc \
    example_finetune_with_libtorch example_replace_a_ddp_loop; do
    if ! grep -qx "$test" <<< "$there"; then
        echo "$test is missing" >&2
        exit 1
    fi
done
ctest --test-dir build/torch --output-on-failure -j "$jobs" -R "$ours"
