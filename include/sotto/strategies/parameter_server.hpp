#pragma once

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/no_compensation.hpp"
#include "sotto/staleness/staleness_compensator.hpp"
#include "sotto/strategies/detail/parameter_server/parameter_server_state.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/consistency.hpp"
#include "sotto/strategies/parameter_server/serving.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// Servers hold the parameters; each worker computes a gradient at those that it has read, pushes
/// it to the servers and reads the parameters anew, when the consistency lets it.
///   math    see shard_server. Each server owns a range of the tensors, and takes steps of its own
///   shape   a round of a worker is one gradient. What ranks hold differs between rounds; after
///           `fit` all hold the same, what the servers have then
///   wire    a push to each server, see wire/detail/protocols/push.hpp, with the compressor's
///           messages; back come 64 bytes, and the server's parameters as they are in memory, or,
///           where steps go by entries, those that have changed since the worker read: a
///           wire::sparse_block
///   cost    a server: 4 bytes a parameter of its own for each version in use, see version_store, 4
///           for a gradient, and what optimizer, compensator and decoding take of its own
///           parameters; server_memory says how much in all. A worker: 8 bytes a parameter, its
///           pushes, which are 4 more where they are dense, and the compressor's
///   errors  non_finite, on the rank whose gradient it is; peer_failure, of errc::malformed where
///           the rank that it names sent what cannot be read. Where ranks may leave, only that
///           worker ends, and the others train on;
///           invalid_option, when it is bound: servers below 1 or beyond the ranks, no worker,
///           backup workers with several servers, or one file to record and to replay;
///           mismatch: an order of arrivals that cannot be followed
///   source  Li et al. 2014, Scaling Distributed Machine Learning with the Parameter Server, OSDI
template <class Optimizer = sgd, class Consistency = asynchronous,
          class Compensator = no_compensation, class Compressor = none>
struct parameter_server {
    static_assert(
        optimizer<Optimizer>,
        "parameter_server: the first policy must be an optimizer: it needs bind(layout) with "
        "begin_step(step_info, gradient) and update(tensor, parameters, gradient) noexcept");
    static_assert(
        consistency<Consistency>,
        "parameter_server: the second policy must be a consistency, such as asynchronous{}, "
        "stale_synchronous{.bound = 3} or bulk_synchronous{}: it needs bind(workers), and its "
        "state start, attach, overlook, detach, pushed, may_go, clock, collects, round_complete, "
        "in_round, end_round, is_late and weight");
    static_assert(staleness_compensator<Compensator>,
                  "parameter_server: the third policy must be a staleness compensator: it needs "
                  "bind(layout, workers) with begin(late_gradient), which returns a factor");
    static_assert(
        !staleness_compensator<Compensator> || !detail::only_for_rounds<Compensator> ||
            detail::bulk_consistency<Consistency>,
        "parameter_server: this compensator corrects the gradients of one round by each other, so "
        "the consistency must be bulk_synchronous: with another one use delay_compensation or "
        "delay_compensation_adaptive");
    static_assert(
        !staleness_compensator<Compensator> || !detail::only_for_rounds<Compensator> ||
            detail::linear_optimizer<Optimizer>,
        "parameter_server: this compensator makes a step of every gradient of a round, so the "
        "optimizer must be plain sgd (or a schedule of it): momentum or Adam would decay once for "
        "each worker");
    static_assert(!detail::adapts_rate<Compensator> || detail::optimizing::tells_rate<Optimizer>,
                  "parameter_server: this compensator needs the learning rate of a step, which the "
                  "optimizer does not tell: give its state rate_at(round_info), or use "
                  "inverse_staleness");
    static_assert(detail::binds_to_layout<Compressor> && detail::encodes<Compressor> &&
                      detail::decodes<Compressor>,
                  "parameter_server: the fourth policy must be a compressor: it needs bind(const "
                  "layout&), and its state encode(tensor, span<const float> gradient, bytes& out) "
                  "and decode_add(tensor, byte_view message, span<float> sum)");
    static_assert(!compressor<Compressor> ||
                      !detail::compressing::has_after_sum<state_of<Compressor>>,
                  "parameter_server: this compressor's messages change an estimate that all ranks "
                  "keep alike, which a server's workers do not: use another one, such as dgc or "
                  "sparsified{top_k{}, residual{}}");
    static_assert(
        !detail::holds_momentum<Compressor> || detail::linear_optimizer<Optimizer>,
        "parameter_server: this compressor's memory already holds the momentum, so the optimizer "
        "must be plain sgd (or a schedule of it): momentum, AdamW or clipping would be applied a "
        "second time");

    Optimizer optimizer{};      // takes the servers' steps
    Consistency consistency{};  // how far workers may drift
    Compensator compensator{};  // what becomes of late gradients
    Compressor compressor{};    // of what is pushed
    serving servers{};          // which ranks serve

    static constexpr bool synchronous = false;

    auto bind(const layout& tensors, transport_ref through) const {
        return detail::parameter_server_state<parameter_server>(*this, tensors, through);
    }
    void describe(auto&& field) const {
        field("optimizer", optimizer);
        field("consistency", consistency);
        field("compensator", compensator);
        field("compressor", compressor);
        field("servers", servers);
    }
};

template <class O>
parameter_server(O) -> parameter_server<O>;
template <class O, class C>
parameter_server(O, C) -> parameter_server<O, C>;
template <class O, class C, class S>
parameter_server(O, C, S) -> parameter_server<O, C, S>;
template <class O, class C, class S, class K>
parameter_server(O, C, S, K) -> parameter_server<O, C, S, K>;
template <class O, class C, class S, class K>
parameter_server(O, C, S, K, serving) -> parameter_server<O, C, S, K>;

}  // namespace sotto
