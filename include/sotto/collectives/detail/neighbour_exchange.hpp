#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// How received values are mixed in.
///   differences   x += sum of w_j (x_j - x): uses rows of the matrix, which add up to 1 with a
///                 rank's own weight. Weights are the nearest floats. Links with equal weights in
///                 both directions keep the sum, except for the rounding of each rank's values.
///                 Other links change it by up to 6e-8 of a value a link
///   shares        x = s x + sum of w_j x_j: uses columns of the matrix. Each rank divides its
///                 values into shares and keeps s of them. The last value is the weight by which
///                 the others must be divided, above 0. Shares are topologies::summable_weight: a
///                 column adds up to 1 exactly
enum class mixing_by : std::uint8_t { differences, shares };

/// One round of gossip: sends a rank's values to its neighbours, receives theirs, and mixes them in
/// place. Values travel in segments, from the last to the first, as they are released. Gradients
/// are ready in that order, so the last layers mix while the first still compute. A segment is
/// mixed when all neighbours' segments are here and it was sent to all of them. Segments and their
/// order of arrival change no bit of the result.
///
/// If rank failures are tolerated, a neighbour that fails or leaves has no part in later mixing:
/// its weight becomes the rank's own. Segments that were mixed with it count.
///   wire    a message for each segment and neighbour: floats, little endian, no header. All
///           messages of a round have one tag
///   cost    scratch of up to 4 segments for each neighbour, 8 MiB in all or 64 KiB for each. Each
///           value is read once for every neighbour when it is sent, and once with all of them when
///           it is mixed. A round with more neighbours than were expected allocates memory for them
///   work    charges 3 operations for each value and neighbour, and the memory that it reads and
///           writes
///   errors  start throws invalid_option: more values than were bound; std::logic_error: started
///           before it was complete. advance throws mismatch: a neighbour has another number of
///           values. It throws an error of errc::non_finite, which names the neighbour that sent
///           non-finite values, and the transport's errors
class neighbour_exchange {
public:
    /// `size_max` and `neighbours_expected` are the same on all ranks.
    neighbour_exchange(transport_ref through, std::int64_t size_max, int neighbours_expected,
                       mixing_by how = mixing_by::differences);

    neighbour_exchange(const neighbour_exchange&) = delete;
    neighbour_exchange& operator=(const neighbour_exchange&) = delete;
    /// Withdraws the rank if a transfer with lent memory is in flight.
    ~neighbour_exchange();

    /// Begins a round with the neighbours for which `takes_part` returns true. No values are
    /// released yet. To measure changes for each part of the values, pass the start of each part as
    /// `places`, ascending from 0. `places` must stay valid until the round is complete.
    template <class Predicate>
    void start(std::span<float> values, const sotto::topologies::mixing_matrix& matrix, tag label,
               Predicate takes_part, std::span<const std::int64_t> places = {}) {
        if (!complete())
            throw std::logic_error("neighbour_exchange: started before it was complete");
        const int rank = through_.rank();
        sources_.clear();
        targets_.clear();
        own_share_ = 1.0f;
        for (const auto& n : matrix.into(rank))
            if (takes_part(n.rank)) sources_.push_back({n.rank, weight_of(n)});
        for (const auto& n : matrix.out_of(rank))
            if (takes_part(n.rank)) {
                targets_.push_back({n.rank, weight_of(n)});
                own_share_ -= targets_.back().weight;
            }
        if (std::ssize(values) > size_max_)
            throw invalid_option("neighbour_exchange: " + std::to_string(values.size()) +
                                 " values, but bound for at most " + std::to_string(size_max_));
        make_room((std::max)(sources_.size(), targets_.size()));
        values_ = values;
        label_ = label;
        places_ = places;
        released_ = std::ssize(values);
        segments_ = (std::ssize(values) + segment_ - 1) / segment_;
        received_ = sent_ = mixed_ = 0;
        squared_change_ = 0.0;
        changes_.assign(places.size(), 0.0);
        if (sources_.empty() && targets_.empty() && how_ == mixing_by::differences)
            mixed_ = segments_;  // no neighbours to mix with
    }
    void start(std::span<float> values, const sotto::topologies::mixing_matrix& matrix, tag label);

