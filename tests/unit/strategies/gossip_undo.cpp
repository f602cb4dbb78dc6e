// A step that fails between its rounds of mixing leaves nothing behind.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "sotto/compressors/random_k.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/all_gossip_policies.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"

using namespace sotto;
using testing::number_model, testing::numbered, testing::snapshot;

namespace {

/// At least three rounds a step by another controller, of which one rank fails in a later step,
/// once it and perhaps the others have seen two.
template <class Inner>
struct fails_between_rounds {
    Inner inner{};
    int failures = 1000;

    static constexpr bool measures_exactly = detail::controlling::measures_exactly<Inner>;
    static constexpr bool estimates = detail::controlling::estimates<Inner>;
    static constexpr bool takes_means = detail::controlling::takes_means<Inner>;
    struct state {
        controller_state<Inner> by;
        int failures = 0;

        consensus_reading::measure needs(const round_info& where) const { return by.needs(where); }
        bool wants_mean(const round_info& where) const {
            return detail::controlling::wants_mean(by, where);
        }
        bool wants_another(const consensus_reading& now) {
            const bool more = by.wants_another(now);
            if (now.where.step == 4 && now.rounds == 2 && now.where.rank == 0 && failures > 0) {
                --failures;
                throw std::runtime_error("between rounds");
            }
            return more || now.rounds < 3;
        }
        void visit(auto&& field) { detail::controlling::visit(by, field); }
    };
    state bind() const { return {inner.bind(), failures}; }
    void describe(auto&&) const {}
};

template <class Mixing, class Control>
auto gossip_of(const Mixing& method, const Control& control) {
    const topologies::lazy links{topologies::ring{}};
    const sgd by{.learning_rate = 0.0625};
    if constexpr (detail::mixing::by_copies<Mixing>)
        return gossip{by, links, control, random_k{.density = 0.5}, method};
    else
        return gossip{by, links, control, none{}, method};
}

/// On every rank the state and the parameters are, when an error comes, those of its last step.
void leaves_nothing(const auto& strategy) {
    run_in_process(5, [&](auto& transport) {
        number_model model;
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        snapshot after(trainer.state());
        std::vector<float> parameters(trainer.parameters().begin(), trainer.parameters().end());
        std::int64_t steps = 0;
        CHECK_THROWS(trainer.fit(numbered{200}, epochs{1}, [&](const step_report& step) {
            after = snapshot(trainer.state());
            parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
            steps = step.step;
        }));
        CHECK(steps >= 4);  // a rank that is far off may have ended the fifth
        CHECK(snapshot(trainer.state()) == after);
        CHECK(std::ranges::equal(trainer.parameters(), parameters));
    });
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("by every method a step that fails between rounds leaves nothing", M,
                          undoes_a_method) {
    if constexpr (!detail::mixing::in_pairs<M>)
        leaves_nothing(gossip_of(testing::sensible<M>::options(),
                                 fails_between_rounds<fixed_rounds>{{.rounds = 3}}));
}
TEST_CASE_TEMPLATE_APPLY(undoes_a_method, testing::every_mixing_method);

TEST_CASE_TEMPLATE_DEFINE("under every controller a step that fails between rounds leaves nothing",
                          C, undoes_a_controller) {
    leaves_nothing(gossip_of(mixing::adapt_then_combine{},
                             fails_between_rounds<C>{testing::sensible<C>::options()}));
}
TEST_CASE_TEMPLATE_APPLY(undoes_a_controller, testing::every_controller);

TEST_CASE_TEMPLATE_DEFINE("a rank that is alone tries again, and ends as if nothing had been", M,
                          tries_again) {
    if constexpr (!detail::mixing::in_pairs<M>) {
        std::vector<std::vector<float>> ends;
        for (const bool fails : {true, false})
            run_in_process(1, [&](auto& transport) {
                number_model model;
                // Without the failure it would have three rounds, too.
                const fails_between_rounds<fixed_rounds> broken{{.rounds = 3}, fails ? 1 : 0};
                trainer trainer{model,
                                gossip_of(testing::sensible<M>::options(), broken),
                                transport,
                                {.batch_size = 4}};
                if (fails) CHECK_THROWS_AS(trainer.fit(numbered{40}, steps{6}), std::runtime_error);
                trainer.fit(numbered{40}, steps{fails ? 2 : 6});
                ends.emplace_back(trainer.parameters().begin(), trainer.parameters().end());
            });
        CHECK(ends[0] == ends[1]);
    }
}
TEST_CASE_TEMPLATE_APPLY(tries_again, testing::every_mixing_method);
