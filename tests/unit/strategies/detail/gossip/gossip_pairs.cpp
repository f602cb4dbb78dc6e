#include "sotto/strategies/detail/gossip/gossip_pairs.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/strategies/gossip/mixing/asynchronous_pairs.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using testing::number_model;

namespace {

const gossip in_pairs{sgd{.learning_rate = 0.5}, topologies::ring{}, no_control{}, none{},
                      mixing::asynchronous_pairs{}};

/// Rank 0 takes steps, and rank 1 answers each of its offers by so many floats of 0, which leave
/// the parameters as they are.
void answered_by(const std::vector<std::size_t>& lengths) {
    run_in_process(2, [&](in_process& transport) {
        number_model model;
        const auto n = static_cast<std::size_t>(model.layout().size());
        std::vector<float> values(n, 1.0f);
        if (transport.rank() == 0) {
            auto pairs = in_pairs.bind(model.layout(), transport);
            const number_model::batch_type batch{3};
            for (std::size_t step = 0; step < lengths.size(); ++step) {
                const std::vector<float> before = values;
                detail::round_input<number_model> job{model, batch, 1,
                                                      static_cast<std::int64_t>(step)};
                const auto try_step = [&] { (void)pairs.round(job, std::span<float>(values)); };
                if (lengths[step] == n) {
                    try_step();
                    continue;
                }
                CHECK_THROWS_WITH_AS(
                    try_step(),
                    ("gossip: rank 1 answers " + std::to_string(4 * lengths[step]) +
                     " bytes where rank 0 has " + std::to_string(4 * n))
                        .c_str(),
                    mismatch);
                CHECK(values == before);
            }
        } else {
            std::vector<float> answer(n);
            const tag offers{channels::gossip, 8, 0}, answers{channels::gossip, 9, 0};
            const auto offered = std::as_writable_bytes(std::span(values));
            for (const std::size_t length : lengths) {
                (void)transport.wait(transport.receive(0, offers, offered));
                (void)transport.wait(transport.send(
                    0, answers, std::as_bytes(std::span<const float>(answer).first(length))));
            }
            // Rank 0 ends before it.
            CHECK_THROWS_AS((void)transport.wait(transport.receive(0, offers, offered)),
                            peer_failure);
        }
    });
}

}  // namespace

TEST_CASE("an answer of another length than the offer is refused, and moves nothing") {
    const auto n = static_cast<std::size_t>(number_model{}.layout().size());
    answered_by({n, n});
    answered_by({n, n - 1});
    answered_by({0});
}
