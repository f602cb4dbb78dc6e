// expect-error: sotto needs C\+\+20: compile with -std=c\+\+20 or later \(g\+\+ 12, clang 14\)
// flags: -std=c++17
#include "sotto/kernels/select_top_k.hpp"
