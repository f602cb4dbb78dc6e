// A whole round of gossip as the strategy does it, and one of all_reduce to compare with: from
// gradients that lie ready at all ranks until every rank has stepped and mixed. One line of JSON a
// rank:
//   SOTTO_RANK=.. SOTTO_SIZE=.. SOTTO_ADDRESS=.. bench_network_gossip_round --method ring [options]
// The first two rounds are compared with a plain computation at some places, and the mean over the
// ranks, which mixing must keep, after the last.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "join.hpp"
#include "ready_gradients.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/gossip/mixing/choco.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/detail/round_input.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/topologies/exponential.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/transports/tcp.hpp"
#include "timed_rounds.hpp"

namespace {

struct settings {
    std::int64_t weights = 25'000'000;
    int tensors = 8, rounds = 3, warm_up = 2;
    std::string method = "ring";
    double density = 0.01, choco_step = 0.04;
};

/// Parameters of all ranks at some places, computed plainly.
class expectation {
public:
    expectation(const settings& s, const sotto::layout& tensors, int world)
        : settings_(s), rows_(static_cast<std::size_t>(world)) {
        for (std::int64_t at = 0; at < s.weights; at += std::max<std::int64_t>(s.weights / 9973, 1))
            places_.push_back(at);
        for (auto& row : rows_) row.resize(places_.size());
        copies_ = moved_ = rows_;
        for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
            gradients_.push_back(bench::gradient_of(static_cast<int>(rank), s.weights));
            if (s.method == "choco") add_thresholds(tensors, gradients_.back());
        }
    }

    /// Each rank's step at learning rate 1.
    void step(std::int64_t round) {
        const std::int64_t turned = bench::turned_by(round, settings_.weights);
        for (std::size_t rank = 0; rank < rows_.size(); ++rank)
            for (std::size_t i = 0; i < places_.size(); ++i)
                rows_[rank][i] -= static_cast<double>(gradients_[rank][static_cast<std::size_t>(
                    (places_[i] + turned) % settings_.weights)]);
    }

    void mix(const auto& matrix) { move(matrix, rows_, 1.0); }

    /// As choco does in the first two rounds: copies begin with nothing, and the first message has
    /// each tensor's largest values.
    void mix_copies(const auto& matrix, std::int64_t round, const sotto::layout& tensors) {
        move(matrix, copies_, settings_.choco_step);
        if (round > 0) return;
        for (std::size_t rank = 0; rank < rows_.size(); ++rank)
            for (std::size_t i = 0; i < places_.size(); ++i)
                if (std::abs(rows_[rank][i]) >= threshold(rank, places_[i], tensors))
                    copies_[rank][i] = rows_[rank][i];
    }

    void require(const std::vector<std::vector<float>>& found) const {
        for (std::size_t rank = 0; rank < rows_.size(); ++rank)
            for (std::size_t i = 0; i < places_.size(); ++i)
                require_near(found[rank][i], rows_[rank][i]);
    }
    void require_mean(const std::vector<std::vector<float>>& found) const {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            double sum = 0.0, expected = 0.0;
            for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
                sum += static_cast<double>(found[rank][i]);
                expected += rows_[rank][i];
            }
            require_near(sum, expected);
        }
    }

    /// What all ranks hold at these places.
    std::vector<std::vector<float>> held(sotto::tcp& through, const std::vector<float>& parameters,
                                         std::uint64_t round) const {
        std::vector<float> own;
        for (const std::int64_t at : places_)
            own.push_back(parameters[static_cast<std::size_t>(at)]);
        std::vector<std::vector<float>> all(rows_.size(), std::vector<float>(own.size()));
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
            if (static_cast<int>(rank) == through.rank()) all[rank] = own;
            sotto::detail::collectives::broadcast values(through, std::ssize(own),
                                                         static_cast<int>(rank));
            values.start(all[rank], {16, static_cast<std::uint32_t>(rank), round});
            sotto::detail::collectives::run(through, values);
        }
        return all;
    }

private:
    void move(const auto& matrix, const std::vector<std::vector<double>>& by, double factor) {
        moved_ = rows_;
        for (std::size_t rank = 0; rank < rows_.size(); ++rank)
            for (const auto& from : matrix.into(static_cast<int>(rank)))
                for (std::size_t i = 0; i < places_.size(); ++i)
                    moved_[rank][i] += factor * from.weight *
                                       (by[static_cast<std::size_t>(from.rank)][i] - by[rank][i]);
        rows_.swap(moved_);
    }

    void add_thresholds(const sotto::layout& tensors, const std::vector<float>& gradient) {
        for (const sotto::tensor& t : tensors) {
            const auto values = t.of(std::span<const float>(gradient));
            std::vector<float> sizes(values.begin(), values.end());
            for (float& x : sizes) x = std::abs(x);
            const auto k = static_cast<std::ptrdiff_t>(
                std::ceil(settings_.density * static_cast<double>(sizes.size())));
            std::nth_element(sizes.begin(), sizes.begin() + k - 1, sizes.end(), std::greater<>());
            thresholds_.push_back(static_cast<double>(sizes[static_cast<std::size_t>(k - 1)]));
        }
    }
    double threshold(std::size_t rank, std::int64_t place, const sotto::layout& tensors) const {
        const auto all = tensors.tensors();
        const auto it = std::ranges::upper_bound(all, place, {}, &sotto::tensor::offset) - 1;
        return thresholds_[rank * all.size() + static_cast<std::size_t>(it->index)];
    }

    static void require_near(double found, double expected) {
        if (!(std::abs(found - expected) <= 1e-5 * std::max(1.0, std::abs(expected))))
            throw std::runtime_error("a rank holds " + std::to_string(found) +
                                     " where it must be " + std::to_string(expected));
    }

    settings settings_;
    std::vector<std::int64_t> places_;
    std::vector<std::vector<double>> rows_, copies_, moved_;  // by rank
    std::vector<std::vector<float>> gradients_;
    std::vector<double> thresholds_;  // by rank and tensor
};

