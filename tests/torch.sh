#!/usr/bin/env bash
# tests/torch.sh
# What needs LibTorch, with Debian's, by g++: the adapter's headers, its tests, misuse that must not
# compile, the examples, and the network of its benchmarks. LibTorch is large, so that tests/run.sh,
# which does all of this where LibTorch is there, does not install it.
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
cmake --preset release -D SOTTO_QUICK=ON -D SOTTO_TORCH=ON
if ! ninja -C build/release -t targets all | grep -q '^unit_adapters:'; then
    echo "tests/torch.sh needs LibTorch, which CMake did not find" >&2
    exit 1
fi
cmake --build --preset release -j "$jobs" --target unit_adapters \
    sotto_torch_verify_interface_header_sets finetune_with_libtorch replace_a_ddp_loop \
    bench_training_with_torch
ctest --preset release -j "$jobs" --no-tests=error \
    -R '^(unit_adapters|torch_headers_compile_alone|compile_fail_torch_.*|example_(finetune_with_libtorch|replace_a_ddp_loop))$'
