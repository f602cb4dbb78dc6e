#pragma once

#include <cstdint>
#include <type_traits>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/detail/gossip/gossip_pairs.hpp"
#include "sotto/strategies/detail/gossip/gossip_state.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"
#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/strategies/gossip/mixing/adapt_then_combine.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"
#include "sotto/topologies/ring.hpp"
#include "sotto/topologies/topology.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// What gossip does beside mixing.
struct gossip_options {
    /// Every so many steps, the first among them, it is measured exactly how far ranks are apart,
    /// in all and by tensor, and the critical distance is estimated; 0: never. Takes three
    /// all-reduces, so that it is for studies.
    std::int64_t measure_every = 0;

    void describe(auto&& field) const { field("measure_every", measure_every); }
};

/// In place of gossip_options: ranks may die and come again while the others go on, where the
/// transport can.
///   links   those of a rank that goes are dropped, and the others weigh as in the graph that is
///           left, see topologies::live_weight: rows still add up to 1, the matrix stays
///           symmetric, and on the complete graph all take their mean again. A round in which no
///           link breaks keeps the mean of the ranks that it mixes. In one in which a rank goes,
///           what had come of it counts, by whole segments, what it weighed is else each
///           neighbour's own, and the mean of the others moves at most by its weights towards it.
///           Where losses cut the graph in parts, each trains on by itself
///   again   a rank that comes again fetches the parameters, and the model's buffers, of the
///           neighbour that is furthest, with an optimizer that remembers nothing, and goes on
///           where that one is in the call of `fit` under way; calls before that one do nothing
///           but evaluate, if asked to. Nobody waits for it before its first round
///   rounds  all do as many in a step: where a controller measures, the rank that has been there
///           for longest decides, by its own epochs; the first step of each `fit` agrees on these
///   epochs  each rank goes through its own share of the data, and ends when it has: nobody reads
///           that of a rank which is gone. `evaluate` is of a rank's own parameters
///   errors  invalid_option: links that weigh otherwise the other way; patience not above 0.
///           peer_failure: of a neighbour that this rank waits for in a round nothing came for
///           `patience`; or, for twice that, nothing of whom it waits for who may wait itself: who
///           answers when `fit` begins, hands over parameters or sums up. Time in which this rank
///           is halted does not count, and the error says after how long. At the end of `fit` that
///           is no error: it ends, and fit_report::losses has those that are not done. Who comes
///           again and again without getting further keeps nobody waiting
struct surviving {
    double patience = 60.0;  // seconds

    void describe(auto&& field) const { field("patience", patience); }
};

/// No server: each rank takes steps on its own data, and mixes its parameters with those of its
/// neighbours, for which alone it waits in a round. How far ranks may be apart decides a
/// controller. All wait for all after every round under one that estimates or measures distances
/// (not under no_control and fixed_rounds), and for a few bytes where an epoch begins and ends (not
/// with surviving{} or by mixing::asynchronous_pairs).
///   math    by default x_i = sum over j of w_ij (x_j - rate g_j(x_j)), as many rounds of mixing as
///           the controller asks for; other methods are in mixing/. The mean over the ranks is
///           kept. All ranks count alike in it, however many examples each has: see all_reduce for
///           gradients weighed by examples
///   shape   each rank holds parameters of its own. An evaluation is of their mean
///   wire    the parameters, to each neighbour and round; what a controller or a study sums beside
///   cost    8 bytes a parameter, the optimizer's memory twice, the method's, and up to 8 MiB for
///           what is under way. A round sends degree * 4 bytes a parameter; where it gives
///           everybody the mean of all it is an all-reduce
///   errors  non_finite, on the rank whose gradient it is; an error of errc::non_finite naming the
///           neighbour; peer_failure, of errc::malformed where the rank that it names sent what
///           cannot be read. This rank's parameters and optimizer then stand as
///           after its last step; ranks do not agree on a step, so that others may have done it.
///           invalid_option, when it is bound: a mixing matrix that does not keep the mean, links
///           that never bring all ranks together; in the round of a matrix that is drawn anew
///   source  Lian et al. 2017, arXiv:1705.09056; Kong et al. 2021, Consensus control for
///           decentralized deep learning, arXiv:2102.04828
template <class Optimizer = sgd, class Topology = topologies::ring, class Control = no_control,
          class Compressor = none, class Mixing = mixing::adapt_then_combine,
          class Rest = gossip_options>
