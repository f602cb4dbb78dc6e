#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sotto/trainer/reports.hpp"

namespace sotto::detail {

/// Times of one round of one rank, in seconds since it began.
struct round_times {
    /// As tensor_times.
    struct of_tensor {
        double ready = 0.0, left = 0.0, arrived = 0.0, decoded = 0.0;  // seconds
        friend bool operator==(const of_tensor&, const of_tensor&) = default;
    };

    std::int64_t step = 0;             // step number of the round in the trainer
    double agreed = 0.0, ended = 0.0;  // as in round_report
    double apply = 0.0;                // time in the optimizer, before and after the vote
    std::vector<of_tensor> tensors{};  // times by tensor index

    /// Copies a round; allocates nothing if the capacity for the tensors suffices.
    void take(const step_report& report);

    friend bool operator==(const round_times&, const round_times&) = default;
};

/// Activity of a rank's own thread in a round; between activities it waits for others.
///   compute  computes a gradient
///   compress  compresses a tensor and sends it
///   decode  decodes received messages
///   apply   applies the sum
enum class work_of_round : std::uint8_t { compute, compress, decode, apply };

/// Returns the name in reports.
inline constexpr const char* name_of(work_of_round what) noexcept {
    switch (what) {
        case work_of_round::compute: return "compute";
        case work_of_round::compress: return "compress";
        case work_of_round::decode: return "decode";
        default: return "apply";
    }
}

/// One uninterrupted activity of the rank's own thread.
struct worker_span {
    /// Value of `tensor` for an activity that belongs to no tensor.
    static constexpr std::size_t no_tensor = (std::numeric_limits<std::size_t>::max)();

    work_of_round what = work_of_round::compute;  // kind of activity
    std::size_t tensor = no_tensor;               // index of the tensor
    double begin = 0.0, end = 0.0;                // seconds since the round began
};

/// Returns the tensors in the order of one of their times. Equal times are ordered from the last
/// tensor in the layout to the first, as backward computes them.
std::vector<std::size_t> in_order_of(const round_times& round,
                                     double round_times::of_tensor::*time);

/// Returns the activities of one thread: ordered, not empty, without overlap. A tensor is computed
/// until it is ready, and compressed until it is sent. All are decoded after the last has arrived,
/// first to last.
std::vector<worker_span> worker_spans(const round_times& round);

/// Time with a transfer in flight between ranks, and the part of it before the last tensor was
/// sent: until then the rank had work of its own.
struct overlap {
    double exchange = 0.0, hidden = 0.0;  // seconds

    /// Returns 0 to 1; 0 if there was no exchange.
    double share() const noexcept { return exchange > 0.0 ? hidden / exchange : 0.0; }
};

/// Returns the overlap of one round.
overlap overlap_of(const round_times& round);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/round_times.ipp"
#endif
