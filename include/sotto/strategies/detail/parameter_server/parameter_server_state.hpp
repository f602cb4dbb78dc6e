#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/strategies/detail/guarded.hpp"
#include "sotto/strategies/detail/parameter_server/server_link.hpp"
#include "sotto/strategies/detail/parameter_server/server_roles.hpp"
#include "sotto/strategies/detail/parameter_server/serving_rank.hpp"
#include "sotto/strategies/detail/parameter_server/shard_server.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/detail/shard.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/detail/work_of_gradient.hpp"
#include "sotto/strategies/parameter_server/arrival_paths.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/remarks.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

/// One rank's side of parameter_server: a worker, a server, or both, which then serves whenever it
/// waits, and between the tensors whose gradients it computes.
template <class Options>
class parameter_server_state {
    using compressor_options = std::remove_cvref_t<decltype(std::declval<Options>().compressor)>;

public:
    parameter_server_state(const Options& options, const layout& tensors, transport_ref through)
        : tensors_(tensors),
          through_(through),
          says_(remarks::of(through)),
          roles_(options.servers.servers, options.servers.dedicated, through.rank(),
                 through.size()),
          shards_(shards_of(tensors_, roles_.servers())),
          worked_(roles_.works() ? tensors_ : layout{}),
          compressor_(options.compressor.bind(worked_)),
          gradient_(static_cast<std::size_t>(worked_.size())),
          read_(static_cast<std::size_t>(tensors.size())),
          tensor_bytes_(tensors.tensors().size()) {
        require_messages(compressor_);
        require_option("parameter_server", "every", options.servers.every, allowed::at_least(1));
        require_one_server_for_backups(options);
        require_arrivals_apart(options.servers.record_arrivals, options.servers.replay_arrivals,
                               roles_.servers());
        compressing::visit(compressor_, [this](std::string_view, auto&& value, auto...) {
            if constexpr (requires { value.size_bytes(); })
                remembered_ += static_cast<double>(value.size_bytes());
        });
        const duration patience = survive(options.servers);
        for (int s = 0; s < roles_.servers(); ++s)
            links_.emplace_back(
                through, s,
                shards_[static_cast<std::size_t>(s)].of(tensors_, std::span<float>(read_)),
                patience);
        if (roles_.serves()) {
            serving_.emplace(options, tensors_, shards_[static_cast<std::size_t>(through.rank())],
                             roles_, through);
            if (survives_) serving_->survive(patience);
        }
        through.reserve(4 * std::int64_t{roles_.servers()} + 2 * std::int64_t{through.size()} + 1);
    }

    data::share share() const noexcept {
        if (!roles_.works()) return {0, 0};
        return {roles_.own_worker(), roles_.workers()};
    }

    /// Where ranks come and go this rank and the servers see to it that they fit.
    bool introduce(const std::string& configuration) {
        if (!survives_) return false;
        for (auto& l : links_) l.introduce(configuration);
        if (serving_) serving_->introduce(configuration);
        return true;
    }

    /// Gets the parameters from the servers. Its rounds that any of them has had since this `fit`
    /// began are not done again: of a worker that is there anew, or that begins where servers go on
    /// from a checkpoint. What another server had not had of them by then is lost.
    std::int64_t begin(std::span<float> parameters) {
        return guarded([&] {
            if (serving_) serving_->begin(parameters);
            if (!roles_.works()) return std::int64_t{0};
            at("attach");
            for (auto& l : links_) l.push({.kind = wire::push_kind::attach}, {});
            wait_for_answers();
            std::copy(read_.begin(), read_.end(), parameters.begin());
            std::uint64_t had = 0;
            for (const auto& l : links_) had = (std::max)(had, l.answer().rounds);
            clock_ = 0;
            catch_up();
            return rounds_ = static_cast<std::int64_t>(had);
        });
    }

    epoch_agreement begin_epoch(const epoch_plan& plan) {
        return {.rounds = plan.rounds(), .stop = plan.stop != 0};
    }

    template <class Model>
    round_report round(task<Model>& job, std::span<float> parameters) {
        return guarded([&] { return attempt(job, parameters); });
    }

    /// Serves until all ranks are done; then all hold the same parameters.
    ///   errors  invalid_option: no rank had any examples, so that no server took a step
    void finish(std::span<float> parameters) {
        bool has_trained = rounds_ > 0 || survives_;
        guarded([&] {
            at("finish");
            for (auto& l : links_) l.push({.kind = wire::push_kind::done}, {});
            wait_for_answers();
            std::copy(read_.begin(), read_.end(), parameters.begin());
            for (const auto& l : links_) has_trained = has_trained || l.answer().taken;
            if (!serving_) return;
            wait_until([&] { return serving_->is_over(); });
            serving_->begin_again();
        });
        if (!has_trained) detail::refuse_no_examples();
    }

