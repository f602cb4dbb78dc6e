// expect-error: the second policy must be a memory: .*and visit\(field, summed\), which shows what
#include "sotto/compressors/top_k.hpp"

struct forgetful {
    static constexpr bool holds_momentum = false;
    struct state {
        std::span<const float> accumulate(const sotto::tensor&, std::span<const float>, float);
        void take(const sotto::tensor&, std::span<const std::uint32_t>, std::span<const float>,
                  double);
        void after_sum(const sotto::tensor&, std::span<float>);
        void commit() noexcept;
        void rollback() noexcept;
    };
    state bind_memory(const sotto::layout&) const;
};

const sotto::sparsified misuse{sotto::top_k{}, forgetful{}};