struct gossip {
    static_assert(
        optimizer<Optimizer>,
        "gossip: the first policy must be an optimizer: it needs bind(layout) with "
        "begin_step(step_info, gradient) and update(tensor, parameters, gradient) noexcept");
    static_assert(
        topology<Topology>,
        "gossip: the second policy must be a topology, such as topologies::ring{}: it needs "
        "bind(size) with matrix(round) and period()");
    static_assert(
        consensus_controller<Control>,
        "gossip: the third policy must be a consensus controller, such as no_control{} or "
        "consensus_control{}: it needs bind() with needs(where) and "
        "wants_another(reading)");
    static_assert(
        detail::binds_to_layout<Compressor> && detail::encodes<Compressor> &&
            detail::decodes<Compressor>,
        "gossip: the fourth policy must be a compressor: it needs bind(const layout&), and "
        "its state encode(tensor, span<const float> gradient, bytes& out) and "
        "decode_add(tensor, byte_view message, span<float> sum)");
    static_assert(mixing_method<Mixing>,
                  "gossip: the fifth policy must be a mixing method, such as "
                  "mixing::adapt_then_combine{}: it needs bind(layout)");
    static_assert(std::is_same_v<Compressor, none> || detail::mixing::by_copies<Mixing>,
                  "gossip: parameters that are mixed must be whole: compress what changes them, by "
                  "mixing::choco{} as the fifth policy");
    static_assert(
        !detail::mixing::by_copies<Mixing> || !detail::remembers<Compressor>,
        "gossip: mixing::choco remembers itself what was not sent, so the compressor must "
        "not: use top_k{}, random_k{} or scaled_sign{} without memory");
    static_assert(
        !detail::mixing::by_copies<Mixing> || !detail::unbiased<Compressor>,
        "gossip: mixing::choco needs messages that are never further from what they say than "
        "nothing is: copies that follow those of an unbiased compressor, such as qsgd{} or "
        "terngrad{}, can grow without bound: use scaled_down{qsgd{}}, top_k{}, random_k{} or "
        "scaled_sign{}");
    static_assert(
        !detail::mixing::by_copies<Mixing> || !detail::controlling::estimates<Control>,
        "gossip: by mixing::choco ranks know copies of each other, and no estimate of how far they "
        "are apart: the third policy must be no_control{}, fixed_rounds{} or one that measures "
        "exactly, such as fraction_of_maximum{}, and say `estimates = false`");
    static_assert(
        !detail::mixing::plain_steps<Mixing> || detail::linear_optimizer<Optimizer>,
        "gossip: this mixing method has momentum of its own, so the optimizer must be "
        "plain sgd (or a schedule of it): momentum or Adam would be applied a second time");
    static_assert(
        !detail::mixing::needs_rate<Mixing> || detail::optimizing::tells_rate<Optimizer>,
        "gossip: this mixing method needs the learning rate of a step, which the optimizer "
        "does not tell: give its state rate_at(round_info)");

    static_assert(
        !detail::controlling::needs_rate<Control> || detail::optimizing::tells_rate<Optimizer>,
        "gossip: this consensus controller decides by the learning rate of a step, which the "
        "optimizer does not tell: give its state rate_at(round_info)");

    static_assert(!detail::mixing::in_pairs<Mixing> || std::is_same_v<Control, no_control>,
                  "gossip: pairs that mix when they like have no rounds in common, so the third "
                  "policy must be no_control{}");

    /// Whether ranks may die and come again.
    static constexpr bool survives = std::is_same_v<Rest, surviving>;

    static_assert(survives || std::is_same_v<Rest, gossip_options>,
                  "gossip: the sixth policy must be gossip_options{} or surviving{}");
    static_assert(!survives || detail::mixing::outlives_ranks<Mixing>,
                  "gossip: this mixing method remembers what ranks have been to each other, or "
                  "takes the mean "
                  "of all, so that it does not outlive one: surviving{} goes with "
                  "mixing::adapt_then_combine{}, combine_then_adapt{} and quasi_global_momentum{}");
    static_assert(
        !survives || !detail::controlling::measures_exactly<Control>,
        "gossip: an exact distance is of all ranks: surviving{} goes with controllers that "
        "estimate it, such as consensus_control{}");
    static_assert(
        !detail::controlling::takes_means<Control> ||
            (!survives && !detail::mixing::by_copies<Mixing>),
        "gossip: exact_mean{} takes the mean of all ranks: it goes neither with surviving{}, where "
        "some may be gone, nor with mixing::choco, whose copies know nothing of it");

    Optimizer optimizer{};    // takes each rank's step
    Topology topology{};      // who mixes with whom
    Control control{};        // how often
    Compressor compressor{};  // of what is sent, where a method mixes by_copies
    Mixing mixing{};          // how steps and mixing go together
    Rest options{};           // the rest: gossip_options, or surviving

    static constexpr bool synchronous = false;
    static constexpr bool in_step = !detail::mixing::in_pairs<Mixing> && !survives;

    auto bind(const layout& tensors, transport_ref through) const {
        if (survives && !through.is_tolerant())
            throw invalid_option(
                "gossip: on this transport the loss of a rank ends the job: leave surviving{} out");
        if constexpr (detail::mixing::in_pairs<Mixing>)
            return detail::gossip_pairs<gossip>(*this, tensors, through);
        else
            return detail::gossip_state<gossip>(*this, tensors, through);
    }
    void describe(auto&& field) const {
        field("mixing", mixing);  // first: where ranks differ in it, that is what they are told
        field("optimizer", optimizer);
        field("topology", topology);
        field("control", control);
        field("compressor", compressor);
        field("options", options);
    }
};

template <class O>
gossip(O) -> gossip<O>;
template <class O, class T>
gossip(O, T) -> gossip<O, T>;
template <class O, class T, class C>
gossip(O, T, C) -> gossip<O, T, C>;
template <class O, class T, class C, class K>
gossip(O, T, C, K) -> gossip<O, T, C, K>;
template <class O, class T, class C, class K, class M>
gossip(O, T, C, K, M) -> gossip<O, T, C, K, M>;
template <class O, class T, class C, class K, class M>
gossip(O, T, C, K, M, gossip_options) -> gossip<O, T, C, K, M>;
template <class O, class T, class C, class K, class M>
gossip(O, T, C, K, M, surviving) -> gossip<O, T, C, K, M, surviving>;

}  // namespace sotto
