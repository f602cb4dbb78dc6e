// expect-error: sotto/adapters needs LibTorch: link sotto::torch
#define torch not_found  // wherever it is on this machine
#include "sotto/adapters/detail/torch_library.hpp"
