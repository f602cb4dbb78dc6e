#pragma once

#include "sotto/core/layout.hpp"
#include "sotto/distillation/distillation_loss.hpp"
#include "sotto/distillation/distillation_weight.hpp"
#include "sotto/distillation/soft_cross_entropy.hpp"
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"
#include "sotto/strategies/codistillation/exchanges/teacher_exchange.hpp"
#include "sotto/strategies/detail/codistillation/codistillation_state.hpp"
#include "sotto/strategies/detail/codistillation/teacher_status.hpp"
#include "sotto/strategies/model_groups.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// Several models are trained at once, each by a group of ranks and any other strategy; each also
/// learns to say what the others say. Groups see each other's models as they were some steps ago,
/// and wait for none.
///   math    gradient of phi(y, F(theta_i, x)) + weight x psi(q, F(theta_i, x)), q the mean over
///           the other groups j of what F(theta_j as last seen, x) means to psi; an exchange may
///           have other teachers, finished_models those of an earlier training
///   shape   ranks 0..N-1 form `count` groups of neighbours, as equal as can be; each reads a shard
///           of the data of its own but for the part in common, starts from parameters of its own,
///           shuffles by itself, and has its own steps, evaluations and checkpoints. Groups that
///           are jobs of their own have the same data, count, common and seed of the trainer, by
///           which shards are dealt: who says otherwise is left out
///   wire    inside a group what its strategy sends, and every `every` steps a new teacher's model
///           once to each rank, where ranks are in step, and 1 KiB a teacher in each round in which
///           one is still being read; between groups a model for each student
///           every `every` steps
///   cost    a pass forward a step and teacher; memory of a model for each, and for one more
///   again   a run that goes on from checkpoints has the same bits with prediction_exchange and
///           finished_models. Other exchanges' models are no part of a checkpoint: they are looked
///           for at once, and what this group knew of them is known anew. Groups of one job go on
///           from the newest step that all of them have
///   errors  invalid_option, when it is bound: options that cannot be. A teacher that is missing,
///           broken, old or worse is left out and never an error, unless the exchange says that it
///           is: see teacher_rules. A rank that fails ends its job, and so all groups of one job;
///           groups that are jobs of their own outlive each other
///   source  Anil et al. 2018, Large scale distributed neural network training through online
///           distillation, arXiv:1804.03235
template <class GroupStrategy, class Loss = soft_cross_entropy,
          class Exchange = checkpoint_exchange, class Weight = constant_weight>
struct codistillation {
    static_assert(distillation_loss<Loss>,
                  "codistillation: the second policy must be a distillation_loss: it needs "
                  "add(teacher, outputs, share, targets), value(logits, outputs, targets) and "
                  "gradient(logits, outputs, targets, weight, out)");
    static_assert(detail::distillation_weight<Weight>,
                  "codistillation: the fourth policy must be a distillation_weight: it needs "
                  "at(step) and check()");
    static_assert(detail::conducting::in_step<GroupStrategy> ||
                      detail::exchanges_by_each_rank<Exchange>,
                  "codistillation: ranks of the first policy are not in step, so each of them must "
                  "find teachers by itself: the third policy must be checkpoint_exchange{} or "
                  "another one that says `by_each_rank = true`");

    /// The type of `groups`.
    using group_options = codistillation_groups;

    GroupStrategy strategy{};          // by which a group trains
    Loss loss{};                       // that pulls students to teachers
    Exchange exchange{};               // how groups hear of each other
    codistillation_groups groups{};    // which groups there are
    Weight weight{};                   // of the pull, in time
    detail::teacher_rules teachers{};  // which of them are heard

    static constexpr bool needs_logits = true;
    static constexpr bool synchronous = GroupStrategy::synchronous;
    static constexpr bool in_step = detail::conducting::in_step<GroupStrategy>;

    auto bind(const layout& tensors, transport_ref through) const {
        static_assert(
            detail::exchanges_predictions<Exchange> || detail::teacher_exchange<Exchange>,
            "codistillation: the third policy must be a teacher_exchange, such as "
            "checkpoint_exchange{} or transport_exchange{}, or prediction_exchange{}: it needs "
            "bind(meeting_place) with "
            "publish(kind, facts, parameters, buffers, students), look(kind, group, after) and "
            "problem()");
        return detail::codistillation_state<codistillation>(*this, tensors, through);
    }

    void describe(auto&& field) const {
        field("strategy", strategy);
        field("loss", loss);
        field("exchange", exchange);
        field("groups", groups);
        field("weight", weight);
        field("teachers", teachers);
    }
};

template <class S>
codistillation(S) -> codistillation<S>;
template <class S, class L>
codistillation(S, L) -> codistillation<S, L>;
template <class S, class L, class E>
codistillation(S, L, E) -> codistillation<S, L, E>;
template <class S, class L, class E>
codistillation(S, L, E, codistillation_groups) -> codistillation<S, L, E>;
template <class S, class L, class E, class W>
codistillation(S, L, E, codistillation_groups, W) -> codistillation<S, L, E, W>;
template <class S, class L, class E, class W>
codistillation(S, L, E, codistillation_groups, W, detail::teacher_rules)
    -> codistillation<S, L, E, W>;

}  // namespace sotto
