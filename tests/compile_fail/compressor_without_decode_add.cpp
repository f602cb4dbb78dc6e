// expect-error: all_reduce: the compressor's state needs decode_add\(tensor, byte_view message
#include <span>

#include "sotto/strategies/all_reduce.hpp"

struct without_decode_add {
    struct state {
        void encode(const sotto::tensor&, std::span<const float>, sotto::bytes&);
    };
    state bind(const sotto::layout&) const;
};

const sotto::all_reduce misuse{sotto::sgd{}, without_decode_add{}};
