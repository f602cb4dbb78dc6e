// expect-error: the second policy must be a compressor: it needs bind\(const layout&\) const
// Options are values that many ranks bind at once: binding may not change them.
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"

struct counts_bindings {
    int bindings = 0;
    struct state {
        void encode(const sotto::tensor&, std::span<const float>, sotto::bytes&);
        void decode_add(const sotto::tensor&, sotto::byte_view, std::span<float>);
    };
    state bind(const sotto::layout&);
};

sotto::all_reduce<sotto::sgd, counts_bindings> misuse;
