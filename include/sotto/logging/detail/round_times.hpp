#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sotto/trainer/reports.hpp"

namespace sotto::detail {

/// When things happened in one round of one rank, in seconds since it began.
struct round_times {
    /// As tensor_times.
    struct of_tensor {
        double ready = 0.0, left = 0.0, arrived = 0.0, decoded = 0.0;  // seconds
        friend bool operator==(const of_tensor&, const of_tensor&) = default;
    };

    std::int64_t step = 0;             // of the round, as the trainer counts
    double agreed = 0.0, ended = 0.0;  // as round_report has them
    double apply = 0.0;                // in the optimizer, before the vote and after it
    std::vector<of_tensor> tensors{};  // by index

    /// Takes no memory where there is room for the tensors.
    void take(const step_report& report);

    friend bool operator==(const round_times&, const round_times&) = default;
};

/// What a rank's own thread does in a round; between it waits for others.
///   compute   a gradient
///   compress  a tensor, and sends it
///   decode    what came
///   apply     the sum
enum class work_of_round : std::uint8_t { compute, compress, decode, apply };

/// As reports call it.
inline constexpr const char* name_of(work_of_round what) noexcept {
    switch (what) {
        case work_of_round::compute: return "compute";
        case work_of_round::compress: return "compress";
        case work_of_round::decode: return "decode";
        default: return "apply";
    }
}

/// What the rank's own thread did in one go.
struct worker_span {
    /// In place of a tensor, for what is of none.
    static constexpr std::size_t no_tensor = (std::numeric_limits<std::size_t>::max)();

    work_of_round what = work_of_round::compute;  // of these
    std::size_t tensor = no_tensor;               // which, by its index
    double begin = 0.0, end = 0.0;                // seconds
};

/// Tensors by one of their times; of equals, the later one in the layout first, as backward goes.
std::vector<std::size_t> in_order_of(const round_times& round,
                                     double round_times::of_tensor::*time);

/// What one thread did one after the other: spans in order, none of them empty and none before the
/// end of the one before. A tensor is computed until it is ready, and compressed until it leaves;
/// all are decoded once the last is here, first to last.
std::vector<worker_span> worker_spans(const round_times& round);

/// How long something was under way between ranks, and the part of it before the last tensor left:
/// until then the rank had work of its own.
struct overlap {
    double exchange = 0.0, hidden = 0.0;  // seconds

    /// 0 to 1; 0 where there was no exchange.
    double share() const noexcept { return exchange > 0.0 ? hidden / exchange : 0.0; }
};

/// Of one round.
overlap overlap_of(const round_times& round);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/round_times.ipp"
#endif
