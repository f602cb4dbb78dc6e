// expect-error: all_reduce: the compressor's state needs encode\(tensor, span<const float> gradient
#include <span>

#include "sotto/strategies/all_reduce.hpp"

struct without_encode {
    struct state {
        void decode_add(const sotto::tensor&, sotto::byte_view, std::span<float>);
    };
    state bind(const sotto::layout&) const;
};

const sotto::all_reduce misuse{sotto::sgd{}, without_encode{}};
