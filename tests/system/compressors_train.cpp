// What compressors leave of a model's training: digits are learnt about as well as with whole
// gradients, in as many steps.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/power_sgd.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/terngrad.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

namespace {

struct outcome {
    double loss = 0.0, accuracy = 0.0;
    double bytes_a_step = 0.0;  // of one rank's messages
};

/// Two workers train a perceptron.
template <class Strategy>
outcome learnt(const Strategy& strategy) {
    static const auto digits = data::digits_train_test(3000, 1000);
    outcome found;
    run_in_process(2, [&](in_process& transport) {
        models::mlp model{784, 32, 10};
        trainer trainer{model, strategy, transport, {.batch_size = 25}};
        const auto report = trainer.fit(digits.train, epochs{6}, evaluate_on{digits.test});
        if (transport.rank() != 0) return;
        found = {
            report.evaluated->loss, report.evaluated->accuracy,
            static_cast<double>(report.total.message_bytes) / static_cast<double>(report.steps)};
    });
    return found;
}

}  // namespace

TEST_CASE("with every compressor digits are learnt about as well as with whole gradients") {
    const auto check = [](const std::string& name, const auto& optimizer, const outcome& whole,
                          const auto& compressor, double fewer) {
        const outcome found = learnt(all_reduce{optimizer, compressor});
        MESSAGE(name << ": loss " << found.loss << ", accuracy " << found.accuracy << ", "
                     << whole.bytes_a_step / found.bytes_a_step << " times fewer bytes");
        CHECK(found.accuracy > whole.accuracy - 0.03);
        CHECK(whole.bytes_a_step / found.bytes_a_step > fewer);
    };
    const auto whole_by = [](const auto& optimizer) {
        const outcome whole = learnt(all_reduce{optimizer});
        MESSAGE("whole gradients: loss " << whole.loss << ", accuracy " << whole.accuracy);
        CHECK(whole.accuracy > 0.8);
        return whole;
    };

    const momentum_sgd with_momentum{.learning_rate = 0.05};
    const outcome whole_with_momentum = whole_by(with_momentum);
    const auto by_momentum = [&](const std::string& name, const auto& compressor, double fewer) {
        check(name, with_momentum, whole_with_momentum, compressor, fewer);
    };
    by_momentum("PowerSGD of rank 2", power_sgd{.rank = 2}, 14.0);
    by_momentum("PowerSGD of rank 4", power_sgd{.rank = 4}, 7.0);
    by_momentum("QSGD, 8 bits", qsgd{.bits = 8}, 3.9);
    by_momentum("QSGD, 4 bits by the maximum", qsgd{.bits = 4, .norm = qsgd::maximum}, 7.7);

    const sgd plain{.learning_rate = 0.2};
    const outcome whole_plain = whole_by(plain);
    const auto by_sgd = [&](const std::string& name, const auto& compressor, double fewer) {
        check(name, plain, whole_plain, compressor, fewer);
    };
    by_sgd("signs with error feedback", error_feedback{scaled_sign{}}, 30.0);
    by_sgd("TernGrad", terngrad{}, 15.0);
    by_sgd("EF21 by top-k, with momentum", ef21{top_k{.density = 0.05}, 0.5}, 17.0);
    by_sgd("EF21 by signs", ef21{scaled_sign{}}, 30.0);
}
