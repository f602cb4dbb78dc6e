#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/detail/rank_loss.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/detail/round_input.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/server_report.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// What a rank brings to an epoch. It travels as its bytes, so it has no padding and no bool.
struct epoch_plan {
    std::int64_t examples = 0;     // in this rank's share of the data
    std::int64_t batch_size = 1;   // examples of a round
    std::int64_t stop = 0;         // not 0: this rank asks that training end here
    std::int64_t first_round = 0;  // rounds of this epoch that were done before: not 0 where a call
                                   // of `fit` ended inside it and the next resumes it

    /// Those of the whole epoch by this rank's own share.
    constexpr std::int64_t rounds() const noexcept {
        return examples / batch_size + (examples % batch_size != 0);
    }
};

}  // namespace sotto::detail

namespace sotto {
static_assert(std::has_unique_object_representations_v<detail::epoch_plan>);

}  // namespace sotto

namespace sotto::detail {

/// What the ranks make of it.
struct epoch_agreement {
    std::int64_t rounds = 0;  // of the whole epoch, first_round included, to be done by this rank,
                              // though its own data may last for fewer
    bool stop = false;        // training ends before this epoch
};

/// Where a call of `fit` begins on a rank that comes while others are in it, or past it.
struct fit_start {
    std::int64_t rounds = 0;  // of this call, that come before the first one of this process
    bool is_over = false;     // others are in a later call: this one is passed
    std::int64_t steps = 0;   // where it is: of all calls that are over
};

/// Without examples on any rank nothing can be trained.
[[noreturn]] void refuse_no_examples();

/// The least that a model can be, to ask whether a strategy can train.
struct probe_model {
    struct batch_type {};
    const sotto::layout& layout() const;
    void initialise(std::span<float>, random_stream) const;
    template <class OnReady>
    double gradient(std::span<const float>, const batch_type&, std::span<float>, OnReady&&);
};
}  // namespace sotto::detail

