#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/collectives/detail/refuse_mixing.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/strategies/detail/with_rollback.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/detail/gradient_cost.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/topologies/detail/connected.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/topologies/topology.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// One rank's side of gossip in pairs. It offers its parameters to a neighbour, computes its
/// gradient, and hears how they are to change; between the tensors whose gradients it computes, and
/// whenever it waits, it answers others' offers. An empty offer says that a rank has done its
/// steps: it answers until all have.
///   math    of an offer x_i, rank j takes d = (x_i - x_j) / 2, adds it to its own and sends it
///           back; rank i subtracts it. Where two ranks' offers to each other cross, that of the
///           lower counts and the other is answered by 0: both would change places, and drift apart
template <class Options>
class gossip_pairs {
    using optimizer_options = std::remove_cvref_t<decltype(std::declval<Options>().optimizer)>;
    using optimizer_state =
        decltype(std::declval<const optimizer_options&>().bind(std::declval<const layout&>()));
    using topology_options = std::remove_cvref_t<decltype(std::declval<Options>().topology)>;

public:
    gossip_pairs(const Options& options, const layout& tensors, transport_ref through)
        : tensors_(tensors),
          through_(through),
          topology_name_(sotto::topologies::name_for_logs(options.topology)),
          topology_(options.topology.bind(through.size())),
          optimizer_(options.optimizer.bind(tensors_)),
          random_(random_stream(options.mixing.seed)
                      .split("pairs")
                      .split(static_cast<std::uint64_t>(through.rank()))),
          gradient_(static_cast<std::size_t>(tensors.size())),
          own_(gradient_.size()),
          offer_(gradient_.size()),
          answer_(gradient_.size()),
          offered_(gradient_.size()),
          answered_(gradient_.size()),
          tensor_bytes_(tensors.tensors().size()),
          endings_(static_cast<std::size_t>(through.size())),
          offers_(through, 1),
          answers_(through, 1),
          mine_(through, 2) {
        if (const std::int64_t every = options.options.measure_every; every != 0)
            throw invalid_option("gossip: measure_every is " + std::to_string(every) +
                                 ", but by mixing::asynchronous_pairs ranks have no steps in "
                                 "common in which they could measure; it must be 0");
        require_links();
        through.reserve(4 + through.size());
    }

    data::share share() const noexcept { return {through_.rank(), through_.size()}; }

    /// Nobody waits for anybody: an epoch is this rank's own.
    epoch_agreement begin_epoch(const epoch_plan& plan) {
        return {.rounds = plan.rounds(), .stop = plan.stop != 0};
    }

    template <class Model>
    round_report round(round_input<Model>& job, std::span<float> parameters) {
        return detail::with_rollback(through_, [&] { return attempt(job, parameters); });
    }

    /// Answers until all ranks have done their steps.
    ///   errors  invalid_option: no rank had any examples
    void finish(std::span<float> parameters) {
        bool has_trained = true;
        detail::with_rollback(through_, [&] {
            begin(parameters);
            at("finish", 0);
            collectives::flight told(through_, endings_.size());
            for (int rank = 0; rank < through_.size(); ++rank)
                if (rank != through_.rank()) told.push(through_.send(rank, offers_label(), {}));
            wait_until([&] {
                while (told.pop_complete()) {}
                return told.empty() && answers_.empty() && !others_go_on();
            });
            std::copy(own_.begin(), own_.end(), parameters.begin());
            has_begun_ = false;
            has_trained = !through_.agree(std::exchange(steps_, 0) == 0);
        });
        if (!has_trained) detail::refuse_no_examples();
    }

