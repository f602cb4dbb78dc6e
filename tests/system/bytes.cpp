// What Deep Gradient Compression saves on a model of a million weights, as counted on the way.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"

using namespace sotto;

namespace {

constexpr int workers = 4;
constexpr std::int64_t batch = 16, steps_an_epoch = 8, epochs_of_warm_up = 1;

struct bytes_of_a_step {
    double weights_dense = 0, vectors_dense = 0;      // the gradient as floats
    double weights_message = 0, vectors_message = 0;  // what it became
    double weights_wire = 0, vectors_wire = 0;        // sent by one worker, by the meter
};

/// Trains for one epoch of warm-up and two more; what one step of those cost rank 0 on average.
template <class Strategy>
bytes_of_a_step measure(const Strategy& strategy, bool gathers) {
    const auto digits = data::digits(workers * batch * steps_an_epoch, random_stream{1});
    bytes_of_a_step found;
    run_in_process(workers, [&](in_process& endpoint) {
        metered<in_process> transport(endpoint);
        models::mlp model{784, 1024, 256, 10};
        REQUIRE(model.layout().size() > 1'000'000);
        trainer trainer{model, strategy, transport, {.batch_size = batch}};
        trainer.fit(digits, epochs{epochs_of_warm_up});
        const auto sums = transport.on(channels::sums), messages = transport.on(channels::messages);
        bytes_of_a_step total;
        const auto count = [&](const step_report& step) {
            for (const tensor& t : model.layout()) {
                const auto size = static_cast<double>(
                    step.round.tensor_message_bytes[static_cast<std::size_t>(t.index)]);
                (t.is_vector() ? total.vectors_message : total.weights_message) += size;
                (t.is_vector() ? total.vectors_dense : total.weights_dense) +=
                    4.0 * static_cast<double>(t.size);
            }
        };
        trainer.fit(digits, epochs{2}, count);
        const auto through = [&](std::uint32_t channel, const traffic& before) {
            return static_cast<double>(transport.on(channel).bytes_sent - before.bytes_sent);
        };
        const double summed = through(channels::sums, sums),
                     gathered = through(channels::messages, messages);
        // Vectors are summed; weights are too, unless they are gathered.
        total.weights_wire = gathers ? gathered : summed;
        total.vectors_wire = gathers ? summed : 0.0;
        if (transport.rank() != 0) return;
        found = total;
        for (double* x : {&found.weights_dense, &found.vectors_dense, &found.weights_message,
                          &found.vectors_message, &found.weights_wire, &found.vectors_wire})
            *x /= 2.0 * steps_an_epoch;
    });
    return found;
}

}  // namespace

TEST_CASE("after warm-up a worker's message is a thousandth of its gradient, headers included") {
    const auto dense = measure(
        all_reduce{momentum_sgd{.learning_rate = 0.05}, none{}, collectives::ring{}}, false);
    // A ring all-reduce sends 2 (N - 1) / N of the gradient, of all tensors together here.
    const double ring = 2.0 * (workers - 1) / workers;
    CHECK(dense.weights_wire ==
          doctest::Approx(ring * (dense.weights_dense + dense.vectors_dense)).epsilon(1e-4));
    const double dense_wire = ring * dense.weights_dense;

    struct expectation {
        wire::value_format values;
        double message, wire;
    };
    for (const auto& [values, message, on_wire] :
         {expectation{wire::value_format::fp16, 1000.0, 500.0},
          expectation{wire::value_format::fp32, 700.0, 350.0}}) {
        const auto sent =
            measure(all_reduce{sgd{.learning_rate = 0.05}, dgc{.density = 0.001,
                                                               .momentum = 0.9,
                                                               .warm_up_epochs = epochs_of_warm_up,
                                                               .values = values}},
                    true);
        const std::string format(wire::name_of(values));
        MESSAGE(format << ": weights of " << sent.weights_dense << " bytes become a message of "
                       << sent.weights_message << ", " << sent.weights_dense / sent.weights_message
                       << " times fewer; vectors of " << sent.vectors_dense << " bytes stay "
                       << sent.vectors_message << "; all together "
                       << (sent.weights_dense + sent.vectors_dense) /
                              (sent.weights_message + sent.vectors_message)
                       << " times fewer");
        MESSAGE(format << ": on the wire a worker sends " << sent.weights_wire
                       << " bytes for weights where the ring of "
                       << "whole gradients sends " << dense_wire << ", "
                       << dense_wire / sent.weights_wire << " times fewer: each message goes to "
                       << workers - 1 << " others, a ring sends " << ring
                       << " gradients; vectors take " << sent.vectors_wire);
        CHECK(sent.weights_dense / sent.weights_message >= message);
        CHECK(dense_wire / sent.weights_wire >= on_wire);
        CHECK(sent.weights_wire ==
              doctest::Approx((workers - 1) * sent.weights_message).epsilon(0.02));
        CHECK(sent.vectors_message == sent.vectors_dense);
    }
}
