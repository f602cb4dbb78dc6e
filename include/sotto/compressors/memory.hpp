#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"

namespace sotto {

/// The state that a memory's options become.
template <class M>
using bound_memory_of =
    decltype(std::declval<const M&>().bind_memory(std::declval<const layout&>()));

}  // namespace sotto

namespace sotto::detail {
/// Any answer to which tensors are exchanged dense, to ask whether a memory can be shown.
struct none_summed {
    bool operator()(const tensor&) const noexcept { return false; }
};
}  // namespace sotto::detail

namespace sotto {

/// What is remembered of a gradient that was not sent. Options have `bind_memory(layout)` and say
/// by `static constexpr bool holds_momentum` whether momentum is applied inside; the state has
///   accumulate(tensor, gradient, scale) -> values   takes scale * gradient in, once a round and
///                                                   tensor; the values are what may be sent now
///   take(tensor, indices, sent, sparsity)           these entries are being sent, as these values
///   after_sum(tensor, sum)                          for tensors exchanged dense: what the
///                                                   optimizer sees of the sum. To a server go
///                                                   terms of it: it is called with each worker's
///                                                   own, once a round too, and must be linear
///   commit(), rollback()                            see compressor
///   visit(field, summed)                            field(name, values, kept) for everything to be
///                                                   saved; summed(tensor) tells which tensors are
///                                                   exchanged dense. Needed also where nothing
///                                                   is: what it leaves out is lost by a crash
/// and may have, to do the two at once for the k largest,
///   step(tensor, gradient, scale, k, sparsity, top_k_scratch) -> selection
///                                                   accumulates, selects and takes all of the
///                                                   values out
///   give_back(tensor, indices, rests)               what of them is not sent after all
/// and, where sums of what was sent may be selected from once more,
///   take_back(tensor, indices, values)              these sums, to which any rank may have given,
///                                                   are not applied: they are remembered here,
///                                                   also in rounds without accumulate. The spans
///                                                   stay as they are until commit or rollback
template <class M>
concept memory = requires(const M& options, const layout& tensors) {
    { M::holds_momentum } -> std::convertible_to<bool>;
    options.bind_memory(tensors);
}
&&requires(bound_memory_of<M>& state, const tensor& t, std::span<const float> values,
           std::span<const std::uint32_t> indices, std::span<float> sum,
           const detail::idle_visitor& field, const detail::none_summed& summed) {
    { state.accumulate(t, values, 1.0f) } -> std::convertible_to<std::span<const float>>;
    state.take(t, indices, values, 0.999);
    state.after_sum(t, sum);
    state.commit();
    state.rollback();
    state.visit(field, summed);
};

}  // namespace sotto
