#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/trainer/trainer.hpp"
#include "support/all_transports.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"

namespace sotto::testing {

/// What training left on one rank.
struct trained {
    std::vector<float> parameters;
    snapshot remembered;  // by optimizer and compressor
    fit_report report;

    bool same_parameters(const trained& other) const {
        if (parameters.size() != other.parameters.size()) return false;
        for (std::size_t i = 0; i < parameters.size(); ++i)
            if (std::bit_cast<std::uint32_t>(parameters[i]) !=
                std::bit_cast<std::uint32_t>(other.parameters[i]))
                return false;
        return true;
    }
    bool same_state(const trained& other) const {
        return same_parameters(other) && remembered == other.remembered;
    }
};

/// What to train besides the strategy.
struct exercise {
    number_model model{};
    std::int64_t examples = 96;
    std::int64_t batch_size = 4;
    detail::training_length length = epochs{2};
    std::uint64_t seed = 1;
    std::vector<std::int64_t> own{};  // examples of each rank, if they have their own
};

/// The examples that rank `rank` owns: those after the lower ranks'.
inline numbered own_examples(const exercise& work, int rank) {
    numbered data{work.own[static_cast<std::size_t>(rank)]};
    for (int r = 0; r < rank; ++r) data.first += work.own[static_cast<std::size_t>(r)];
    return data;
}

/// Trains on every rank of a transport; what was left on each.
template <class Over = over_in_process, class Strategy>
std::vector<trained> train(int world, const Strategy& strategy, const exercise& work = {}) {
    std::vector<trained> left(static_cast<std::size_t>(world));
    Over::run(world, [&](auto& transport) {
        number_model model = work.model;
        trainer trainer{
            model, strategy, transport, {.batch_size = work.batch_size, .seed = work.seed}};
        trained& mine = left[static_cast<std::size_t>(transport.rank())];
        if (work.own.empty())
            mine.report = trainer.fit(numbered{work.examples}, work.length);
        else
            mine.report =
                trainer.fit(local_data{own_examples(work, transport.rank())}, work.length);
        mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        mine.remembered = snapshot(trainer.state());
    });
    return left;
}

/// The mean of all ranks' parameters, in double.
inline std::vector<double> mean(const std::vector<trained>& ranks) {
    std::vector<double> m(ranks.front().parameters.size());
    for (const trained& rank : ranks)
        for (std::size_t i = 0; i < m.size(); ++i)
            m[i] += double{rank.parameters[i]} / static_cast<double>(ranks.size());
    return m;
}

/// Whether all ranks hold the same parameters, bit for bit.
inline bool agree(const std::vector<trained>& ranks) {
    for (const trained& rank : ranks)
        if (!rank.same_parameters(ranks.front())) return false;
    return true;
}

/// The largest distance between two ranks' parameters.
inline double distance(const trained& a, const trained& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.parameters.size(); ++i)
        largest = std::max(largest, std::abs(double{a.parameters[i]} - b.parameters[i]));
    return largest;
}

}  // namespace sotto::testing
