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

/// How values that come in are taken.
///   differences   x += sum of w_j (x_j - x): by rows that add up to 1 with a rank's own weight.
///                 Weights are the nearest floats: links that weigh the same both ways keep the sum
///                 but for the rounding of each rank's values, others up to 6e-8 of a value a link
///   shares        x = s x + sum of w_j x_j: by columns, where each rank shares out what it has and
///                 keeps s of it. The last value is the weight that the others are over, above 0.
///                 Shares are topologies::summable_weight: a column adds up to 1 exactly
enum class mixing_by : std::uint8_t { differences, shares };

/// One round of gossip: a rank's values go to its neighbours, theirs come in, and are mixed, in
/// place. Values travel in segments, from the last to the first, as they are released: a gradient's
/// tensors are ready in that order, so that the last layers mix while the first still compute. A
/// segment is mixed when all neighbours' are here and it has gone to all of them; neither segments
/// nor the order in which they come change a bit of the result.
///
/// Where the failure of ranks is tolerated, a neighbour that goes has no part in what is mixed from
/// then on: its weight is the rank's own. Segments that had been mixed with it count.
///   wire    a message for each segment and neighbour: floats, little endian, no header. All
///           messages of a round have one tag
///   cost    scratch of up to 4 segments for each neighbour, 8 MiB in all or 64 KiB for each; each
///           value is read once for every neighbour when it is sent, and once with all of them when
///           it is mixed. A round with more neighbours than were expected takes memory for them
///   work    charges 3 operations for each value and neighbour, and the memory that it goes through
///   errors  start throws invalid_option: more values than were bound; std::logic_error: started
///           before it was complete. advance throws mismatch: a neighbour has another number of
///           values; an error of errc::non_finite: what a neighbour sent, naming it; and what the
///           transport does
class neighbour_exchange {
public:
    /// `size_max` and the neighbours that are expected are the same on all ranks.
    neighbour_exchange(transport_ref through, std::int64_t size_max, int neighbours_expected,
                       mixing_by how = mixing_by::differences);

    neighbour_exchange(const neighbour_exchange&) = delete;
    neighbour_exchange& operator=(const neighbour_exchange&) = delete;
    /// Memory was lent for whatever is under way.
    ~neighbour_exchange();

    /// Begins a round with those of its neighbours for which `takes_part` holds; nothing is
    /// released yet. Where changes are to be told apart, `places` are where each part of the values
    /// begins, ascending from 0, and stay the caller's until it is complete.
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
            mixed_ = segments_;  // nobody to mix with
    }
    void start(std::span<float> values, const sotto::topologies::mixing_matrix& matrix, tag label);

    /// From this place on values are what is to be mixed, and stay unchanged until that is done.
    void release(std::int64_t from) noexcept { released_ = (std::min)(released_, from); }

    /// From now on a neighbour that goes is only lost; the transport tolerates it, too.
    void tolerate() noexcept { tolerates_ = true; }
    /// This neighbour went, and may be there anew: nothing more goes to it or is awaited in the
    /// round under way.
    void lose(int rank) noexcept;

    /// Whether this neighbour has had a part in all of the round.
    bool mixes_with(int rank) const noexcept;

    /// Whether any has.
    bool mixes() const noexcept;

    /// Whether all values are mixed; also before the first start.
    bool complete() const noexcept { return mixed_ == segments_; }

    bool advance();

    /// Of the last round: the sum of squares of what was added to the values; by shares, of what
    /// was added to values over their weight.
    double squared_change() const noexcept { return squared_change_; }
    /// The same of each part, which the weight is none of.
    std::span<const double> squared_changes() const noexcept { return changes_; }

private:
    static constexpr std::int64_t window = 4;  // segments under way at once

    struct link {
        int rank;
        float weight;
        bool is_lost = false;  // it went
    };

    float weight_of(const topologies::neighbour& n) const noexcept;

    /// While nothing is under way. Segments stay as long as they are, the same on all ranks.
    void make_room(std::size_t links);

    /// Segment 0 is the last.
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

    /// The part that holds a place.
    std::size_t part_at(std::int64_t at) const noexcept;

    /// The weight is the last value of all, so that it is mixed before whatever is over it.
    void mix_weight(std::span<float> values, std::int64_t place);

    double mix_part(std::span<float> values, std::int64_t first, std::int64_t count);

    /// A part of a rank's own values in the segment that is mixed, with the others' in others_.
    std::span<float> part_of(std::span<float> values, std::int64_t first, std::int64_t count);

    [[noreturn]] void refuse(std::int64_t first) const;

    /// Does what only concerns a link; where it is lost and that is tolerated, it has no part.
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
    std::size_t links_max_ = 0;  // for which there is room
    mixing_by how_;
    bool tolerates_ = false;
    std::int64_t segment_ = 1;
    std::span<float> values_;
    tag label_;
    std::span<const std::int64_t> places_;
    std::vector<link> sources_, targets_;
    float own_share_ = 1.0f;
    float weight_before_ = 1.0f, weight_after_ = 1.0f;  // by shares, in this round
    std::int64_t segments_ = 0;
    std::int64_t released_ = 0;
    std::int64_t received_ = 0, sent_ = 0;  // segments that are posted
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
