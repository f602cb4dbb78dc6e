#pragma once

#include "sotto/strategies/round_report.hpp"

namespace sotto::detail {

/// Costs of some steps of one rank: seconds, and bytes as round_report counts them. They are
/// doubles, so that no sum overflows; whole numbers up to 2^53 are exact.
struct run_costs {
    double examples = 0.0;  // number of this rank
    double load = 0.0, compute = 0.0, compress = 0.0, wait = 0.0, apply = 0.0;  // seconds
    double exchange = 0.0, hidden = 0.0;  // seconds in parallel to these: see round_report
    double listening = 0.0;               // part of compute for teachers
    double dense_bytes = 0.0, message_bytes = 0.0, bytes_sent = 0.0, bytes_received = 0.0;  // bytes
    double study_bytes = 0.0;  // part of bytes_sent
    // Over all ranks that trained: their examples, and the bytes per rank of an exchange of whole
    // gradients. To a server these are floats; otherwise they are the least of any all-reduce, 2 (N
    // - 1) / N of that.
    double examples_of_all = 0.0, ring_bytes = 0.0;  // see round_report

    /// Returns the sum of the times.
    double seconds() const noexcept { return load + compute + compress + wait + apply; }

    /// Adds the costs of other steps; `times` if they represent more steps like them.
    void add(const run_costs& other, double times = 1.0) noexcept;

    friend bool operator==(const run_costs&, const run_costs&) = default;

private:
    void each(const run_costs& other, auto&& change) noexcept {
        change(examples, other.examples);
        change(load, other.load);
        change(compute, other.compute);
        change(compress, other.compress);
        change(wait, other.wait);
        change(apply, other.apply);
        change(exchange, other.exchange);
        change(hidden, other.hidden);
        change(listening, other.listening);
        change(dense_bytes, other.dense_bytes);
        change(message_bytes, other.message_bytes);
        change(bytes_sent, other.bytes_sent);
        change(bytes_received, other.bytes_received);
        change(study_bytes, other.study_bytes);
        change(examples_of_all, other.examples_of_all);
        change(ring_bytes, other.ring_bytes);
    }
};

/// Returns the costs of one round.
run_costs costs_of(const round_report& round) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/run_costs.ipp"
#endif
