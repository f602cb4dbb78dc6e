#pragma once

#include "sotto/trainer/detail/checkpointing/resuming.hpp"

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/core/config.hpp"
#include "sotto/trainer/detail/agreement.hpp"
#include "sotto/trainer/detail/checkpointing/saved_state.hpp"

namespace sotto::detail {

SOTTO_DECL void run_reader::require_same_fields() {
    std::vector<checkpoint::digest> names(static_cast<std::size_t>(through_.size()));
    collectives::all_gather_values(through_, digest_of_names(fields_), std::span(names), label(4));
    for (std::size_t rank = 1; rank < names.size(); ++rank)
        if (names[rank] != names[0]) {
            through_.agree(true);  // everybody has compared before anybody throws
            throw mismatch("resume: rank " + std::to_string(rank) +
                           " has other names or shapes of parameters or state than rank 0");
        }
}

SOTTO_DECL void run_reader::add(const saved_field& field) {
    if (field.type == checkpoint::dtype::i64) return add_one<std::uint64_t>(field);
    if (field.type == checkpoint::dtype::f64) return add_one<double>(field);
    std::vector<float> sum(field.memory.size() / sizeof(float)), more(sum.size());
    copy(field.memory, std::as_writable_bytes(std::span(sum)));
    copy(room_, std::as_writable_bytes(std::span(more)));
    kernels::add(sum, more);
    copy(std::as_bytes(std::span(sum)), field.memory);
}

SOTTO_DECL void run_reader::copy(byte_view from, mutable_byte_view to) {
    std::copy(from.begin(), from.end(), to.begin());
}

SOTTO_DECL run_place run_reader::placed() const {
    run_place place = found_.place;
    const auto world = static_cast<std::size_t>(found_.world);
    const auto rank = static_cast<std::size_t>(through_.rank());
    if (same_world()) {
        place.examples = shares_[rank];
        place.of_this_rank = shares_[world + rank];
        return place;
    }
    place.of_this_rank = any_share;
    place.examples = place.own != 0 ? no_data : shares_[0];
    // All ranks together read an epoch's order from its front, round by round.
    const auto read =
        static_cast<std::uint64_t>(place.round) * static_cast<std::uint64_t>(found_.world);
    place.round = static_cast<std::int64_t>(read / static_cast<std::uint64_t>(through_.size()));
    return place;
}

}  // namespace sotto::detail
