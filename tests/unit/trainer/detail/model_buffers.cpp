#include "sotto/trainer/detail/model_buffers.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"

using namespace sotto;

namespace {

/// Keeps two values: how many gradients it computed, and one that is given to it.
class counting_model : public testing::number_model {
public:
    counting_model() { names_.add("kept", {2}); }

    const sotto::layout& buffer_layout() const noexcept { return names_; }
    std::span<float> buffers() noexcept { return kept_; }
    void reset_buffers() noexcept { kept_.assign(2, 0.0f); }

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        ++kept_[0];
        return number_model::gradient(parameters, batch, out, on_ready);
    }
    double loss(std::span<const float>, const batch_type&) {
        seen = kept_;
        return 0.0;
    }

    std::vector<float> seen;

private:
    sotto::layout names_;
    std::vector<float> kept_{7.0f, 7.0f};
};
static_assert(detail::with_buffers<counting_model> && !detail::with_buffers<testing::number_model>);

}  // namespace

TEST_CASE("an evaluation sees the mean of the ranks' buffers, and leaves each its own") {
    for (const int world : {1, 4})
        run_in_process(world, [&](in_process& transport) {
            counting_model model;
            trainer trainer{model, all_reduce{}, transport, {.batch_size = 2}};
            CHECK(model.buffers()[1] == 0.0f);  // from the start, whatever the model had
            const auto own = static_cast<float>(2 * transport.rank());
            model.buffers()[1] = own;
            trainer.fit(testing::numbered{24}, epochs{1});
            const auto rounds = static_cast<float>(trainer.step());
            for (int time = 0; time < 2; ++time) {
                trainer.evaluate(testing::numbered{8});
                CHECK(model.seen == std::vector<float>{rounds, static_cast<float>(world - 1)});
                CHECK(model.buffers()[0] == rounds);
                CHECK(model.buffers()[1] == own);
            }
        });
}

TEST_CASE("a round that fails leaves no trace in buffers") {
    run_in_process(1, [](in_process& transport) {
        counting_model model;
        trainer trainer{model, all_reduce{}, transport, {.batch_size = 2}};
        trainer.fit(testing::numbered{8}, steps{3});
        model.on_progress = [](int) { throw std::runtime_error("planned"); };
        CHECK_THROWS_WITH(trainer.fit(testing::numbered{8}, steps{1}), "planned");
        CHECK(model.buffers()[0] == 3.0f);
    });
}
