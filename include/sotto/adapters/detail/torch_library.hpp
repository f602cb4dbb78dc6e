#pragma once

// Includes LibTorch, or reports in one sentence that it is missing.

#if __has_include(<torch/torch.h>)
#include <torch/torch.h>
#else
#error "sotto/adapters needs LibTorch: link sotto::torch (Debian: libtorch-dev)"
#endif

// Not from torch.h itself but from its includes.
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
