#pragma once

#include "sotto/logging/detail/round_times.hpp"

#include <algorithm>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"

namespace sotto::detail {

SOTTO_DECL void round_times::take(const step_report& report) {
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

SOTTO_DECL std::vector<std::size_t> in_order_of(const round_times& round,
                                                double round_times::of_tensor::*time) {
    std::vector<std::size_t> order(round.tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    detail::sort_stably(order, [&](std::size_t a, std::size_t b) {
        return round.tensors[a].*time < round.tensors[b].*time;
    });
    return order;
}

SOTTO_DECL std::vector<worker_span> worker_spans(const round_times& round) {
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

SOTTO_DECL overlap overlap_of(const round_times& round) {
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