    /// A call of `fit` has ended, by an exception or not.
    void end_fit() noexcept {
        if (serving_) serving_->rest();
    }

    /// The state that packs what this rank pushes.
    const auto& compressor() const noexcept { return compressor_; }
    /// Null where this rank does not serve.
    const shard_server<Options>* server() const noexcept {
        return serving_ ? &serving_->server() : nullptr;
    }
    /// Which ranks serve and which work.
    const server_roles& roles() const noexcept { return roles_; }
    /// What this rank's server takes, and what it has seen until now; nothing where it is none.
    std::optional<server_memory> memory_of_server() const {
        return serving_ ? std::optional(serving_->memory()) : std::nullopt;
    }
    std::optional<server_report> report_of_server() const {
        return serving_ ? std::optional(serving_->report()) : std::nullopt;
    }
    /// Ranks that went while that was survived, why, and what servers among them have forgotten of
    /// this rank's rounds; in order.
    std::span<const rank_loss> losses() const noexcept { return losses_; }
    /// Whether a server that fails begins anew with what its next process starts from.
    bool servers_forget() const noexcept { return forgets_; }

private:
    /// Nothing is summed over ranks before a server takes it.
    static void require_messages(const state_of<compressor_options>& state) {
        if constexpr (requires { state.clips_sums(); })
            if (state.clips_sums())
                throw invalid_option(
                    "parameter_server: the compressor clips dense tensors after the sum over "
                    "ranks, but a server takes the gradients of one worker at a time: use "
                    "local_clipping::before_sum, or all_reduce");
    }

    /// A gradient is taken or dropped as a whole, and each server takes those that come first.
    static void require_one_server_for_backups(const Options& options) {
        if constexpr (requires { options.consistency.backups; })
            if (options.consistency.backups > 0 && options.servers.servers > 1)
                throw invalid_option(
                    "parameter_server: backup workers with " +
                    std::to_string(options.servers.servers) +
                    " servers, each of which would drop the gradients of others; 1 is possible");
    }

    /// How long a server may be away; 0 where nobody may.
    template <class Serving>
    duration survive(const Serving& servers) {
        require_option("parameter_server", "patience in seconds", servers.patience,
                       allowed::at_least(0.0).at_most(1e9));
        if (!servers.survives) return {};
        forgets_ = servers.checkpoints.empty() && servers.patience > 0.0;
        if (!through_.is_tolerant())
            throw invalid_option(
                "parameter_server: on this transport the loss of a rank ends the "
                "job: leave serving::survives out");
        through_.tolerate();
        survives_ = true;
        return std::chrono::duration_cast<duration>(
            std::chrono::duration<double>(servers.patience));
    }

    template <class Action>
    auto guarded(Action action) -> decltype(action()) {
        return detail::guarded(through_, action,
                               [this]() noexcept { compressing::rollback(compressor_); });
    }

    template <class Model>
    round_report attempt(task<Model>& job, std::span<float> parameters) {
        step_ = job.step;
        const time_point began = through_.now();
        const traffic before = through_.counters();
        stopwatch watch(through_);
        round_report report{.examples = job.examples, .dense_bytes = 4 * tensors_.size()};
        at("compute");
        compressing::begin_round(compressor_, {.step = rounds_,
                                               .epoch = job.epoch,
                                               .rank = roles_.own_worker(),
                                               .world_size = 1,
                                               .share = 1.0});
        gradient_work computed(through_, job);
        report.loss = job.model.gradient(parameters, job.batch, std::span<float>(gradient_),
                                         [&](const tensor& t) {
                                             computed.is_ready(t);
                                             serve();
                                         });
        computed.end();
        report.compute = watch.lap();

        weigh();
        ++clock_;
        for (std::size_t s = links_.size(); s-- > 0;) push(s, job.epoch);
        report.compress = watch.lap();

        at("wait");
        wait_for_answers();
        report.exchange = watch.lap();
        report.wait = report.exchange;

        settle(report);
        catch_up();
        std::copy(read_.begin(), read_.end(), parameters.begin());
        ++rounds_;
        report.apply = watch.lap();

        const traffic after = through_.counters();
        report.bytes_sent = after.bytes_sent - before.bytes_sent;
        report.bytes_received = after.bytes_received - before.bytes_received;
        for (const std::int64_t size : tensor_bytes_) report.message_bytes += size;
        report.tensor_message_bytes = tensor_bytes_;
        report.began = began;
        report.ended = through_.now() - began;
        return report;
    }

    void catch_up() noexcept {
        for (const auto& l : links_) clock_ = (std::max)(clock_, l.answer().clock);
    }

    /// What was made of the gradient.
    void settle(round_report& report) {
        for (const auto& l : links_) {
            report.dropped = report.dropped || !l.answer().taken;
            report.staleness =
                (std::max)(report.staleness, static_cast<std::int64_t>(l.answer().staleness));
        }
        if (report.dropped)
            compressing::rollback(compressor_);
        else
            compressing::commit(compressor_);
    }

