#pragma once

#include <cstdint>
#include <type_traits>

#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/detail/all_reduce/all_reduce_state.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// Every rank computes a gradient on its share of the data, all gradients are added up, every rank
/// takes the same step. A tensor's message leaves as soon as its gradient is ready, while earlier
/// layers still compute.
///   math    g = sum over ranks of (examples of the rank / examples of the round) * mean gradient
///           of the rank;  every rank then holds bit-identical parameters. A rank whose data are
///           used up has no part in that mean; what its compressor remembers goes on being sent.
///           Other strategies take plain means over ranks: rounds of bulk_synchronous, meetings of
///           local_updates, and gossip
///   wire    what can be summed is summed by the collective; other messages are gathered. By
///           default each tensor goes the way its compressor says. Tensors that are summed and
///           small share a sum, and so its latency, up to bucket_bytes; what each becomes is the
///           same, and so are the bytes. Gathered messages travel each alone: how long one is
///           depends on what was selected
///   cost    memory: 8 bytes a weight for gradient and sum, the compressor's and optimizer's own;
///           for a tensor that is summed 4 bytes a weight more and up to four segments of 256 KiB
///           under way (twice that in fp16 and bf16); for one that is gathered room for one message
///           of every rank. Nothing is allocated after the first step
///   errors  non_finite, on the rank whose gradient it is, before anything of it is remembered;
///           peer_failure, of errc::malformed on all ranks where the rank that it names sent what
///           cannot be read. The round then did not take place on any rank: parameters,
///           optimizer and compressor memory stand as after the last completed one.
///           invalid_option, when it is bound: bucket_bytes below 0
template <class Optimizer = sgd, class Compressor = none,
          class Collective = detail::collectives::fitting>
struct all_reduce {
    static_assert(
        optimizer<Optimizer>,
        "all_reduce: the first policy must be an optimizer: it needs bind(layout) with "
        "begin_step(step_info, gradient) and update(tensor, parameters, gradient) noexcept");
    static_assert(
        detail::binds_to_layout<Compressor>,
        "all_reduce: the second policy must be a compressor: it needs bind(const layout&) "
        "const, which returns its state");
    static_assert(!detail::binds_to_layout<Compressor> || detail::encodes<Compressor>,
                  "all_reduce: the compressor's state needs encode(tensor, span<const float> "
                  "gradient, bytes& out)");
    static_assert(!detail::binds_to_layout<Compressor> || detail::decodes<Compressor>,
                  "all_reduce: the compressor's state needs decode_add(tensor, byte_view message, "
                  "span<float> sum)");
    static_assert(detail::collectives::collective<Collective>,
                  "all_reduce: the third policy must be a collective, such as collectives::ring{}");
    static_assert(!detail::collectives::summing<Collective> || !compressor<Compressor> ||
                      detail::summable<Compressor>,
                  "all_reduce: this compressor's messages cannot be added up, so a summing "
                  "collective cannot carry them: leave the collective out, use "
                  "collectives::all_gather{}, or make the compressor summable: sums, payload_size, "
                  "pack and unpack");
    static_assert(
        !std::is_same_v<Collective, collectives::sparse_reduce_scatter> ||
            !compressor<Compressor> || detail::takes_back<Compressor>,
        "all_reduce: collectives::sparse_reduce_scatter selects from sums of entries once "
        "more, so it needs a sparse compressor whose memory takes back what is not "
        "selected, such as dgc or sparsified{top_k{}, residual{}}: decode, entries_max "
        "and take_back");
    static_assert(
        !detail::holds_momentum<Compressor> || detail::linear_optimizer<Optimizer>,
        "all_reduce: this compressor's memory already holds the momentum, so the optimizer must be "
        "plain "
        "sgd (or a schedule of it): momentum, AdamW or clipping would be applied a second time");

    Optimizer optimizer{};              // takes the step
    Compressor compressor{};            // makes messages of gradients
    Collective collective{};            // exchanges them
    std::int64_t bucket_bytes = 16384;  // of small tensors that are summed together; 0: each alone

    static constexpr bool synchronous = true;

    auto bind(const layout& tensors, transport_ref through) const {
        return detail::all_reduce_state<all_reduce>(*this, tensors, through);
    }

    void describe(auto&& field) const {
        field("optimizer", optimizer);
        field("compressor", compressor);
        field("collective", collective);
        field("bucket_bytes", bucket_bytes);
    }
};

template <class Optimizer>
all_reduce(Optimizer) -> all_reduce<Optimizer>;
template <class Optimizer, class Compressor>
all_reduce(Optimizer, Compressor) -> all_reduce<Optimizer, Compressor>;
template <class Optimizer, class Compressor, class Collective>
all_reduce(Optimizer, Compressor, Collective) -> all_reduce<Optimizer, Compressor, Collective>;
template <class Optimizer, class Compressor, class Collective>
all_reduce(Optimizer, Compressor, Collective, std::int64_t)
    -> all_reduce<Optimizer, Compressor, Collective>;

}  // namespace sotto
