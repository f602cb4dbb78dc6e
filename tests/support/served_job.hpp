#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/staleness/staleness_compensator.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/simulated.hpp"
#include "support/fault_seeds.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"

namespace sotto::testing {

/// What one process of a worker computed: its gradients, and what it made of them.
template <class Compressor>
class working {
public:
    int worker;
    bool ended = false;  // normally

    working(int of_worker, const Compressor& options, const layout& tensors)
        : worker(of_worker), tensors_(&tensors), compressor_(options.bind(tensors)) {}

    /// Its compressor again, which is told the same.
    void compute(std::int64_t round, double epoch, std::span<const float> gradient) {
        detail::compressing::begin_round(
            compressor_,
            {.step = round, .epoch = epoch, .rank = worker, .world_size = 1, .share = 1.0});
        std::vector<float>& sent = sent_[static_cast<std::uint64_t>(round)];
        sent.assign(gradient.size(), 0.0f);
        bytes message;
        for (const tensor& t : *tensors_) {
            message.clear();
            compressor_.encode(t, t.of(gradient), message);
            compressor_.decode_add(t, message, t.of(std::span<float>(sent)));
        }
        given_.assign(gradient.begin(), gradient.end());
        if (sum_.empty()) sum_.resize(gradient.size());
        last_ = static_cast<std::uint64_t>(round);
    }
    void settle(bool is_dropped) {
        if (is_dropped) return detail::compressing::rollback(compressor_);
        detail::compressing::commit(compressor_);
        for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] += given_[i] - sent_[last_][i];
    }

    const std::vector<float>* sent(std::uint64_t round) const {
        const auto found = sent_.find(round);
        return found == sent_.end() ? nullptr : &found->second;
    }
    auto& compressor() noexcept { return compressor_; }
    snapshot remembered() { return snapshot(compressor_); }
    /// Gradients less what was sent of them: what a residual must be.
    const std::vector<float>& unsent() const noexcept { return sum_; }

private:
    const layout* tensors_;
    state_of<Compressor> compressor_;
    std::map<std::uint64_t, std::vector<float>> sent_;
    std::vector<float> given_, sum_;
    std::uint64_t last_ = 0;
};

/// What one process of a server held and did, until it ended or was killed.
struct served_process {
    int rank = 0;
    bool ended = false;  // normally
    std::vector<float> held;
    std::vector<detail::served_push> log;
    std::uint64_t version = 0;
    std::size_t computed = 0;  // processes of workers by then
};

/// What is known of a job of parameter servers in the end. All its ranks are in this process, one
/// at a time.
template <class Compressor>
struct served_job {
    struct call {
        int rank = 0;
        duration began{}, ended{};
    };

    std::deque<working<Compressor>> workers;  // processes, in the order in which they began
    std::vector<served_process> servers;      // in the order in which they ended
    std::vector<float> start;
    std::set<int> lost;                    // says a server
    std::vector<std::vector<float>> left;  // parameters, by rank; empty: it did not end
    std::vector<std::string> what;         // it threw
    std::vector<call> calls;               // workers' rounds, also those that did not return
    std::vector<std::string> broken;       // after a round
    std::int64_t queued = 0;               // bytes of one rank that waited for another, at most

    explicit served_job(int ranks)
        : left(static_cast<std::size_t>(ranks)), what(static_cast<std::size_t>(ranks)) {}

    /// What the latest process of a worker before another one ended has sent in a round.
    const std::vector<float>* sent(int worker, std::uint64_t round, std::size_t processes) const {
        for (std::size_t k = processes; k-- > 0;)
            if (workers[k].worker == worker)
                if (const auto* const found = workers[k].sent(round)) return found;
        return nullptr;
    }
};

