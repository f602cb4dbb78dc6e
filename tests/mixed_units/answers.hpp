#pragma once

#include <cstddef>
#include <cstdint>

// What main.cpp and the two units share: plain data, and not one function that a unit would compile
// for itself.

/// Numbers that main.cpp made.
struct questions {
    static constexpr std::size_t n = 5003;
    const float* gradient;
    const float* weights;
};

/// Digests of what one unit computed from them.
struct answers {
    static constexpr std::size_t count = 27;
    static constexpr const char* names[count] = {"select_top_k",
                                                 "descend",
                                                 "descend_adamw",
                                                 "accumulate_velocity",
                                                 "to fp16",
                                                 "from bf16",
                                                 "tanh",
                                                 "encode_sparse",
                                                 "decode_sparse",
                                                 "arithmetic",
                                                 "reductions",
                                                 "average",
                                                 "add_sparse and descend_at",
                                                 "descend_compensated",
                                                 "elementwise and sigmoid",
                                                 "lstm",
                                                 "quantise<8>",
                                                 "quantise<8>, stochastic",
                                                 "quantise<4>",
                                                 "quantise<4>, stochastic",
                                                 "quantise<2>",
                                                 "quantise<2>, stochastic",
                                                 "ternarise",
                                                 "signs",
                                                 "one bit",
                                                 "dgc_step",
                                                 "select_top_k of many"};
    std::uint64_t digests[count];
    bool decoded_what_was_selected;
};

answers answers_of_plain_unit(const questions& asked);
answers answers_of_v4_unit(const questions& asked);