    void at(const char* phase) noexcept {
        const peer_failure::occasion now{.round = step_, .phase = phase};
        through_.at(now);
        for (auto& l : links_) l.at(now);
    }

    /// Refuses what is no number before anything of it is remembered.
    void weigh() {
        for (const tensor& t : tensors_) {
            const auto part = t.of(std::span<const float>(gradient_));
            const double squares = kernels::sum_of_squares(part);
            if (!kernels::is_finite(squares))
                throw non_finite(through_.rank(), t.name, kernels::first_non_finite(part));
            compressing::measured(compressor_, t, squares);
        }
    }

    void push(std::size_t s, double epoch) {
        const shard& part = shards_[s];
        bytes& message = links_[s].message();
        message.resize(wire::push_head_bytes(part.tensors()));
        sizes_.clear();
        const auto share = static_cast<double>(part.size_of(tensors_));
        for (const tensor& t : part.of(tensors_)) {
            const std::size_t begin = message.size();
            compressor_.encode(t, t.of(std::span<const float>(gradient_)), message);
            sizes_.push_back(message.size() - begin);
            tensor_bytes_[static_cast<std::size_t>(t.index)] =
                static_cast<std::int64_t>(sizes_.back());
        }
        // The gradient is weighed and encoded, what is remembered of it read and written.
        const double all = static_cast<double>(std::max<std::int64_t>(tensors_.size(), 1));
        through_.charge({.bytes = 8.0 * share + 2.0 * remembered_ * share / all +
                                  static_cast<double>(message.size())});
        links_[s].push({.kind = wire::push_kind::gradient,
                        .round = static_cast<std::uint64_t>(rounds_),
                        .epoch = epoch,
                        .clock = clock_},
                       sizes_);
    }

    void wait_for_answers() {
        wait_until([&] {
            bool all = true;
            for (auto& l : links_) {
                all = l.advance() && all;
                if (const std::int64_t lost = l.take_lost(); lost > 0) note_lost(l.server(), lost);
            }
            return all;
        });
    }

    std::string told(int rank) const {
        const bool serves = rank < roles_.servers();
        const bool works = roles_.worker_of(rank) >= 0;
        return "rank " + std::to_string(rank) +
               (!serves ? ", a worker,"
                : works ? ", a server and worker,"
                        : ", a server,");
    }

    /// The server has come again since it went.
    void note_lost(int server, std::int64_t rounds) {
        says_.say(told(server) + " came again without " + std::to_string(rounds) +
                  " of this rank's rounds that it had acknowledged");
        const auto went = std::find_if(losses_.rbegin(), losses_.rend(),
                                       [&](const rank_loss& l) { return l.rank == server; });
        if (went != losses_.rend())
            went->rounds += rounds;
        else
            losses_.push_back({.rank = server, .cause = "it began anew", .rounds = rounds});
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

    void serve() {
        hear_of_changes();
        if (serving_) serving_->serve();
    }

    void hear_of_changes() {
        while (auto change = through_.next_change()) {
            const int rank = change->rank;
            auto* const link =
                rank < roles_.servers() ? &links_[static_cast<std::size_t>(rank)] : nullptr;
            if (!change->is_here) {  // what it had sent before it went
                if (serving_) serving_->serve();
                if (link) link->advance();
            }
            if (serving_)
                change->is_here ? serving_->came(rank) : serving_->went(rank, change->left);
            if (link) change->is_here ? link->came() : link->went(change->left);
            if (change->is_here) says_.say(told(rank) + " is there again");
            if (change->is_here || change->left) continue;
            says_.say(told(rank) + " went: " + change->cause);
            losses_.push_back({.rank = rank, .cause = std::move(change->cause)});
        }
    }

    layout tensors_;
    transport_ref through_;
    remarks says_;
    server_roles roles_;
    std::vector<shard> shards_;
    layout worked_;  // what gradients are computed of: nothing where this rank only serves
    state_of<compressor_options> compressor_;
    large_vector<float> gradient_;
    large_vector<float> read_;  // the parameters as the servers sent them
    std::vector<std::int64_t> tensor_bytes_;
    std::vector<std::uint64_t> sizes_;
    std::deque<server_link> links_;
    std::optional<serving_rank<Options>> serving_;
    std::vector<rank_loss> losses_;
    std::uint64_t clock_ = 0;  // of the last gradient, alike at all servers
    std::int64_t rounds_ = 0;  // of this rank, since `fit` began
    std::int64_t step_ = 0;
    double remembered_ = 0.0;  // bytes, by the compressor
    bool survives_ = false;
    bool forgets_ = false;
};

}  // namespace sotto::detail
