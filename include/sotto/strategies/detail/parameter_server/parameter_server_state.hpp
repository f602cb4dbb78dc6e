#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/strategies/detail/with_rollback.hpp"
#include "sotto/strategies/detail/parameter_server/parameter_exchange.hpp"
#include "sotto/strategies/detail/parameter_server/served_shard.hpp"
#include "sotto/strategies/detail/parameter_server/server_roles.hpp"
#include "sotto/strategies/detail/parameter_server/server_node.hpp"
#include "sotto/strategies/detail/parameter_server/shard_server.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/detail/gradient_cost.hpp"
#include "sotto/strategies/parameter_server/arrival_paths.hpp"
#include "sotto/strategies/parameter_server/serving.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// One rank's side of parameter_server: a worker, a server, or both, which then serves whenever it
/// waits, and between the tensors whose gradients it computes.
template <class Options>
class parameter_server_state {
    using compressor_options = std::remove_cvref_t<decltype(std::declval<Options>().compressor)>;

public:
    parameter_server_state(const Options& options, const layout& tensors, transport_ref through)
        : tensors_(tensors),
          roles_(options.servers.servers, options.servers.dedicated, through.rank(),
                 through.size()),
          worked_(roles_.works() ? tensors_ : layout{}),
          compressor_(options.compressor.bind(worked_)),
          codec_(compressor_),
          exchange_(tensors_, worked_, roles_, through, codec_, checked(options),
                    remembered_by(compressor_)) {
        std::unique_ptr<server_node> serving;
        if (roles_.serves())
            serving = std::make_unique<server_node>(options, tensors_, exchange_.own_shard(),
                                                    roles_, through);
        exchange_.serve_by(std::move(serving));
    }

    data::share share() const noexcept {
        if (!roles_.works()) return {0, 0};
        return {roles_.own_worker(), roles_.workers()};
    }

    /// Where ranks come and go this rank and the servers see to it that they fit.
    bool introduce(const std::string& configuration) { return exchange_.introduce(configuration); }

    /// Gets the parameters from the servers. Its rounds that any of them has had since this `fit`
    /// began are not done again: of a worker that comes back, or that begins where servers go on
    /// from a checkpoint. What another server had not had of them by then is lost.
    std::int64_t begin(std::span<float> parameters) {
        return with_rollback([&] { return exchange_.begin(parameters); });
    }

    epoch_agreement begin_epoch(const epoch_plan& plan) {
        return {.rounds = plan.rounds(), .stop = plan.stop != 0};
    }

    template <class Model>
    round_report round(round_input<Model>& job, std::span<float> parameters) {
        return with_rollback([&] { return attempt(job, parameters); });
    }

    /// Serves until all ranks are done; then all hold the same parameters.
    ///   errors  invalid_option: no rank had any examples, so that no server took a step
    void finish(std::span<float> parameters) {
        with_rollback([&] { exchange_.finish(parameters); });
        if (!exchange_.has_trained()) detail::refuse_no_examples();
    }

    /// A call of `fit` has ended, by an exception or not.
    void end_fit() noexcept { exchange_.end_fit(); }

    /// The state that packs what this rank pushes.
    const auto& compressor() const noexcept { return compressor_; }
    /// Null where this rank does not serve.
    const served_shard* server() const noexcept {
        return exchange_.server() ? &exchange_.server()->server() : nullptr;
    }
    /// Which ranks serve and which work.
    const server_roles& roles() const noexcept { return roles_; }
    /// What this rank's server takes, and what it has seen until now; nothing where it is none.
    std::optional<server_memory> memory_of_server() const {
        return exchange_.server() ? std::optional(exchange_.server()->memory()) : std::nullopt;
    }
    std::optional<server_report> report_of_server() const {
        return exchange_.server() ? std::optional(exchange_.server()->report()) : std::nullopt;
    }
    /// Ranks that went while that was survived, why, and what servers among them have forgotten of
    /// this rank's rounds; in order.
    std::span<const rank_loss> losses() const noexcept { return exchange_.losses(); }
    /// Whether a server that fails begins with what its next process starts from.
    bool servers_forget() const noexcept { return exchange_.servers_forget(); }

private:
    const serving& checked(const Options& options) const {
        require_messages(compressor_);
        require_option("parameter_server", "every", options.servers.every, allowed::at_least(1));
        require_one_server_for_backups(options);
        require_arrivals_apart(options.servers.record_arrivals, options.servers.replay_arrivals,
                               roles_.servers());
        return options.servers;
    }

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

    /// Bytes.
    static double remembered_by(state_of<compressor_options>& state) {
        double found = 0.0;
        compressing::visit(state, [&found](std::string_view, auto&& value, auto...) {
            if constexpr (requires { value.size_bytes(); })
                found += static_cast<double>(value.size_bytes());
        });
        return found;
    }

    template <class Action>
    auto with_rollback(Action action) -> decltype(action()) {
        return detail::with_rollback(exchange_.through(), action,
                                     [this]() noexcept { compressing::rollback(compressor_); });
    }

    template <class Model>
    round_report attempt(round_input<Model>& job, std::span<float> parameters) {
        round_report report = exchange_.begin_round(job.step, job.examples);
        stopwatch watch(exchange_.through());
        compressing::begin_round(compressor_, exchange_.as_worker(job.epoch));
        gradient_work computed(exchange_.through(), job);
        report.loss =
            job.model.gradient(parameters, job.batch, exchange_.gradient(), [&](const tensor& t) {
                computed.is_ready(t);
                exchange_.serve();
            });
        computed.end();
        exchange_.exchange(job.epoch, report, watch);
        if (report.dropped)
            compressing::rollback(compressor_);
        else
            compressing::commit(compressor_);
        exchange_.end_round(parameters, report, watch);
        return report;
    }

    layout tensors_;
    server_roles roles_;
    layout worked_;  // what gradients are computed of: nothing where this rank only serves
    state_of<compressor_options> compressor_;
    codec_of<compressor_options> codec_;
    parameter_exchange exchange_;
};

}  // namespace sotto::detail
