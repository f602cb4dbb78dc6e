#pragma once

// LibTorch, and that it is missing said in one sentence.

#if __has_include(<torch/torch.h>)
#include <torch/torch.h>
#else
#error "sotto/adapters needs LibTorch: link sotto::torch (Debian: libtorch-dev)"
#endif

// Of no part of torch.h, but of what it includes.
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