/// Trains a worker, a server or both for so many rounds of each worker.
template <class Strategy, class Job>
void train_served(simulated& transport, const Strategy& strategy, const layout& tensors,
                  std::int64_t rounds, Job& all) {
    const auto which = static_cast<std::size_t>(transport.rank());
    duration began = transport.now().time_since_epoch();
    number_model model(tensors);
    trainer trainer{model, strategy, transport, {.batch_size = 1, .seed = 1}};
    auto& state = trainer.state();
    const std::int64_t workers = state.roles().workers();
    const std::int64_t examples = workers * rounds;
    all.start.assign(trainer.parameters().begin(), trainer.parameters().end());
    auto* const mine = state.roles().works()
                           ? &all.workers.emplace_back(state.roles().worker_of(transport.rank()),
                                                       strategy.compressor, tensors)
                           : nullptr;
    if (mine)
        model.spoil = [&](std::span<float> gradient) {
            mine->compute(trainer.step(), 0.0, gradient);
        };
    const auto keep = [&](bool ended) {
        const auto* const server = state.server();
        if (!server) return;
        all.servers.push_back({transport.rank(),
                               ended,
                               {server->own().begin(), server->own().end()},
                               {server->log().begin(), server->log().end()},
                               server->version(),
                               all.workers.size()});
    };
    const auto compare = [&] {
        auto& compressor =
            const_cast<std::remove_cvref_t<decltype(state.compressor())>&>(state.compressor());
        if (snapshot(compressor) != mine->remembered())
            all.broken.push_back("rank " + std::to_string(which) +
                                 " remembers something else after " +
                                 std::to_string(trainer.step()) + " rounds");
    };
    const auto end_of_round = [&] {
        const duration now = transport.now().time_since_epoch();
        all.calls.push_back({transport.rank(), std::exchange(began, now), now});
        all.queued = std::max(all.queued, most_queued(transport));
    };
    try {
        trainer.fit(numbered{examples}, epochs{1}, [&](const step_report& step) {
            mine->settle(step.round.dropped);
            compare();
            end_of_round();
        });
    } catch (...) {
        keep(false);
        if (mine && trainer.step() < rounds) end_of_round();
        throw;
    }
    keep(true);
    if (mine) mine->ended = true;
    all.left[which].assign(trainer.parameters().begin(), trainer.parameters().end());
    if (state.server())
        for (const detail::rank_loss& change : state.losses()) all.lost.insert(change.rank);
}

/// A server's part of the parameters, where its log of arrivals leads to: step by step, by the
/// optimizer and the compensator alone.
template <class Strategy>
class followed {
    using optimizer_options = std::remove_cvref_t<decltype(std::declval<Strategy>().optimizer)>;
    using compensator_options = std::remove_cvref_t<decltype(std::declval<Strategy>().compensator)>;

public:
    followed(const Strategy& strategy, const layout& tensors, const detail::shard& part,
             int workers, std::span<const float> start)
        : tensors_(part.alone(tensors)),
          offset_(static_cast<std::size_t>(part.begin_of(tensors))),
          optimizer_(strategy.optimizer.bind(tensors_)),
          compensator_(strategy.compensator.bind(tensors_, workers)) {
        const auto own = part.of(tensors, start);
        held_.assign(own.begin(), own.end());
        versions_[0] = held_;
    }

    /// What the log of a process says that led to versions up to that one.
    template <class Job>
    void follow(const Job& all, const served_process& by, std::uint64_t upto) {
        for (const detail::served_push& p : by.log) {
            if (p.applied == 0 || p.applied > upto) continue;
            const auto* const sent = all.sent(p.worker, p.round, by.computed);
            REQUIRE(sent);
            take(p, std::span<const float>(*sent).subspan(offset_, held_.size()));
        }
    }

