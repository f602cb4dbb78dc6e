#pragma once

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/strategies/detail/codistillation/transport_exchange_state.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Groups of one world send each other their models.
///   math    with none, fp16 or bf16 the parameters themselves. By another compressor how they have
///           changed: c += C(x - c), c being what others know of x; the first time all of it
///   wire    a wire::model_message of the model's buffers, a double a group, its loss on this
///           one's data, and a message a tensor, from the rank
///           that speaks for a group to those of its students. A group whose last model has not
///           arrived everywhere publishes none: nobody waits. A byte where students have heard
///           nothing for 5 s, and where training ends a message that is empty: each `fit` ends when
///           all groups' have, however slow some are
///   cost    a model's bytes a student and interval; memory for two models and two a teacher
///   errors  invalid_option: groups that are jobs of their own
template <class Compressor = none>
struct transport_exchange {
    static_assert(
        compressor<Compressor>,
        "transport_exchange: the policy must be a compressor: it needs bind(const layout&), and "
        "its state encode(tensor, span<const float> gradient, bytes& out) and "
        "decode_add(tensor, byte_view message, span<float> sum)");
    static_assert(detail::sends_whole<Compressor> || detail::contractive<Compressor>,
                  "transport_exchange: what was not sent of a model is sent with its next, so the "
                  "compressor must not remember it as well, and its messages must never be further "
                  "from what they say than nothing is: use none{}, fp16{}, bf16{}, top_k{}, "
                  "random_k{}, scaled_sign{} or scaled_down{qsgd{}}");

    Compressor compressor{};  // of how models change

    auto bind(const detail::meeting_place& place) const {
        if (place.leaders.empty())
            throw invalid_option(
                "transport_exchange: groups that are jobs of their own, see codistillation_groups, "
                "have no transport in common; let them meet in a folder: checkpoint_exchange");
        return detail::transport_exchange_state<Compressor>(compressor, place);
    }

    void describe(auto&& field) const { field("compressor", compressor); }
};

template <class C>
transport_exchange(C) -> transport_exchange<C>;

}  // namespace sotto
