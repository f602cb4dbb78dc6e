#include "use.hpp"

std::uint64_t use_strictly(std::uint64_t seed) {
    return use(seed);
}
