// sotto's kernels that go through their arrays once, by name, as streams.py calls them: built
// without flags for any processor, as users build.

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/kernels/detail/update/averaging.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/quantise/half.hpp"
#include "sotto/kernels/detail/quantise/one_bit.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/quantise/signs.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/kernels/detail/quantise/ternary.hpp"
#include "sotto/kernels/detail/update/updates.hpp"
#include "timing.hpp"

namespace kernels = sotto::kernels;

namespace {

/// The arrays of a call, of n floats unless said.
class operands {
public:
    operands(void* const* arrays, std::int64_t n, std::int64_t turn)
        : arrays_(arrays), n_(static_cast<std::size_t>(n)), turn_(static_cast<std::size_t>(turn)) {}

    std::size_t size() const { return n_; }
    /// Which call it is: what there are several of takes turns.
    std::size_t turn() const { return turn_; }
    std::span<float> floats(std::size_t which) const { return of<float>(which, n_); }
    std::span<const float> inputs(std::size_t which) const { return of<float>(which, n_); }
    std::span<std::uint16_t> halves(std::size_t which) const {
        return of<std::uint16_t>(which, n_);
    }
    template <class T>
    std::span<T> of(std::size_t which, std::size_t count) const {
        return {static_cast<T*>(arrays_[which]), count};
    }

private:
    void* const* arrays_;
    std::size_t n_, turn_;
};

constexpr float rate = 0.01f, decay = 0.0001f, momentum = 0.9f;
constexpr sotto::detail::kernels::adamw_step adamw{.rate = rate,
                                                   .decay = decay,
                                                   .beta1 = 0.9,
                                                   .beta2 = 0.999,
                                                   .epsilon = 1e-8f,
                                                   .correction1 = 1.25f,
                                                   .correction2 = 1.5f};
constexpr sotto::detail::kernels::adaptive_compensation adaptive{};
constexpr std::size_t block = 4096;

template <int Bits, sotto::detail::kernels::rounding Rounding>
double quantise(const operands& to) {
    sotto::detail::kernels::quantise<Bits>(
        {.block = block, .round = Rounding, .seed = 7}, to.inputs(0),
        to.of<float>(1, sotto::detail::kernels::blocks_of(to.size(), block)),
        to.of<std::uint8_t>(2, sotto::detail::kernels::bytes_of_codes(to.size(), Bits)));
    return 0.0;
}

template <int Bits>
double quantise_with_feedback(const operands& to) {
    sotto::detail::kernels::quantise_with_feedback<Bits>(
        {.block = block}, to.inputs(0), to.floats(1),
        to.of<float>(2, sotto::detail::kernels::blocks_of(to.size(), block)),
        to.of<std::uint8_t>(3, sotto::detail::kernels::bytes_of_codes(to.size(), Bits)));
    return 0.0;
}

template <int Bits, bool Add>
double dequantise(const operands& to) {
    const auto scales = to.of<float>(1, sotto::detail::kernels::blocks_of(to.size(), block));
    const auto codes =
        to.of<std::uint8_t>(2, sotto::detail::kernels::bytes_of_codes(to.size(), Bits));
    if constexpr (Add)
        sotto::detail::kernels::dequantise_add<Bits>(block, scales, codes, to.floats(0));
    else
        sotto::detail::kernels::dequantise<Bits>(block, scales, codes, to.floats(0));
    return 0.0;
}

double ternarise(const operands& to) {
    sotto::detail::kernels::ternarise(
        {.block = block, .seed = 7}, to.inputs(0),
        to.of<float>(1, sotto::detail::kernels::blocks_of(to.size(), block)),
        to.of<std::uint8_t>(2, sotto::detail::kernels::bytes_of_codes(to.size(), 2)));
    return 0.0;
}

std::span<std::uint8_t> signs_of(const operands& to, std::size_t which) {
    return to.of<std::uint8_t>(which, sotto::detail::kernels::bytes_of_codes(to.size(), 1));
}

std::span<sotto::detail::kernels::sign_means> means_of(const operands& to, std::size_t which) {
    return to.of<sotto::detail::kernels::sign_means>(
        which, sotto::detail::kernels::blocks_of(to.size(), block));
}

template <std::size_t Neighbours>
double average(const operands& to) {
    sotto::detail::kernels::weighted_values others[Neighbours];
    constexpr float weight = 1.0f / (Neighbours + 1);
    for (std::size_t i = 0; i < Neighbours; ++i) others[i] = {weight, to.inputs(i + 1)};
    sotto::detail::kernels::average(weight, to.floats(0), others);
    return 0.0;
}

/// The next so many of 56 messages of a thousandth of n each, as streams.py makes them.
template <std::size_t Messages>
double add_sparse(const operands& to) {
    constexpr std::size_t all = 56;
    static_assert(all % Messages == 0);
    sotto::detail::kernels::sparse_values messages[Messages];
    const std::size_t k = to.size() / 1000, first = to.turn() * Messages % all;
    const auto indices = to.of<const std::uint32_t>(1, all * k);
    const auto values = to.of<const float>(2, all * k);
    for (std::size_t i = 0; i < Messages; ++i)
        messages[i] = {indices.subspan((first + i) * k, k), values.subspan((first + i) * k, k)};
    kernels::add_sparse(to.floats(0), messages);
    return 0.0;
}

struct stream {
    std::string_view name;
    double (*run)(const operands& to);
};

constexpr stream streams[] = {
    {"fp32 to fp16",
     [](const operands& to) {
         return sotto::detail::kernels::round_to_fp16(to.inputs(0), to.halves(1)), 0.0;
     }},
    {"fp32 to bf16",
     [](const operands& to) {
         return sotto::detail::kernels::round_to_bf16(to.inputs(0), to.halves(1)), 0.0;
     }},
    {"fp16 to fp32",
     [](const operands& to) {
         return sotto::detail::kernels::widen_from_fp16(to.halves(1), to.floats(0)), 0.0;
     }},
    {"bf16 to fp32",
     [](const operands& to) {
         return sotto::detail::kernels::widen_from_bf16(to.halves(1), to.floats(0)), 0.0;
     }},
    {"8 bits", quantise<8, sotto::detail::kernels::rounding::nearest>},
    {"4 bits", quantise<4, sotto::detail::kernels::rounding::nearest>},
    {"2 bits", quantise<2, sotto::detail::kernels::rounding::nearest>},
    {"8 bits, stochastic", quantise<8, sotto::detail::kernels::rounding::stochastic>},
    {"4 bits, stochastic", quantise<4, sotto::detail::kernels::rounding::stochastic>},
    {"2 bits, stochastic", quantise<2, sotto::detail::kernels::rounding::stochastic>},
    {"8 bits, error feedback", quantise_with_feedback<8>},
    {"4 bits, error feedback", quantise_with_feedback<4>},
    {"2 bits, error feedback", quantise_with_feedback<2>},
    {"from 8 bits", dequantise<8, false>},
    {"from 4 bits", dequantise<4, false>},
    {"from 2 bits", dequantise<2, false>},
    {"from 8 bits, added", dequantise<8, true>},
    {"from 4 bits, added", dequantise<4, true>},
    {"from 2 bits, added", dequantise<2, true>},
    {"ternary", ternarise},
    {"signs",
     [](const operands& to) {
         return sotto::detail::kernels::pack_signs(to.inputs(0), signs_of(to, 1)), 0.0;
     }},
    {"from signs",
     [](const operands& to) {
         return sotto::detail::kernels::unpack_signs(signs_of(to, 1), 0.5f, to.floats(0)), 0.0;
     }},
    {"from signs, added",
     [](const operands& to) {
         return sotto::detail::kernels::unpack_signs_add(signs_of(to, 1), 0.5f, to.floats(0)), 0.0;
     }},
    {"1 bit, error feedback",
     [](const operands& to) {
         sotto::detail::kernels::quantise_one_bit(block, to.inputs(0), to.floats(1),
                                                  means_of(to, 2), signs_of(to, 3));
         return 0.0;
     }},
    {"from 1 bit",
     [](const operands& to) {
         sotto::detail::kernels::dequantise_one_bit(block, means_of(to, 1), signs_of(to, 2),
                                                    to.floats(0));
         return 0.0;
     }},
    {"from 1 bit, added",
     [](const operands& to) {
         sotto::detail::kernels::dequantise_one_bit_add(block, means_of(to, 1), signs_of(to, 2),
                                                        to.floats(0));
         return 0.0;
     }},
    {"SGD",
     [](const operands& to) {
         return sotto::detail::kernels::descend(rate, to.floats(0), to.inputs(1)), 0.0;
     }},
    {"momentum SGD",
     [](const operands& to) {
         sotto::detail::kernels::descend_with_momentum(rate, decay, momentum, false, to.floats(0),
                                                       to.inputs(2), to.floats(1));
         return 0.0;
     }},
    {"AdamW",
     [](const operands& to) {
         sotto::detail::kernels::descend_adamw(adamw, to.floats(0), to.inputs(3), to.floats(1),
                                               to.floats(2));
         return 0.0;
     }},
    {"DC-ASGD-c",
     [](const operands& to) {
         sotto::detail::kernels::descend_compensated(rate, 0.04f, to.floats(0), to.inputs(1),
                                                     to.inputs(2));
         return 0.0;
     }},
    {"DC-ASGD-a",
     [](const operands& to) {
         sotto::detail::kernels::descend_compensated(rate, adaptive, to.floats(0), to.inputs(2),
                                                     to.inputs(3), to.floats(1));
         return 0.0;
     }},
    {"average with 1", average<1>},
    {"average with 2", average<2>},
    {"average with 4", average<4>},
    {"1 sparse message", add_sparse<1>},
    {"8 sparse messages", add_sparse<8>},
    {"consensus distance",
     [](const operands& to) {
         return sotto::detail::kernels::squared_distance(to.inputs(0), to.inputs(1));
     }},
    {"sum of squares",
     [](const operands& to) { return sotto::detail::kernels::sum_of_squares(to.inputs(0)); }},
    {"scale and sum of squares",
     [](const operands& to) {
         return sotto::detail::kernels::scale_and_sum_squares(to.floats(0), -1.0f);
     }},
    {"largest magnitude",
     [](const operands& to) {
         return double{sotto::detail::kernels::max_magnitude(to.inputs(0))};
     }},
    {"finite check",
     [](const operands& to) {
         return static_cast<double>(sotto::detail::kernels::first_non_finite(to.inputs(0)));
     }},
};

}  // namespace

extern "C" {

/// Names one behind the other, each in a line.
const char* stream_names() {
    static const std::string names = [] {
        std::string all;
        for (const stream& known : streams) all += std::string(known.name) + '\n';
        return all;
    }();
    return names.c_str();
}

/// `result` becomes what the kernel returns, if anything; `turn` is which call the first one is.
double stream_run(const char* name, void* const* arrays, std::int64_t n, std::int64_t turn,
                  double* result, std::int64_t repeats) {
    const stream* asked = nullptr;
    for (const stream& known : streams)
        if (known.name == name) asked = &known;
    return bench::seconds_of(
        repeats,
        [&] {
            if (asked == nullptr) throw std::runtime_error(std::string("no stream ") + name);
        },
        [&] { *result = asked->run(operands(arrays, n, turn++)); });
}

}  // extern "C"
