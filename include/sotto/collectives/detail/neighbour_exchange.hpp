#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/collectives/detail/refuse_mixing.hpp"
#include "sotto/core/contentless.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
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
                       mixing_by how = mixing_by::differences)
        : through_(through), size_max_(size_max), how_(how) {
        if (size_max < 0)
            throw invalid_option("neighbour_exchange: at most " + std::to_string(size_max) +
                                 " values; at least 0 are possible");
        // Small models in several segments, too, so that they travel while others are computed.
        constexpr std::int64_t shortest = 4096, longest = 65536, scratch = std::int64_t{1} << 21;
        const auto links = std::max<std::int64_t>(neighbours_expected, 1);
        segment_ = std::clamp(size_max / 8, shortest,
                              std::clamp(scratch / (links * window), shortest, longest));
        make_room(static_cast<std::size_t>((std::max)(neighbours_expected, 0)));
    }

    neighbour_exchange(const neighbour_exchange&) = delete;
    neighbour_exchange& operator=(const neighbour_exchange&) = delete;
    /// Memory was lent for whatever is under way.
    ~neighbour_exchange() {
        const auto is_under_way = [](const auto& r) { return r.has_value(); };
        if (std::ranges::any_of(receives_, is_under_way) ||
            std::ranges::any_of(sends_, is_under_way))
            through_.withdraw();
    }

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
    void start(std::span<float> values, const sotto::topologies::mixing_matrix& matrix, tag label) {
        start(values, matrix, label, [](int) { return true; });
    }

    /// From this place on values are what is to be mixed, and stay unchanged until that is done.
    void release(std::int64_t from) noexcept { released_ = (std::min)(released_, from); }

    /// From now on a neighbour that goes is only lost; the transport tolerates it, too.
    void tolerate() noexcept { tolerates_ = true; }
    /// This neighbour went, and may be there anew: nothing more goes to it or is awaited in the
    /// round under way.
    void lose(int rank) noexcept {
        for (auto* side : {&sources_, &targets_})
            for (link& with : *side)
                if (with.rank == rank) with.is_lost = true;
    }

    /// Whether this neighbour has had a part in all of the round.
    bool mixes_with(int rank) const noexcept {
        return std::ranges::any_of(
            sources_, [&](const link& from) { return from.rank == rank && !from.is_lost; });
    }

    /// Whether any has.
    bool mixes() const noexcept {
        return std::ranges::any_of(sources_, [](const link& from) { return !from.is_lost; });
    }

    /// Whether all values are mixed; also before the first start.
    bool complete() const noexcept { return mixed_ == segments_; }

    bool advance() {
        for (bool moved = true; moved && !complete();) {
            moved = post_receives();
            moved = post_sends() || moved;
            moved = mix_next() || moved;
        }
        return complete();
    }

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

    float weight_of(const topologies::neighbour& n) const noexcept {
        return how_ == mixing_by::shares ? sotto::topologies::summable_weight(n.weight)
                                         : static_cast<float>(n.weight);
    }

    /// While nothing is under way. Segments stay as long as they are, the same on all ranks.
    void make_room(std::size_t links) {
        if (links <= links_max_) return;
        const std::int64_t room = (std::min)(segment_, std::max<std::int64_t>(size_max_, 1));
        arriving_.reserve(window * links * static_cast<std::size_t>(room));
        for (auto* side : {&receives_, &sends_}) side->resize(window * links);
        sources_.reserve(links);
        targets_.reserve(links);
        others_.reserve(links);
        through_.reserve(2 * window * static_cast<std::int64_t>(links));
        links_max_ = links;
    }

    /// Segment 0 is the last.
    std::int64_t end_of(std::int64_t segment) const noexcept {
        return std::ssize(values_) - segment * segment_;
    }
    std::int64_t begin_of(std::int64_t segment) const noexcept {
        return std::max<std::int64_t>(end_of(segment) - segment_, 0);
    }
    std::span<float> values_of(std::int64_t segment) const noexcept {
        return values_.subspan(static_cast<std::size_t>(begin_of(segment)),
                               static_cast<std::size_t>(end_of(segment) - begin_of(segment)));
    }
    std::size_t slot(std::int64_t segment, std::size_t index) const noexcept {
        return static_cast<std::size_t>(segment % window) * links_max_ + index;
    }
    std::span<float> arrival(std::int64_t segment, std::size_t index) noexcept {
        const auto size = static_cast<std::size_t>(end_of(segment) - begin_of(segment));
        if (!has_content(values_)) return without_content<float>(size);
        const auto room = static_cast<std::size_t>((std::min)(segment_, size_max_));
        return {arriving_.data() + slot(segment, index) * room, size};
    }

    bool post_receives() {
        bool moved = false;
        for (; received_ < segments_ && received_ < mixed_ + window; ++received_, moved = true)
            for (std::size_t i = 0; i < sources_.size(); ++i)
                attempt(sources_[i], [&] {
                    receives_[slot(received_, i)] = through_.receive(
                        sources_[i].rank, label_, std::as_writable_bytes(arrival(received_, i)));
                });
        return moved;
    }

    bool post_sends() {
        bool moved = false;
        for (; sent_ < segments_ && sent_ < mixed_ + window && begin_of(sent_) >= released_;
             ++sent_, moved = true)
            for (std::size_t i = 0; i < targets_.size(); ++i)
                attempt(targets_[i], [&] {
                    sends_[slot(sent_, i)] =
                        through_.send(targets_[i].rank, label_, std::as_bytes(values_of(sent_)));
                });
        return moved;
    }

    bool mix_next() {
        if (mixed_ >= sent_ || !all_here()) return false;
        for (std::size_t i = 0; i < targets_.size(); ++i)
            if (!is_done(targets_[i], sends_[slot(mixed_, i)])) return false;
        const auto values = values_of(mixed_);
        const double n = static_cast<double>(values.size());
        const double sources = static_cast<double>(sources_.size());
        through_.charge({.flops = 3.0 * n * sources, .bytes = 4.0 * n * (2.0 + sources)});
        if (has_content(values_)) mix(values);
        ++mixed_;
        return true;
    }

    bool all_here() {
        bool all = true;
        for (std::size_t i = 0; i < sources_.size(); ++i)
            all = is_done(sources_[i], receives_[slot(mixed_, i)],
                          static_cast<std::int64_t>(arrival(mixed_, i).size_bytes())) &&
                  all;
        return all;
    }

    void mix(std::span<float> values) {
        const std::int64_t begin = begin_of(mixed_);
        std::int64_t from = begin, end = end_of(mixed_);
        if (how_ == mixing_by::shares && mixed_ == 0) {
            --end;
            mix_weight(values, end - begin);
        }
        std::size_t place = places_.empty() ? 0 : part_at(begin);
        while (from < end) {
            const bool is_last = places_.empty() || place + 1 == places_.size();
            const std::int64_t to = is_last ? end : (std::min)(end, places_[place + 1]);
            const double change = mix_part(values, from - begin, to - from);
            squared_change_ += change;
            if (!places_.empty()) changes_[place] += change;
            from = to;
            ++place;
        }
    }

    /// The part that holds a place.
    std::size_t part_at(std::int64_t at) const noexcept {
        return static_cast<std::size_t>(std::ranges::upper_bound(places_, at) - places_.begin() -
                                        1);
    }

    /// The weight is the last value of all, so that it is mixed before whatever is over it.
    void mix_weight(std::span<float> values, std::int64_t place) {
        const auto weight = part_of(values, place, 1);
        weight_before_ = weight[0];
        kernels::average(own_share_, weight, others_);
        weight_after_ = weight[0];
        if (!is_finite(weight_after_)) refuse(begin_of(mixed_) + place);
    }

    double mix_part(std::span<float> values, std::int64_t first, std::int64_t count) {
        const auto part = part_of(values, first, count);
        const double change =
            how_ == mixing_by::differences
                ? kernels::mix(part, others_)
                : kernels::share_out(own_share_, part, others_, weight_before_, weight_after_);
        if (!kernels::is_finite(change)) refuse(begin_of(mixed_) + first);
        return change;
    }

    /// A part of a rank's own values in the segment that is mixed, with the others' in others_.
    std::span<float> part_of(std::span<float> values, std::int64_t first, std::int64_t count) {
        others_.clear();
        for (std::size_t i = 0; i < sources_.size(); ++i)
            if (!sources_[i].is_lost)
                others_.push_back({sources_[i].weight,
                                   arrival(mixed_, i).subspan(static_cast<std::size_t>(first),
                                                              static_cast<std::size_t>(count))});
        return values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    }

    [[noreturn]] void refuse(std::int64_t first) const {
        std::size_t next = 0;
        for (const link& from : sources_) {
            if (from.is_lost) continue;
            const std::int64_t at = kernels::first_non_finite(others_[next++].values);
            if (at >= 0) refuse_mixing(from.rank, "element " + std::to_string(first + at));
        }
        throw error(errc::non_finite, "parameters that were mixed are not finite, near element " +
                                          std::to_string(first));
    }

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

    bool is_done(link& with, std::optional<request>& what, std::int64_t expected = -1) {
        if (!what) return true;
        std::optional<completion> ended;
        try {
            ended = through_.poll(*what);
        } catch (const peer_failure& e) {
            what.reset();
            if (e.rank() != with.rank || !tolerates_) throw;
            with.is_lost = true;
            return true;
        }
        if (!ended) return false;
        what.reset();
        if (expected < 0 || ended->bytes == expected) return true;
        throw mismatch("neighbour_exchange: rank " + std::to_string(with.rank) + " sent " +
                       std::to_string(ended->bytes) + " bytes where rank " +
                       std::to_string(through_.rank()) + " expected " + std::to_string(expected) +
                       ": they were started with different numbers of values");
    }

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
