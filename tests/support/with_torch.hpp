#pragma once

// LibTorch and doctest, in this order: what LibTorch writes its log with has macros of doctest's
// names. A test of both includes this before all else.

#include "sotto/adapters/torch.hpp"

#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_GT

#include <doctest/doctest.h>
