#pragma once

// What tests of saved models have in common: a model with buffers, and a file of it.

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "sotto/checkpoint/saved_model.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/sequential.hpp"
#include "sotto/nn/batch_norm.hpp"
#include "sotto/nn/chain.hpp"
#include "sotto/nn/dense.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/save_model.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

namespace sotto::testing {

inline const auto sixty_digits = data::digits(60, random_stream{3});

inline auto normed(std::int64_t hidden = 6) {
    return models::sequential{nn::shape{784, 1, 1},
                              nn::chain{nn::dense{hidden}, nn::batch_norm{}, nn::dense{10}}};
}

inline std::vector<float> copy_of(std::span<const float> values) {
    return {values.begin(), values.end()};
}

/// A model that was trained for some steps by two ranks; what it had learnt.
inline saved_model make_file(const std::filesystem::path& file, std::int64_t trained = 4) {
    saved_model held;
    run_in_process(2, [&](auto& transport) {
        auto model = normed();
        trainer trainer{model, all_reduce{sgd{.learning_rate = 0.1}}, transport, {.seed = 5}};
        trainer.fit(sixty_digits, steps{trained});
        CHECK(save_model(trainer, file) == file);
        trainer.with_evaluated([&](auto& whole, std::span<const float> parameters, auto&) {
            if (transport.rank() != 0) return;
            held.parameters = copy_of(parameters);
            held.buffers = copy_of(whole.buffers());
        });
    });
    return held;
}

}  // namespace sotto::testing
