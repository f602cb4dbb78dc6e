#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sotto/report/advice_transfer.hpp"

namespace sotto::detail {

/// One way to send gradients, as measured on one machine.
struct way_to_send {
    std::string name;               // for people
    double compress_seconds = 0.0;  // a step: encoding one's own, decoding everybody's
    double message_bytes = 0.0;     // what one rank's gradient becomes
    transfer_cost transfer{};       // of its exchange
    bool dense = false;             // whole gradients: what the others are compared with
    int run = -1;  // the number of the run it was measured in, in a report; -1: in none
    /// Whether the ranks apply only about as many sums a step as one rank sends entries, see
    /// collectives::sparse_reduce_scatter.
    bool reselects = false;
};

/// A way to send, and what one step is predicted to take by it.
struct predicted_step {
    way_to_send way;                // by what
    double transfer_seconds = 0.0;  // see exchange_seconds
    double step_seconds = 0.0;      // computing, compressing and the exchange together
    /// Links slower than this are faster with it than with whole gradients: infinite where it pays
    /// on any link, 0 where on none.
    double pays_below_bytes_per_second = 0.0;
};

}  // namespace sotto::detail

namespace sotto {

/// What steps would take, which way is advised, and why in one sentence. Advised is, of those
/// within 5 % of the fastest, the one that sends most.
struct advice {
    network_link link{};                          // that was predicted for
    int world_size = 1;                           // ranks
    double compute_seconds = 0.0;                 // of a step
    std::vector<detail::predicted_step> steps{};  // in the order given
    std::size_t best = 0;                         // the way that is advised, in steps
    std::size_t dense = 0;                        // the way of whole gradients, in steps
    std::string sentence{};                       // for people
};

/// Seconds that a round's exchange takes: its messages, and the vote that ends it, for which every
/// rank tells one that it got so far and hears from it whether all did.
///   math    bytes / bytes_per_second + (messages + 2) * latency; nothing where nothing is sent
double exchange_seconds(const detail::way_to_send& way, const network_link& link) noexcept;

/// Seconds of one step, if nothing of the exchange hides behind computing or behind another
/// tensor's: as where the largest tensor's gradient is ready last. Where it does, this is a bound
/// from above: steps of six equal layers were shorter by up to a quarter.
///   math    compute + compress + exchange
double predicted_seconds(double compute_seconds, const detail::way_to_send& way,
                         const network_link& link) noexcept;

/// Where two ways to send take equally long.
///   math    compress_a + b_a / B + m_a * latency = compress_b + b_b / B + m_b * latency, solved
///           for B; infinite or 0 where it has no solution above 0: `sparse` then pays on every
///           link, or on none
double crossover_bytes_per_second(const detail::way_to_send& dense,
                                  const detail::way_to_send& sparse,
                                  double latency_seconds) noexcept;

/// Why that way, in one sentence. A second one follows where less is applied than was sent.
std::string reason(const advice& found);

}  // namespace sotto

namespace sotto::detail {
void check_asked(const double& compute_seconds, const network_link& link, int world_size);
}  // namespace sotto::detail

namespace sotto {

/// "Does it pay here?": what one step takes by each of some ways to send, on a given link.
///   compute_seconds   of a step, all that is neither compressing nor waiting: load, compute, apply
///   errors            invalid_option: see network_link; no ranks; a negative time; not exactly one
///                     dense way
advice advise(double compute_seconds, const network_link& link, int world_size,
              std::span<const detail::way_to_send> ways);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/advice.ipp"
#endif