    bool holds(const std::vector<float>& other) const {
        return std::ranges::equal(held_, other, [](float a, float b) {
            return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
        });
    }

private:
    /// Gradients of a round make one step together; sums of these are exact, so each may move the
    /// parameters by itself.
    void take(const detail::served_push& p, std::span<const float> sent) {
        REQUIRE((p.applied == version_ + 1 || p.applied == version_));
        const auto before = static_cast<std::int64_t>(p.applied - 1);
        const auto then = versions_.find(p.read);
        REQUIRE(then != versions_.end());
        std::vector<float> gradient(sent.begin(), sent.end());
        const round_info where{.step = before};
        const double factor =
            compensator_.begin({.worker = p.worker,
                                .staleness = before - static_cast<std::int64_t>(p.read),
                                .step = before,
                                .learning_rate = detail::optimizing::rate_at(optimizer_, where)});
        if constexpr (detail::compares_parameters<compensator_options>)
            for (const tensor& t : tensors_)
                detail::compensating::compensate(compensator_, t, t.of(std::span<float>(gradient)),
                                                 t.of(std::span<const float>(held_)),
                                                 t.of(std::span<const float>(then->second)));
        optimizer_.begin_step({.where = where, .rate_factor = factor}, gradient);
        for (const tensor& t : tensors_) {
            const auto weights = t.of(std::span<float>(held_));
            std::vector<float> moved(weights.begin(), weights.end());
            optimizer_.update(t, weights, t.of(std::span<float>(gradient)));
            for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = weights[i] - moved[i];
            if constexpr (detail::compensating::watches_moves<
                              compensator_state<compensator_options>>)
                compensator_.moved(t, moved);
        }
        detail::optimizing::commit(optimizer_);
        version_ = p.applied;
        versions_[version_] =
            detail::compares_parameters<compensator_options> ? held_ : std::vector<float>();
    }

    layout tensors_;
    std::size_t offset_;  // in the whole model
    state_of<optimizer_options> optimizer_;
    compensator_state<compensator_options> compensator_;
    std::vector<float> held_;
    std::map<std::uint64_t, std::vector<float>> versions_;  // what workers may have read
    std::uint64_t version_ = 0;
};

/// Goes through the processes of a server: each holds what it began with, or restored, and what its
/// log leads to from there; each worker's rounds follow each other without gap or repetition.
template <class Strategy, class Job>
void check_server(const Job& all, int rank, int workers, const layout& tensors,
                  const Strategy& strategy) {
    const serving& servers = strategy.servers;
    const auto shards = detail::shards_of(tensors, servers.servers);
    const followed<Strategy> start(strategy, tensors, shards[static_cast<std::size_t>(rank)],
                                   workers, all.start);
    followed<Strategy> base = start;
    const served_process* before = nullptr;
    for (const served_process& s : all.servers) {
        if (s.rank != rank) continue;
        std::set<std::uint64_t> steps;
        std::map<int, std::uint64_t> given_by;  // rounds
        for (const detail::served_push& p : s.log) {
            CAPTURE(p.worker);
            if (p.applied != 0) steps.insert(p.applied);
            // What another server had had of a worker that came again is not given anew; and a
            // server that comes again begins in the middle.
            const auto expected = given_by.find(p.worker);
            if (expected != given_by.end() || !before)
                CHECK(p.round >= (expected == given_by.end() ? 0 : expected->second));
            if (servers.servers == 1 && !before)
                CHECK(p.round == (expected == given_by.end() ? 0 : expected->second));
            given_by[p.worker] = p.round + 1;
        }
        const std::uint64_t restored = s.version - steps.size();
        CAPTURE(restored);
        if (servers.checkpoints.empty() || !before) {
            CHECK(restored == 0);
            base = start;
        } else {
            CHECK(restored <= before->version);
            CHECK(before->version - restored < static_cast<std::uint64_t>(servers.every) + 16);
            base.follow(all, *before, restored);
        }
        followed<Strategy> reached = base;
        reached.follow(all, s, s.version);
        CHECK(reached.holds(s.held));
        before = &s;
    }
}

/// What a process of a worker has not sent, as its compressor's state shows it.
template <class Working>
std::vector<float> residual_of(Working& w, const layout& tensors) {
    std::vector<float> all(w.unsent().size());
    if (all.empty()) return all;
    w.compressor().visit([&](std::string_view name, auto&& value, kept = kept::alike) {
        if constexpr (std::is_convertible_v<decltype(value), std::span<float>>) {
            const tensor* const t = tensors.find(std::string(name.substr(name.find('/') + 1)));
            REQUIRE(t);
            const std::span<float> part(value);
            std::copy(part.begin(), part.end(), t->of(std::span<float>(all)).begin());
        }
    });
    return all;
}

}  // namespace sotto::testing
