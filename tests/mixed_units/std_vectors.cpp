#include "std_vectors.hpp"

template class std::vector<std::byte>;
template class std::vector<float>;
template class std::vector<std::uint32_t>;
template class std::vector<std::uint64_t>;
template class std::vector<sotto::kernels::selection>;
