#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/core/clock.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/strategies/detail/codistillation/teacher_status.hpp"

namespace sotto::detail {

/// When a tensor's gradient went through a round, since the round began: in this order.
struct tensor_times {
    duration ready{};    // computed: announced, or the model's last; 0 where there is no example
    duration left{};     // compressed, its first message on its way
    duration arrived{};  // everybody's is here, and this rank has looked
    duration decoded{};  // added up
};

/// What other models taught in a round.
struct taught_report {
    int teachers = 0;                // that were heard; with none the rest says nothing
    std::int64_t age = 0;            // steps since the oldest of their models, less than 0: ahead
    double weight = 0.0;             // of what they say
    double distillation_loss = 0.0;  // before its weight
    double agreement = 0.0;          // the part of the labels for which the likeliest is theirs
    duration listening{};            // their passes forward; part of the time in the model
    std::span<const teacher_status> standings{};  // of all of them; valid until the next round

    // Of the models that this rank publishes itself, if it does.
    std::int64_t bytes_sent = 0;  // to students or into a folder, as they are handed over
    std::int64_t skipped = 0;     // not published, for the one before was still under way
    std::string_view problem{};   // why the last could not be; empty: it could. Likewise valid
};

}  // namespace sotto::detail

namespace sotto {

/// What one round cost this rank and what came of it. Seconds add up to the round's: computing
/// stops while a finished tensor is compressed and sent.
struct round_report {
    double loss = 0.0;          // mean over this rank's examples
    std::int64_t examples = 0;  // that this rank computed

    duration load{};      // reading the batch
    duration compute{};   // in the model
    duration compress{};  // encoding, packing, decoding
    duration wait{};      // for other ranks
    duration apply{};     // in the optimizer

    duration exchange{};  // something was under way between ranks; not an addend of the round's
    duration hidden{};    // of that, until the last tensor left: this rank had work of its own

    std::int64_t staleness = -1;  // steps of a server between reading and this gradient; -1: none
    bool dropped = false;         // a server did without this gradient
    detail::consensus_report consensus{};  // where ranks mix with neighbours
    detail::taught_report taught{};        // where other models teach

    std::int64_t dense_bytes = 0;     // the gradient as 4-byte floats
    std::int64_t message_bytes = 0;   // what this rank's gradient became, once
    std::int64_t bytes_sent = 0;      // on the wire, all copies and steps of collectives
    std::int64_t bytes_received = 0;  // likewise, what came
    std::int64_t study_bytes = 0;     // of bytes_sent: to measure exactly how far ranks are apart
    std::span<const std::int64_t>
        tensor_message_bytes{};  // message_bytes by tensor; valid until the next round
    time_point began{};          // by the transport's clock, after the batch was read
    duration agreed{};           // since then: every rank has voted for the round
    duration ended{};            // the parameters are the next round's
    std::span<const sotto::detail::tensor_times>
        tensor_times{};  // by tensor; valid until the next round
};

}  // namespace sotto
