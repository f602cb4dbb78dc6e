#include "use.hpp"

std::uint64_t use_widely(std::uint64_t seed) {
    return use(seed);
}
