#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sotto/report/advice_transfer.hpp"

namespace sotto::detail {

/// A way to send gradients, as measured on one machine.
struct way_to_send {
    std::string name;               // name for people
    double compress_seconds = 0.0;  // time a step: encode own message, decode all
    double message_bytes = 0.0;     // size of one rank's encoded gradient
    transfer_cost transfer{};       // cost of its exchange
    bool dense = false;             // true: whole gradients, the reference of the others
    int run = -1;                   // index of the run that measured it; -1: none
    /// True if the ranks apply only about as many sums a step as one rank sends entries, see
    /// collectives::sparse_reduce_scatter.
    bool reselects = false;
};

/// A way to send, and the predicted time of one step with it.
struct predicted_step {
    way_to_send way;                // way to send
    double transfer_seconds = 0.0;  // see exchange_seconds
    double step_seconds = 0.0;      // computing, compressing and exchange
    /// It is faster than whole gradients on links slower than this: infinite if on every link, 0 if
    /// on none.
    double pays_below_bytes_per_second = 0.0;
};

}  // namespace sotto::detail

namespace sotto {

/// Predicted steps, the recommended way to send, and the reason in one sentence. Of the ways within
/// 5 % of the fastest, the recommended one sends most.
struct advice {
    network_link link{};                          // link of the prediction
    int world_size = 1;                           // number of ranks
    double compute_seconds = 0.0;                 // time of a step
    std::vector<detail::predicted_step> steps{};  // in the given order
    std::size_t best = 0;                         // index in steps of the recommended way
    std::size_t dense = 0;                        // index in steps of whole gradients
    std::string sentence{};                       // reason for people
};

/// Returns the seconds of a round's exchange: its messages, and the vote that ends it. In the vote
/// every rank sends its state to one rank and receives whether all ranks finished.
///   math    bytes / bytes_per_second + (messages + 2) * latency; 0 if nothing is sent
double exchange_seconds(const detail::way_to_send& way, const network_link& link) noexcept;

/// Returns the seconds of one step, if the exchange does not overlap with computing or with another
/// tensor's exchange. This holds if the largest tensor's gradient is ready last. With overlap it is
/// an upper bound: steps of six equal layers were shorter by up to a quarter.
///   math    compute + compress + exchange
double predicted_seconds(double compute_seconds, const detail::way_to_send& way,
                         const network_link& link) noexcept;

/// Returns the bandwidth at which two ways to send take equally long.
///   math    compress_a + b_a / B + m_a * latency = compress_b + b_b / B + m_b * latency, solved
///           for B. Without a solution above 0 it is infinite or 0: `sparse` then pays on every
///           link, or on none
double crossover_bytes_per_second(const detail::way_to_send& dense,
                                  const detail::way_to_send& sparse,
                                  double latency_seconds) noexcept;

/// Returns the reason in one sentence. A second sentence follows if less is applied than was sent.
std::string reason(const advice& found);

}  // namespace sotto

namespace sotto::detail {
void check_asked(const double& compute_seconds, const network_link& link, int world_size);
}  // namespace sotto::detail

namespace sotto {

/// "Does it pay here?": predicts the time of one step on a link, for several ways to send.
///   compute_seconds  of a step, except compressing and waiting: load, compute, apply
///   errors  invalid_option: see network_link; no ranks; a negative time; not exactly one dense way
advice advise(double compute_seconds, const network_link& link, int world_size,
              std::span<const detail::way_to_send> ways);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/advice.ipp"
#endif