    /// Offers of others that were answered, and of its own.
    std::int64_t answered() const noexcept { return answered_count_; }
    /// Offers of its own.
    std::int64_t offered() const noexcept { return offered_count_; }
    /// Who may mix with whom, for logs.
    topologies::mixing_graph graph() {
        auto graph = topologies::graph_of(
            through_.size(), topology_.period(),
            consensus_report::unknown, [this](std::int64_t round) -> const auto& {
                return topology_.matrix(round);
            });
        graph.topology = topology_name_;
        return graph;
    }

private:
    /// Weights do not count, and ranks meet in any order: all links of a period must join them.
    void require_links() {
        const int size = through_.size();
        if (size == 1) return;
        sotto::topologies::mixing_matrix all(size);
        const std::int64_t period = topology_.period(), rounds = std::max<std::int64_t>(period, 1);
        for (std::int64_t r = 0; r < rounds; ++r) {
            const sotto::topologies::mixing_matrix& matrix = topology_.matrix(r);
            if (!matrix.is_symmetric())
                throw invalid_option(
                    "gossip: mixing::asynchronous_pairs needs links that go both ways");
            for (int rank = 0; rank < size; ++rank)
                for (const auto& n : matrix.into(rank))
                    all.link(rank, n.rank, 0.5 / static_cast<double>(size * rounds));
        }
        auto of_a_period = sotto::topologies::repeated(std::move(all));
        if (period > 0) topologies::require_connected(of_a_period, topology_name_);
    }

    void begin(std::span<const float> parameters) {
        if (std::exchange(has_begun_, true)) return;
        ++fit_;
        std::copy(parameters.begin(), parameters.end(), own_.begin());
    }

    template <class Model>
    round_report attempt(round_input<Model>& job, std::span<float> parameters) {
        begin(parameters);
        ++steps_;
        const traffic before = through_.counters();
        const time_point began = through_.now();
        stopwatch watch(through_);
        round_report report{.examples = job.examples, .dense_bytes = 4 * tensors_.size()};
        at("compute", job.step);
        std::copy(own_.begin(), own_.end(), parameters.begin());
        const bool mixes = offer(job.step);
        report.apply = watch.lap();

        gradient_work computed(through_, job);
        duration computing{};
        report.loss = job.model.gradient(std::span<const float>(parameters), job.batch,
                                         std::span<float>(gradient_), [&](const tensor& t) {
                                             computed.is_ready(t);
                                             computing += watch.lap();
                                             serve();
                                             report.apply += watch.lap();
                                         });
        computed.end();
        report.compute = computing + watch.lap();
        require_finite();

        at("mix", job.step);
        if (mixes) wait_until([&] { return take_answer(report); });
        report.wait = report.exchange = watch.lap();

        const round_info where{job.step, job.epoch, through_.rank(), through_.size(), -1.0};
        optimizer_.begin_step({.where = where}, std::span<const float>(gradient_));
        for (const tensor& t : tensors_)
            optimizer_.update(t, t.of(std::span(own_)), t.of(std::span<const float>(gradient_)));
        optimizing::commit(optimizer_);
        std::copy(own_.begin(), own_.end(), parameters.begin());
        report.apply += watch.lap();

        report.consensus.rounds = mixes ? 1 : 0;
        report.consensus.learning_rate = optimizing::rate_at(optimizer_, where);
        const traffic after = through_.counters();
        report.bytes_sent = after.bytes_sent - before.bytes_sent;
        report.bytes_received = after.bytes_received - before.bytes_received;
        for (const tensor& t : tensors_)
            tensor_bytes_[static_cast<std::size_t>(t.index)] = mixes ? 4 * t.size : 0;
        report.message_bytes = mixes ? report.dense_bytes : 0;
        report.tensor_message_bytes = tensor_bytes_;
        report.began = began;
        report.agreed = report.ended = through_.now() - began;
        return report;
    }

    /// Sends the parameters to one neighbour; false where there is none.
    bool offer(std::int64_t step) {
        const auto neighbours = topology_.matrix(step).into(through_.rank());
        if (neighbours.empty() || tensors_.size() == 0) return false;
        const int to = neighbours[static_cast<std::size_t>(random_.below(neighbours.size()))].rank;
        std::copy(own_.begin(), own_.end(), offered_.begin());
        offered_to_ = to;
        mine_.push(
            through_.receive(to, answers_label(), std::as_writable_bytes(std::span(answered_))));
        mine_.push(through_.send(to, offers_label(), std::as_bytes(std::span(offered_))));
        ++offered_count_;
        return true;
    }