/// `expect(expectation, round)` mixes what is expected.
template <class Strategy, class Expect>
nlohmann::json measure(const settings& s, sotto::tcp& through, const Strategy& strategy,
                       Expect expect) {
    bench::ready_gradients model(s.weights, s.tensors, through);
    auto state = strategy.bind(model.layout(), through);
    std::vector<float> parameters(static_cast<std::size_t>(s.weights));
    expectation expected(s, model.layout(), through.size());
    const bench::ready_gradients::batch_type nothing;
    const std::int64_t rounds = s.warm_up + s.rounds;
    (void)state.begin_epoch({.examples = rounds, .batch_size = 1});
    std::vector<double> seconds, bytes;
    for (std::int64_t round = 0; round < rounds; ++round) {
        sotto::detail::round_input<bench::ready_gradients> job{
            .model = model, .batch = nothing, .examples = 1, .step = round};
        const sotto::round_report report = state.round(job, parameters);
        const double took = model.seconds_since_all_had_theirs();
        expected.step(round);
        if (round < 2) {
            expect(expected, round);
            expected.require(expected.held(through, parameters, static_cast<std::uint64_t>(round)));
        }
        through.agree(true);  // nobody's check takes the processor of one that is under way
        if (round < s.warm_up) continue;
        seconds.push_back(took);
        bytes.push_back(static_cast<double>(report.bytes_sent));
    }
    expected.require_mean(expected.held(through, parameters, static_cast<std::uint64_t>(rounds)));
    return {{"contestant", s.method},
            {"operation", "round"},
            {"weights", s.weights},
            {"tensors", s.tensors},
            {"ranks", through.size()},
            {"rank", through.rank()},
            {"bytes", 4 * s.weights},
            {"bytes_sent", bench::median(bytes)},
            {"median", bench::median(seconds)},
            {"seconds", seconds}};
}

template <class Topology>
nlohmann::json measure_gossip(const settings& s, sotto::tcp& through, Topology topology) {
    auto bound = topology.bind(through.size());
    return measure(s, through, sotto::gossip{sotto::sgd{.learning_rate = 1.0}, topology},
                   [&](expectation& e, std::int64_t round) { e.mix(bound.matrix(round)); });
}

nlohmann::json measure_choco(const settings& s, sotto::tcp& through) {
    using namespace sotto;
    auto ring = topologies::ring{}.bind(through.size());
    const layout tensors = bench::ready_gradients(s.weights, s.tensors, through).layout();
    return measure(
        s, through,
        gossip{sgd{.learning_rate = 1.0}, topologies::ring{}, no_control{},
               top_k{.density = s.density}, mixing::choco{.step = s.choco_step}},
        [&](expectation& e, std::int64_t round) { e.mix_copies(ring.matrix(0), round, tensors); });
}

nlohmann::json measure_all_reduce(const settings& s, sotto::tcp& through) {
    auto complete = sotto::topologies::complete{}.bind(through.size());
    return measure(s, through, sotto::all_reduce{sotto::sgd{.learning_rate = 1.0}},
                   [&](expectation& e, std::int64_t) { e.mix(complete.matrix(0)); });
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"A whole round of gossip over TCP"};
    app.add_option("--weights", s.weights)->check(CLI::Range(1000, 1 << 30));
    app.add_option("--tensors", s.tensors, "Of equal size")->check(CLI::Range(1, 100));
    app.add_option("--method", s.method)
        ->check(CLI::IsMember({"all_reduce", "ring", "one_peer", "choco"}));
    app.add_option("--density", s.density, "Of choco's messages");
    app.add_option("--choco-step", s.choco_step);
    app.add_option("--rounds", s.rounds)->check(CLI::PositiveNumber);
    app.add_option("--warm-up", s.warm_up, "Rounds that do not count")
        ->check(CLI::NonNegativeNumber);
    CLI11_PARSE(app, count, arguments);
    sotto::tcp through = sotto::tcp::join(bench::tcp_options());
    namespace topologies = sotto::topologies;
    const nlohmann::json found =
        s.method == "all_reduce" ? measure_all_reduce(s, through)
        : s.method == "choco"    ? measure_choco(s, through)
        : s.method == "ring"     ? measure_gossip(s, through, topologies::ring{})
                                 : measure_gossip(s, through, topologies::one_peer_exponential{});
    std::puts(found.dump().c_str());
    through.agree(true);  // nobody leaves while another still measures
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
