#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/topologies/topology.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/quarters.hpp"

namespace sotto::testing {

struct contest {
    int ranks = 4;
    std::int64_t rounds = 10;
    float apart = 1.0f;
    float away = 0.0f;
    std::int64_t size = 12;
    float noise = 0.0f;
    float pull = 1.0f;
    int kinds = 3;  // of places, that are once, twice, .. as far away
};

/// Every rank pulls towards a place of its own: f_i = 1/2 ||x - a_i||^2. Noise on request.
class tug_of_war {
public:
    using batch_type = numbered::batch_type;

    tug_of_war(int rank, const contest& of)
        : rank_(rank), of_(of), random_(17u + static_cast<unsigned>(rank)) {
        tensors_.add("place", {of.size / 2, 2});
        tensors_.add("shift", {of.size / 2}, tensor_kind::bias);
    }
    const sotto::layout& layout() const noexcept { return tensors_; }
    void initialise(std::span<float> x, random_stream) const { std::ranges::fill(x, 0.0f); }
    double gradient(std::span<const float> x, const batch_type&, std::span<float> out,
                    auto&& on_ready) {
        double loss = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            out[i] = of_.pull * (x[i] - place(i));
            if (of_.noise > 0.0f) out[i] += of_.noise * random_.normal();
            loss += 0.5 * double{out[i]} * out[i];
        }
        on_ready(tensors_[1]);
        on_ready(tensors_[0]);
        return loss;
    }
    float place(std::size_t i) const noexcept {
        const int times = 1 + static_cast<int>(i) % of_.kinds;
        return of_.away + of_.apart * static_cast<float>(rank_ * times);
    }
    double loss(std::span<const float> x, const batch_type&) const { return x[0]; }

private:
    int rank_;
    contest of_;
    random_stream random_;
    sotto::layout tensors_;
};

struct tug {
    std::vector<std::vector<float>> x;
    std::vector<detail::consensus_report> last;
    std::vector<double> squares;  // of the exact distance, step by step

    double squared_distance() const {
        double sum = 0.0;
        for (std::size_t i = 0; i < x.front().size(); ++i) {
            double m = 0.0;
            for (const auto& v : x) m += v[i] / static_cast<double>(x.size());
            for (const auto& v : x) sum += (v[i] - m) * (v[i] - m);
        }
        return sum / static_cast<double>(x.size());
    }
};

template <class Strategy>
tug tug_by(const Strategy& strategy, const contest& of) {
    tug left;
    left.x.resize(static_cast<std::size_t>(of.ranks));
    left.last.resize(static_cast<std::size_t>(of.ranks));
    run_in_process(of.ranks, [&](auto& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        tug_of_war model(transport.rank(), of);
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        trainer.fit(numbered{of.ranks}, epochs{of.rounds}, [&](const step_report& step) {
            left.last[me] = step.round.consensus;
            left.last[me].squared_changes = left.last[me].squared_distances = {};
            if (me == 0 && !std::isnan(step.round.consensus.distance))
                left.squares.push_back(step.round.consensus.distance *
                                       step.round.consensus.distance);
        });
        left.x[me].assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return left;
}

}  // namespace sotto::testing
