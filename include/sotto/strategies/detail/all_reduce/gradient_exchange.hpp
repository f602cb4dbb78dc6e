#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sotto/collectives/hierarchical.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/detail/memory/index_set.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/all_reduce/exchange_ways.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/strategies/detail/all_reduce/bucket.hpp"
#include "sotto/strategies/detail/all_reduce/tensor_exchange.hpp"
#include "sotto/strategies/detail/common_epochs.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/detail/in_flight_time.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// The exchange of all tensors' gradients in the rounds of all_reduce, without the types of model,
/// compressor and optimizer. A tensor is compressed and sent as soon as its gradient is ready.
class gradient_exchange {
public:
    /// `hosts`: not there without a hierarchy. Tensors and codec are borrowed.
    gradient_exchange(const layout& tensors, transport_ref through, message_codec& codec,
                      const exchange_ways& ways, std::int64_t bucket_bytes,
                      std::optional<sotto::collectives::hierarchical> hosts);
    gradient_exchange(const gradient_exchange&) = delete;
    gradient_exchange& operator=(const gradient_exchange&) = delete;
    ~gradient_exchange();

    /// Which rank sends what `rank` remembers.
    int sender_for(int rank) const;

    epoch_agreement begin_epoch(const epoch_plan& plan) { return epochs_.begin(plan); }

    /// A round of this rank with so many examples begins; the compressor is told of it by
    /// as_worker.
    round_info info_of_round(std::int64_t step, double epoch, std::int64_t examples) const;

    /// Whose gradient is compressed: what is packed is this rank's, what is encoded this rank's or,
    /// in a hierarchy, all of its host's.
    round_info as_worker(round_info where) const;

    void begin(const round_info& where);

    /// Where the model writes its gradient.
    std::span<float> gradient() noexcept { return gradient_; }
    std::span<const float> sum() const noexcept { return sum_; }

    /// The model has announced a tensor, or all are ready: sends what can be sent.
    void announce(const tensor& t, float weight, stopwatch& watch);
    void all_ready(float weight, stopwatch& watch);
    /// While the model has time to wait.
    void use_time() { (void)advance(asked_meanwhile); }
    void end_computing(stopwatch& watch) { computing_ += watch.lap(); }

    /// Without data.
    void take_part();

    /// Blocks until all sums are there.
    void wait();

    /// Adds up what came.
    void decode();

    void agree();

    /// Every rank has voted for the round: nothing may fail from here on.
    template <class Optimizer>
    void apply(Optimizer& optimizer, bool sparsely, std::span<float> parameters) {
        for (const tensor& t : tensors_)
            exchange_of(t).apply(optimizer, sparsely, t.of(parameters), t.of(std::span(sum_)));
    }

    void end_round() { epochs_.end_round(); }

    void undo() noexcept;

    /// What the round has cost; `before`: the transport's counters when it began.
    void report_costs(round_report& report, const traffic& before);

    void at(const char* phase) { through_.at({.round = step_, .phase = phase}); }

    transport_ref through() const noexcept { return through_; }

private:
    /// Of a tensor in a round. A tensor is packed from then on, also while it travels.
    enum class progress : std::uint8_t { at_rest, computed, packed };

    void add_exchanges(const exchange_ways& ways, std::int64_t bucket_bytes);

    /// Ranks whose part of the data is used up may send nothing; a compressor that remembers always
    /// sends. In a hierarchy: hosts.
    void note_who_gives() noexcept;

    void is_ready(const tensor& t);

    /// Whether the compressor weighs, checks and encodes in one pass. Not in a hierarchy: what is
    /// encoded is the host's sum.
    bool is_weighed_late(const tensor& t) noexcept;

    /// A NaN that got into memory would stay there for ever. The sum of squares is finite if and
    /// only if all values are, so that one pass scales, checks and measures; a weight is at most 1
    /// and makes none infinite.
    void weigh(const tensor& t, float weight);

    void send(const tensor& t, float weight);

    std::int64_t send_weighted(const tensor& t, std::span<const float> gradient, float weight);

    /// One that travels with others has left when the last of them is packed. The first of them is
    /// asked for all.
    void has_left(const tensor& t) noexcept;

    void is_under_way(const tensor& t) noexcept;

    /// Asks tensors that are in flight whether all ranks' gradients are here: all of them, or so
    /// many, in turns. Returns whether all tensors have arrived.
    ///   cost    O(asked): of 20,000 tensors, as many as are in flight cannot be asked for each
    ///           that becomes ready
    bool advance(std::size_t asked);

    void has_arrived(const tensor& t) noexcept;

    duration since_begun() const noexcept { return through_.now() - began_; }

    /// An exchange has windows of segments under way, or up to three messages from and to every
    /// rank. Room for more than a million transfers is taken when it is needed.
    std::int64_t transfers_max() const noexcept;

    /// By how much the mean gradient of these examples counts in the sum.
    double share_of_round(std::int64_t examples) const noexcept;

    static std::size_t slot(const tensor& t) noexcept { return static_cast<std::size_t>(t.index); }
    tensor_exchange& exchange_of(const tensor& t) noexcept { return *exchanges_[slot(t)]; }

    const layout& tensors_;
    transport_ref through_;
    message_codec& codec_;
    std::optional<sotto::collectives::hierarchical> hosts_;
    large_vector<float> gradient_;
    large_vector<float> sum_;  // of gathered tensors: all zero between rounds
    std::vector<std::int64_t> tensor_bytes_;
    std::vector<tensor_times> times_;
    time_point began_{};
    in_flight_time in_flight_time_;
    duration hidden_{};
    duration agreed_{};
    common_epochs epochs_;
    // While gradients are computed, each that is ready asks at most so many tensors in flight.
    static constexpr std::size_t asked_meanwhile = 64;

    std::vector<progress> progress_;
    std::vector<std::uint8_t> gives_;  // of each rank or host, in this round
    detail::index_set in_flight_;      // tensors that are not all here; of a group the first
    std::size_t next_asked_ = 0;       // where the next one of them is looked for
    std::size_t arrived_ = 0;          // tensors
    std::int64_t step_ = 0;
    duration computing_{};
    duration compressing_{};
    std::deque<bucket> groups_;
    std::vector<std::unique_ptr<tensor_exchange>>
        exchanges_;  // last: their transfers end before the memory
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/all_reduce/gradient_exchange.ipp"
#endif