    /// Releases the values from this place on for mixing. They stay unchanged until the round has
    /// mixed them.
    void release(std::int64_t from) noexcept { released_ = (std::min)(released_, from); }

    /// From now on a neighbour that fails is only lost. The transport must tolerate failures too.
    void tolerate() noexcept { tolerates_ = true; }
    /// Drops a neighbour that failed or left, even if it has joined again. The current round sends
    /// it nothing more and waits for nothing from it.
    void lose(int rank) noexcept;

    /// True if this neighbour takes part in the round and was not lost.
    bool mixes_with(int rank) const noexcept;

    /// True if any neighbour does.
    bool mixes() const noexcept;

    /// True if all values are mixed; also before the first start.
    bool complete() const noexcept { return mixed_ == segments_; }

    bool advance();

    /// Sum of squares of the last round's changes. With shares, of the changes of values divided by
    /// their weight.
    double squared_change() const noexcept { return squared_change_; }
    /// The same for each part. The weight belongs to no part.
    std::span<const double> squared_changes() const noexcept { return changes_; }

private:
    static constexpr std::int64_t window = 4;  // segments in flight at once

    struct link {
        int rank;
        float weight;
        bool is_lost = false;  // it failed or left
    };

    float weight_of(const topologies::neighbour& n) const noexcept;

    /// Makes room for this many neighbours; requires that nothing is in flight. The segment size
    /// stays the same, because all ranks share it.
    void make_room(std::size_t links);

    /// Segment 0 is at the end of the values.
    std::int64_t end_of(std::int64_t segment) const noexcept;
    std::int64_t begin_of(std::int64_t segment) const noexcept;
    std::span<float> values_of(std::int64_t segment) const noexcept;
    std::size_t slot(std::int64_t segment, std::size_t index) const noexcept;
    std::span<float> arrival(std::int64_t segment, std::size_t index) noexcept;

    bool post_receives();

    bool post_sends();

    bool mix_next();

    bool all_here();

    void mix(std::span<float> values);

    /// Index of the part that contains a place.
    std::size_t part_at(std::int64_t at) const noexcept;

    /// Mixes the weight. It is the last value of all, so it is mixed before the values that are
    /// divided by it.
    void mix_weight(std::span<float> values, std::int64_t place);

    double mix_part(std::span<float> values, std::int64_t first, std::int64_t count);

    /// Part of a rank's own values in the segment that is mixed. others_ then has the neighbours'
    /// values.
    std::span<float> part_of(std::span<float> values, std::int64_t first, std::int64_t count);

    [[noreturn]] void refuse(std::int64_t first) const;

    /// Runs an action that concerns only this link. If its rank fails and that is tolerated, marks
    /// the link as lost.
    template <class Action>
    void attempt(link& with, Action action) {
        if (with.is_lost) return;
        try {
            action();
        } catch (const peer_failure& e) {
            if (e.rank() != with.rank || !tolerates_) throw;
            with.is_lost = true;
        }
    }

    bool is_done(link& with, std::optional<request>& what, std::int64_t expected = -1);

    transport_ref through_;
    std::int64_t size_max_;
    std::size_t links_max_ = 0;  // neighbours that there is room for
    mixing_by how_;
    bool tolerates_ = false;
    std::int64_t segment_ = 1;
    std::span<float> values_;
    tag label_;
    std::span<const std::int64_t> places_;
    std::vector<link> sources_, targets_;
    float own_share_ = 1.0f;
    float weight_before_ = 1.0f, weight_after_ = 1.0f;  // with shares, in this round
    std::int64_t segments_ = 0;
    std::int64_t released_ = 0;
    std::int64_t received_ = 0, sent_ = 0;  // segments posted
    std::int64_t mixed_ = 0;
    double squared_change_ = 0.0;
    std::vector<double> changes_;
    std::vector<kernels::weighted_values> others_;
    kernels::uninitialised<float> arriving_;
    std::vector<std::optional<request>> receives_, sends_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/neighbour_exchange.ipp"
#endif
