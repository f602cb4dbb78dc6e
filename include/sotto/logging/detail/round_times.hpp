#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"
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
    void take(const step_report& report) {
        const round_report& round = report.round;
        step = report.step;
        agreed = in_seconds(round.agreed);
        ended = in_seconds(round.ended);
        apply = in_seconds(round.apply);
        tensors.clear();
        for (const tensor_times& t : round.tensor_times)
            tensors.push_back({in_seconds(t.ready), in_seconds(t.left), in_seconds(t.arrived),
                               in_seconds(t.decoded)});
    }

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
inline std::vector<std::size_t> in_order_of(const round_times& round,
                                            double round_times::of_tensor::*time) {
    std::vector<std::size_t> order(round.tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    detail::sort_stably(order, [&](std::size_t a, std::size_t b) {
        return round.tensors[a].*time < round.tensors[b].*time;
    });
    return order;
}

/// What one thread did one after the other: spans in order, none of them empty and none before the
/// end of the one before. A tensor is computed until it is ready, and compressed until it leaves;
/// all are decoded once the last is here, first to last.
inline std::vector<worker_span> worker_spans(const round_times& round) {
    using of_tensor = round_times::of_tensor;
    std::vector<worker_span> spans;
    double now = 0.0;
    const auto add = [&](work_of_round what, std::size_t tensor, double end) {
        if (end > now) spans.push_back({what, tensor, now, end});
        now = (std::max)(now, end);
    };
    const auto& t = round.tensors;
    const auto by_ready = detail::in_order_of(round, &of_tensor::ready);
    std::size_t computed = 0;
    for (const std::size_t i : detail::in_order_of(round, &of_tensor::left)) {
        for (; computed < t.size() && t[by_ready[computed]].ready <= t[i].left; ++computed)
            add(work_of_round::compute, by_ready[computed], t[by_ready[computed]].ready);
        add(work_of_round::compress, i, t[i].left);
    }
    for (const of_tensor& of : t) now = (std::max)(now, of.arrived);
    for (std::size_t i = 0; i < t.size(); ++i) add(work_of_round::decode, i, t[i].decoded);
    const double after_vote = (std::max)(round.ended - round.agreed, 0.0);
    add(work_of_round::apply, worker_span::no_tensor,
        (std::min)(now + round.apply - after_vote, round.agreed));
    now = (std::max)(now, round.agreed);
    add(work_of_round::apply, worker_span::no_tensor, round.ended);
    return spans;
}

/// How long something was under way between ranks, and the part of it before the last tensor left:
/// until then the rank had work of its own.
struct overlap {
    double exchange = 0.0, hidden = 0.0;  // seconds

    /// 0 to 1; 0 where there was no exchange.
    double share() const noexcept { return exchange > 0.0 ? hidden / exchange : 0.0; }
};

/// Of one round.
inline overlap overlap_of(const round_times& round) {
    double last_left = 0.0, until = 0.0;
    for (const round_times::of_tensor& t : round.tensors) last_left = (std::max)(last_left, t.left);
    overlap found;
    for (const std::size_t i : detail::in_order_of(round, &round_times::of_tensor::left)) {
        const double from = (std::max)(round.tensors[i].left, until), to = round.tensors[i].arrived;
        if (to <= from) continue;
        found.exchange += to - from;
        found.hidden += (std::max)((std::min)(to, last_left) - from, 0.0);
        until = to;
    }
    return found;
}

}  // namespace sotto::detail