    /// Whether the answer is here, and taken.
    bool take_answer(round_report& report) {
        while (const auto ended = mine_.pop_complete())
            if (ended->source != through_.rank()) came_ = *ended;
        if (!mine_.empty()) return false;
        require_whole(came_, "answers");
        const double squares = kernels::sum_of_squares(answered_);
        require_finite_from(came_.source, squares, answered_);
        kernels::subtract_scaled(own_, 1.0f, answered_);
        report.consensus.change = std::sqrt(squares);
        return true;
    }

    /// Whether another rank has steps to do in this call of `fit`.
    bool others_go_on() const noexcept {
        for (int rank = 0; rank < through_.size(); ++rank)
            if (rank != through_.rank() && endings_[static_cast<std::size_t>(rank)] < fit_)
                return true;
        return false;
    }

    /// Answers whoever offers.
    void serve() {
        if (through_.size() == 1) return;
        while (true) {
            (void)answers_.pop_complete();
            if (offers_.empty() && others_go_on())
                offers_.push(through_.receive(any_rank, offers_label(),
                                              std::as_writable_bytes(std::span(offer_))));
            if (!answers_.empty()) return;  // what it is sent from is still on its way
            const auto came = offers_.pop_complete();
            if (!came) return;
            if (came->bytes == 0) {
                ++endings_[static_cast<std::size_t>(came->source)];
                continue;
            }
            require_whole(*came, "offers");
            answer(came->source);
        }
    }

    void answer(int to) {
        require_finite_from(to, kernels::sum_of_squares(offer_), offer_);
        const bool crosses = !mine_.empty() && offered_to_ == to && through_.rank() < to;
        std::copy(offer_.begin(), offer_.end(), answer_.begin());
        kernels::subtract_scaled(answer_, 1.0f, own_);
        kernels::scale(answer_, crosses ? 0.0f : 0.5f);
        kernels::add(own_, answer_);
        answers_.push(through_.send(to, answers_label(), std::as_bytes(std::span(answer_))));
        ++answered_count_;
    }

    template <class Done>
    void wait_until(Done done) {
        while (true) {
            const std::uint64_t seen = through_.activity();
            serve();
            if (done()) return;
            if (through_.activity() == seen) through_.await(seen);
        }
    }

    void require_whole(const completion& came, const char* what) const {
        if (came.bytes != 4 * tensors_.size())
            throw mismatch("gossip: rank " + std::to_string(came.source) + " " + what + " " +
                           std::to_string(came.bytes) + " bytes where rank " +
                           std::to_string(through_.rank()) + " has " +
                           std::to_string(4 * tensors_.size()));
    }

    void require_finite() const {
        for (const tensor& t : tensors_) {
            const auto part = t.of(std::span<const float>(gradient_));
            if (!kernels::is_finite(kernels::sum_of_squares(part)))
                throw non_finite(through_.rank(), t.name, kernels::first_non_finite(part));
        }
    }

    static void require_finite_from(int rank, double squares, std::span<const float> values) {
        if (!kernels::is_finite(squares))
            collectives::refuse_mixing(
                rank, "element " + std::to_string(kernels::first_non_finite(values)));
    }

    void at(const char* phase, std::int64_t step) { through_.at({.round = step, .phase = phase}); }
    static tag offers_label() noexcept { return {channels::gossip, 8, 0}; }
    static tag answers_label() noexcept { return {channels::gossip, 9, 0}; }

    layout tensors_;
    transport_ref through_;
    std::string topology_name_;
    topology_state<topology_options> topology_;
    optimizer_state optimizer_;
    random_stream random_;
    large_vector<float> gradient_;
    large_vector<float> own_;                 // what mixes; `parameters` are a step's
    large_vector<float> offer_, answer_;      // another's, and what it is told
    large_vector<float> offered_, answered_;  // this rank's, and what it was told
    std::vector<std::int64_t> tensor_bytes_;
    std::vector<std::int64_t> endings_;  // calls of `fit` that each other rank has done
    std::int64_t fit_ = 0;               // the one under way
    std::int64_t steps_ = 0;             // of this rank in it
    std::int64_t answered_count_ = 0, offered_count_ = 0;
    int offered_to_ = 0;
    completion came_{};  // the last answer
    bool has_begun_ = false;
    // Last: transfers end before the memory goes.
    collectives::flight offers_, answers_, mine_;
};

}  // namespace sotto::detail