namespace sotto {

/// The state that a strategy's options become on one rank.
template <class S>
using strategy_state = decltype(std::declval<const S&>().bind(std::declval<const layout&>(),
                                                              std::declval<transport_ref&>()));

/// What one training round is: which data a rank reads, what is exchanged when, where the optimizer
/// runs, and how a failed round is undone. Options have `bind(layout, transport)`; the state, which
/// refers to the transport, has
///   share() -> data::share                     which part of the data this rank reads; none of it
///                                              with count 0
///   begin_epoch(epoch_plan) -> epoch_agreement called before the first round of every epoch, and
///                                              before an epoch is resumed, by every rank
///   round(round_input, parameters) -> round_report    moves `parameters`; when it throws, they and
///                                              everything remembered stand as after the last
///                                              completed round
/// and may have
///   introduce(configuration) -> bool           called once, before all else: whether the strategy
///                                              itself compares the trainer's configuration, and
///                                              what training starts from, with other ranks'. Then
///                                              nothing is done together, as ranks may come at any
///                                              time; false where it is left out
///   begin(parameters) -> fit_start             called by every `fit` before its first epoch: what
///                                              of it, or the number of rounds alone, an earlier
///                                              process of this rank or others have done, which
///                                              is not done again. A call that is over ends without
///                                              `finish`. Or begin(parameters, buffers): the
///                                              model's, too
///   finish(parameters)                         called by every `fit` after its last round, before
///                                              the last evaluation: drains what is under way; a
///                                              server goes on serving until every worker has
///                                              finished. Not called when something threw, nor by
///                                              a `fit` of 0 steps or epochs. It may return a
///                                              round_report of what that cost; what it puts on
///                                              the wire counts in any case
///   start_group() -> std::int64_t              ranks with the same number start from the same
///                                              parameters and shuffle alike; 0 for all where it is
///                                              left out. The number must not change
///   order_group() -> std::int64_t              the same for the order alone, where it is another
///   sender_for(rank) -> int                    which rank sends what `rank` remembers of its
///                                              gradients: that a run resumed by another number of
///                                              ranks puts it there. The same on all ranks; `rank`
///   memory_of_server() -> std::optional<server_memory>, report_of_server() ->
///   std::optional<server_report>               where this rank serves others: for logs
///   end_fit() noexcept                         called at the end of every `fit`, also of one that
///                                              throws
///   graph() -> topologies::mixing_graph        where ranks mix with neighbours: for logs
///   weight() -> double                         what this rank's parameters weigh in the mean that
///                                              evaluations are of; all weigh alike
///   losses() -> range of rank_loss             ranks that went while others trained on
///   servers_forget() -> bool                   whether a server that fails begins anew
///   together() -> a transport                  of the ranks that train one model with this one,
///                                              where that is not all: they are in step, evaluate
///                                              and write checkpoints among themselves
///   shard() -> data::shard                     which examples they read at all; all
///   deal(how)                                  called by every `fit` before begin: how examples
///                                              are dealt to shards, as data::deal_of says; empty
///                                              where they are this rank's alone
///   model_name() -> std::string                what theirs is called: checkpoints of several
///                                              models lie in folders of their own, and their
///                                              logs in files
///   range_of_models(value) -> pair             the least and the most of what ranks of all models
///                                              give it, all of which ask at once: where they
///                                              resume; its own twice
///   looks_ahead() -> bool                      whether a round is to have the next one's batch,
///                                              too; no
/// `static constexpr bool synchronous` in the options says that after a round all ranks hold the
/// same parameters: an evaluation is then shared out among them. Otherwise a rank may be without
/// data and rounds of its own: a server that only serves, or a worker whose share is empty. Its
/// `fit` calls `finish` at once, which throws invalid_option if no rank had any.
/// `static constexpr bool in_step` says that all ranks do the same number of rounds, and evaluate
/// when others do, though each has parameters of its own: an evaluation is then of their mean. It
/// is what `synchronous` is where it is left out. `static constexpr bool needs_logits` says that it
/// asks models for more than gradients: they must be predictors.
template <class S, class Model = detail::probe_model>
concept strategy = requires(strategy_state<S>& state, const detail::epoch_plan& plan,
                            detail::round_input<Model>& job, std::span<float> parameters) {
    { S::synchronous } -> std::convertible_to<bool>;
    { state.share() } -> std::convertible_to<detail::data::share>;
    { state.begin_epoch(plan) } -> std::convertible_to<detail::epoch_agreement>;
    { state.round(job, parameters) } -> std::convertible_to<round_report>;
};

}  // namespace sotto

