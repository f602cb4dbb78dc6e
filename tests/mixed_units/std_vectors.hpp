#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/kernels/select_top_k.hpp"

// What these tests do not cover: functions of the standard library, and of sotto's errors, that
// both units compile. Of std::vector<float>::resize or std::to_string there is one in a program,
// and the linker takes it from whichever unit comes first: whoever mixes units must expect that of
// the standard library, with sotto or without. So that it hides nothing here, vectors are compiled
// once, for every processor, in std_vectors.cpp.
extern template class std::vector<std::byte>;
extern template class std::vector<float>;
extern template class std::vector<std::uint32_t>;
extern template class std::vector<std::uint64_t>;
extern template class std::vector<sotto::kernels::selection>;
