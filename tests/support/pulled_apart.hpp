#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/numbers.hpp"

namespace sotto::testing {

/// Every rank pulls with a force of its own that never changes: what all ranks' mean does is known
/// whatever they mix.
///   math    gradient = c_rank, of small integers
class pulling_model {
public:
    using batch_type = numbered::batch_type;

    explicit pulling_model(int rank, std::int64_t size = 200) : rank_(rank) {
        tensors_.add("force", {size, 2});
        tensors_.add("shift", {size}, tensor_kind::bias);
    }
    const sotto::layout& layout() const noexcept { return tensors_; }
    void initialise(std::span<float> x, random_stream) const { std::ranges::fill(x, 0.0f); }
    double gradient(std::span<const float>, const batch_type&, std::span<float> out,
                    auto&& on_ready) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = force(rank_, i);
        on_ready(tensors_[1]);
        on_ready(tensors_[0]);
        return 0.0;
    }
    double loss(std::span<const float>, const batch_type&) const { return 0.0; }
    static float force(int rank, std::size_t i) noexcept {
        return static_cast<float>(number_model::value(rank, i));
    }

private:
    int rank_;
    sotto::layout tensors_;
};

/// By how much, at most, the sum over all ranks but some moves in a step otherwise than by their
/// own forces; `moved(rank, i)` is what parameter i of `size` did.
template <class Moved>
double loses_of_sum(int ranks, std::size_t size, double rate, const std::set<int>& without,
                    Moved moved) {
    double most = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
        double sum = 0.0;
        for (int rank = 0; rank < ranks; ++rank)
            if (!without.contains(rank))
                sum +=
                    moved(static_cast<std::size_t>(rank), i) + rate * pulling_model::force(rank, i);
        most = std::max(most, std::abs(sum));
    }
    return most;
}

/// What a run was: of each rank its parameters before its first step and after each, the rounds of
/// mixing of each step, whom it lost, and when each of its calls began and ended.
struct pulled {
    detail::simulated_run run;
    std::vector<std::vector<std::vector<float>>> x;
    std::vector<std::vector<std::int64_t>> rounds;
    std::vector<std::vector<int>> lost;
    /// Where each step's last round was, and whom it mixed with, where ranks may come and go.
    std::vector<std::map<std::pair<std::uint64_t, std::uint32_t>, std::set<int>>> mixed;
    struct call {
        duration began{}, ended{};
    };
    std::vector<std::vector<call>> calls;  // a step, or the end of fit; also what did not return
    std::vector<std::int64_t> queued;      // bytes of one rank that waited for it, at most
    std::vector<std::int64_t> done;        // steps, those before a restart included
    double rate = 0.125;
    std::int64_t steps = 0;  // of each rank

    /// What the longest call of a rank took.
    duration longest(std::size_t rank) const {
        duration most{};
        for (const call& c : calls[rank]) most = std::max(most, c.ended - c.began);
        return most;
    }

    double loses_of_sum(std::int64_t step, const std::set<int>& without) const {
        const auto t = static_cast<std::size_t>(step);
        return testing::loses_of_sum(static_cast<int>(x.size()), x[0][0].size(), rate, without,
                                     [&](std::size_t rank, std::size_t i) {
                                         return double{x[rank][t + 1][i]} - x[rank][t][i];
                                     });
    }

    /// How far from the mean of the others' way a rank's own force alone would lead it.
    double force_apart(int rank) const {
        const auto ranks = static_cast<int>(x.size());
        double squares = 0.0;
        for (std::size_t i = 0; i < x[0][0].size(); ++i) {
            double others = 0.0;
            for (int other = 0; other < ranks; ++other)
                if (other != rank) others += pulling_model::force(other, i);
            const double apart = pulling_model::force(rank, i) - others / (ranks - 1);
            squares += apart * apart;
        }
        return rate * static_cast<double>(steps) * std::sqrt(squares);
    }

    std::string text() const {
        std::string all;
        for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
            all += "\n    rank " + std::to_string(rank) + " after " +
                   std::to_string(x[rank].size()) + " at " +
                   std::to_string(in_seconds(run.ranks[rank].at)) + " s";
            if (!run.ranks[rank].thrown) continue;
            try {
                std::rethrow_exception(run.ranks[rank].thrown);
            } catch (const std::exception& e) {
                all += std::string(": ") + e.what();
            }
        }
        return all;
    }
};

inline double distance_of(std::span<const float> a, std::span<const float> b) {
    double squares = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(squares);
}

/// `around(transport, work)` calls work(transport) on each rank; `listener` hears what happens.
template <class Strategy, class Around>
pulled train_pulled_apart(const Strategy& strategy, int ranks, std::int64_t steps_done,
                          const simulated_options& options, std::int64_t size, Around&& around,
                          std::function<void(const detail::simulated_event&)> listener = {}) {
    pulled all;
    all.steps = steps_done;
    const auto count = static_cast<std::size_t>(ranks);
    all.x.resize(count);
    all.rounds.resize(count);
    all.lost.resize(count);
    all.mixed.resize(count);
    all.calls.resize(count);
    all.queued.resize(count);
    all.done.resize(count);
    const auto work = [&](simulated& transport) {
        const auto me = static_cast<std::size_t>(transport.rank());
        duration began = transport.now().time_since_epoch();
        const auto ended = [&] {
            const duration now = transport.now().time_since_epoch();
            all.calls[me].push_back({std::exchange(began, now), now});
        };
        pulling_model model(transport.rank(), size);
        all.x[me].clear();
        all.rounds[me].clear();
        all.calls[me].clear();
        try {
            trainer trainer{model, strategy, transport, {.batch_size = 1, .seed = 1}};
            const auto keep = [&] {
                all.x[me].emplace_back(trainer.parameters().begin(), trainer.parameters().end());
            };
            keep();
            const fit_report report =
                trainer.fit(numbered{ranks * steps_done}, epochs{1}, [&](const step_report& step) {
                    ended();
                    keep();
                    all.rounds[me].push_back(step.round.consensus.rounds);
                    for (int rank = 0; rank < ranks; ++rank)
                        all.queued[me] = std::max(all.queued[me], transport.queued_bytes(rank));
                    if constexpr (requires { trainer.state().rounds().place(); }) {
                        const auto& last = trainer.state().rounds();
                        auto& with = all.mixed[me][{last.place().step, last.place().round}];
                        with.clear();
                        for (int rank = 0; rank < ranks; ++rank)
                            if (last.mixed_with(rank)) with.insert(rank);
                    }
                });
            all.done[me] = trainer.step();
            for (const detail::rank_loss& loss : report.losses) all.lost[me].push_back(loss.rank);
        } catch (...) {
            ended();
            throw;
        }
        ended();
    };
    all.run = simulate(
        ranks, options, [&](simulated& t) { around(t, work); }, listener);
    return all;
}
template <class Strategy>
pulled train_pulled_apart(const Strategy& strategy, int ranks, std::int64_t steps_done,
                          const simulated_options& options, std::int64_t size = 200) {
    return train_pulled_apart(strategy, ranks, steps_done, options, size,
                              [](simulated& transport, auto& work) { work(transport); });
}

}  // namespace sotto::testing