/// What a strategy's options and state may have, with the default for those that do not.
namespace sotto::detail::conducting {

/// All ranks do the same number of rounds.
template <class S>
inline constexpr bool in_step = [] {
    if constexpr (requires { S::in_step; })
        return static_cast<bool>(S::in_step);
    else
        return static_cast<bool>(S::synchronous);
}();

/// Ranks may be gone that others do without, by what it is.
template <class S>
inline constexpr bool loses_ranks = [] {
    if constexpr (requires { S::survives; })
        return static_cast<bool>(S::survives);
    else
        return false;
}();

/// Models must be predictors.
template <class S>
concept needs_logits = requires {
    requires S::needs_logits;
};

template <class State>
bool introduce(State& state, const std::string& configuration) {
    if constexpr (requires { state.introduce(configuration); })
        return state.introduce(configuration);
    else
        return false;
}

template <class State>
fit_start begin(State& state, std::span<float> parameters, std::span<float> buffers) {
    if constexpr (requires { state.begin(parameters, buffers); })
        return fit_start{state.begin(parameters, buffers)};
    else if constexpr (requires { state.begin(parameters); })
        return fit_start{state.begin(parameters)};
    else
        return {};
}

/// What it cost, as far as it says: it belongs to no round.
template <class State>
round_report finish(State& state, std::span<float> parameters) {
    if constexpr (requires { round_report(state.finish(parameters)); })
        return state.finish(parameters);
    else if constexpr (requires { state.finish(parameters); })
        state.finish(parameters);
    return {};
}

/// The same, with the bytes that the transport counted meanwhile.
template <class State>
round_report finish(State& state, std::span<float> parameters, transport_ref through) {
    const traffic before = through.counters();
    round_report cost = finish(state, parameters);
    const traffic after = through.counters();
    cost.bytes_sent = after.bytes_sent - before.bytes_sent;
    cost.bytes_received = after.bytes_received - before.bytes_received;
    return cost;
}

/// Ranks may start from different parameters.
template <class State>
inline constexpr bool has_start_groups = requires(const State& state) {
    { state.start_group() } -> std::convertible_to<std::int64_t>;
};

template <class State>
int sender_for(const State& state, int rank) {
    if constexpr (requires { state.sender_for(rank); })
        return state.sender_for(rank);
    else
        return rank;
}

template <class State>
std::optional<server_memory> memory_of_server(const State& state) {
    if constexpr (requires { state.memory_of_server(); })
        return state.memory_of_server();
    else
        return std::nullopt;
}

template <class State>
std::optional<server_report> report_of_server(const State& state) {
    if constexpr (requires { state.report_of_server(); })
        return state.report_of_server();
    else
        return std::nullopt;
}

/// A call of `fit` has ended.
template <class State>
void end_fit(State& state) noexcept {
    if constexpr (requires { state.end_fit(); }) state.end_fit();
}

/// A call of `fit`: the strategy's state learns of its end, also by an exception.
template <class State>
class fit_scope {
public:
    /// Of this strategy's state.
    explicit fit_scope(State& state) noexcept : state_(&state) {}
    fit_scope(const fit_scope&) = delete;
    fit_scope& operator=(const fit_scope&) = delete;
    /// The call has ended.
    ~fit_scope() { end_fit(*state_); }

private:
    State* state_;
};

/// Its own, or that of the strategy inside it.
template <class State>
std::optional<topologies::mixing_graph> mixing_graph_of(State& state) {
    if constexpr (requires { state.graph(); })
        return state.graph();
    else if constexpr (requires { state.outer().graph(); })
        return state.outer().graph();
    else
        return std::nullopt;
}

/// The state says what its parameters weigh in a mean.
template <class State>
inline constexpr bool weighs_itself = requires(State& state) {
    state.weight();
}
|| requires(State& state) {
    state.outer().weight();
};

/// What this rank's parameters weigh in the mean: as it says, or the strategy inside it.
template <class State>
double weight(State& state) {
    if constexpr (requires { state.weight(); })
        return state.weight();
    else if constexpr (requires { state.outer().weight(); })
        return state.outer().weight();
    else
        return 1.0;
}

template <class State>
std::vector<rank_loss> losses(const State& state) {
    if constexpr (requires { state.losses(); })
        return {state.losses().begin(), state.losses().end()};
    else
        return {};
}

/// The ranks that train one model: these, or all.
template <class State>
transport_ref together(State& state, transport_ref all) {
    if constexpr (requires { state.together(); })
        return state.together();
    else
        return all;
}

template <class State>
data::shard shard(const State& state) {
    if constexpr (requires { state.shard(); })
        return state.shard();
    else
        return {};
}

template <class State>
void deal(State& state, bool own, std::uint64_t seed, std::int64_t examples) {
    if constexpr (requires { state.deal(std::string()); })
        state.deal(own ? std::string() : sotto::data::deal_of(shard(state), seed, examples));
}

template <class State>
std::string model_name(const State& state) {
    if constexpr (requires { state.model_name(); })
        return state.model_name();
    else
        return {};
}

template <class State>
std::pair<std::int64_t, std::int64_t> range_of_models(State& state, std::int64_t own) {
    if constexpr (requires { state.range_of_models(own); })
        return state.range_of_models(own);
    else
        return {own, own};
}

template <class State>
bool looks_ahead(const State& state) {
    if constexpr (requires { state.looks_ahead(); })
        return state.looks_ahead();
    else
        return false;
}

template <class State>
bool servers_forget(const State& state) {
    if constexpr (requires { state.servers_forget(); })
        return state.servers_forget();
    else
        return false;
}

}  // namespace sotto::detail::conducting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/strategy.ipp"
#endif
