#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/top_k/collect.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/detail/top_k/keep_top.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/detail/simd/processor.hpp"
#include "sotto/kernels/detail/top_k/rank_magnitude.hpp"
#include "sotto/kernels/detail/top_k/sources.hpp"
#include "sotto/kernels/detail/top_k/threshold_sampler.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Selects the k largest of several parts together, usually in one pass. The pass collects values
/// that reach a threshold, and an exact ranking of those decides.
///
///   too many reach it   If the room is full, the candidates are cut down to the k largest. After
///                       that only larger values count, because equal ones have higher indices. The
///                       room is 2 k or more, so cutting costs at most two rankings per candidate.
///                       On the first cut, a sample from other places also estimates the right
///                       threshold, which is checked at the end.
///   too few             The pass is repeated with a threshold from other places, for twice as
///                       many. If these are still too few, it is repeated without a threshold.
///                       That is two more passes, a third if one was cut short wrongly, and a
///                       fourth if a guess was wrong.
///
/// Later calls do not sample the places that misled, so an adversarial input is slow only once. All
/// memory is allocated before any write: on an exception nothing has changed.
class top_k_search {
public:
    /// Allocates memory for k of n values, and for their second values if a step claims them.
    void reserve(std::size_t n, std::size_t k, bool seconds, std::size_t parts = 1) {
        const std::size_t room = room_for(n, k);
        room_ = 0;  // until all of it is allocated
        places_.reserve(room);
        values_.reserve(room);
        if (seconds) seconds_.reserve(room);
        ranker_.reserve(room);
        sampler_.reserve(n);
        ends_.reserve(parts);
        if (seconds) written_.reserve(parts);
        room_ = room;
    }

    /// Writes the k largest of all parts to places() and values(), part after part; requires
    /// 1 <= k <= the parts' size. `guess`: thresholds that are likely to be good, or null.
    template <class Source>
    void run(std::span<const selected_part<Source>> parts, std::size_t k,
             const probable_thresholds* guess) {
        std::size_t n = 0;
        for (const auto& part : parts) n += part.size;
        begin<Source>(n, k, parts.size());
        if (n <= direct_max) {
            collect_directly(parts);
        } else {
            const bool guessed = guess != nullptr && sampler_.is_plausible(*guess, parts, n, k);
            collect_all(parts, guessed ? *guess : estimate(parts, 1.0));
            if (!complete_) {
                repeated_ = true;
                sample_elsewhere();
                release(parts, magnitude_bits);
                collect_again(parts, guessed);
            }
        }
        finish(parts);
    }

    /// One thread's part of a selection of k of n values by several: collects candidates for the k
    /// largest of all.
    template <class Source>
    void run_share(const selected_part<Source>& part, std::size_t n, std::size_t k,
                   const probable_thresholds& start) {
        begin<Source>(part.size, k, 1);
        expected_ = expect<Source>(k, n);
        collect_all(std::span(&part, 1), start, false);
    }

    /// Writes all values of at least a magnitude to places() and values(), which have room for all.
    template <class Source>
    void run_above(const selected_part<Source>& part, std::uint32_t least) {
        constexpr std::size_t some = 65536;
        reserve(part.size, part.size, false);
        const std::size_t first = (std::min)(part.size, some);
        collect_request request{.end = first, .least = least, .to = everything(), .on = on_};
        const auto go_on = [&] {
            const collect_progress progress = run_unfused<collect<Source>>(
                sotto::kernels::best_instruction_set(), part.source, request);
            request.from = progress.at;
            request.to.count = count_ = progress.count;
        };
        request.to.count = 0;
        go_on();
        request.end = part.size;
        request.expected = expect<Source>(count_, first);
        if (first < part.size) go_on();
    }

    std::size_t count() const noexcept { return count_; }
    const std::uint32_t* places() const noexcept { return places_.data(); }
    const float* values() const noexcept { return values_.data(); }
    /// The end of each part in places().
    std::span<const std::size_t> ends() const noexcept { return ends_; }
    /// In order: magnitude of the smallest selected value; number of candidates; true if the first
    /// pass found too few; true if it claimed too many.
    std::uint32_t threshold() const noexcept { return threshold_; }
    std::size_t collected() const noexcept { return collected_; }
    bool repeated() const noexcept { return repeated_; }
    bool released() const noexcept { return released_; }
    bool has_nan() const noexcept { return nan_; }

    static std::size_t room_for(std::size_t n, std::size_t k) noexcept {
        return (std::min)(n, 2 * k + 65536) + 2 * collect_block;
    }

    threshold_sampler& sampler() noexcept { return sampler_; }
    /// Selects the sampled places: the same until they mislead.
    std::uint64_t attempt() const noexcept { return attempt_; }
    void sample_elsewhere() noexcept { ++attempt_; }

    candidates everything() noexcept {
        return {places_.data(), values_.data(), seconds_.data(), count_, room_};
    }

private:
    static constexpr std::size_t direct_max = 16384;
    /// Returns the crowding for `count` candidates among `size` values; the limits are where each
    /// method becomes the fastest.
    template <class Source>
    crowding expect(std::size_t count, std::size_t size) const noexcept {
        constexpr std::size_t some = Source::claims ? 2000 : 400;
        const std::size_t dense = !Source::claims && on_.compresses_bytes ? 6 : 16;
        return count > size / dense  ? crowding::dense
               : count > size / some ? crowding::some
                                     : crowding::sparse;
    }

    template <class Source>
    void begin(std::size_t n, std::size_t k, std::size_t parts) {
        reserve(n, k, Source::claims, parts);
        size_ = n;
        wanted_ = k;
        count_ = 0;
        ends_.assign(parts, 0);
        expected_ = expect<Source>(k, n);
        repeated_ = released_ = nan_ = false;
    }

    template <class Source>
    probable_thresholds estimate(std::span<const selected_part<Source>> parts, double factor) {
        return sampler_.estimate(parts, size_, wanted_, factor, attempt_);
    }

    /// Returns the values written by a pass; `compute`: writes them first.
    template <class Source>
    std::span<const selected_part<plain_source>> read_back(
        std::span<const selected_part<Source>> parts, bool compute) {
        if constexpr (std::is_same_v<Source, plain_source>) {
            return parts;
        } else {
            written_.clear();
            for (const auto& part : parts) {
                if (compute) part.source.compute_all(part.size);
                written_.push_back({part.source.written(), part.size, part.first});
            }
            return written_;
        }
    }

    /// Few values are cached, so reading them twice costs less than a sample.
    template <class Source>
    void collect_directly(std::span<const selected_part<Source>> sources) {
        const std::span<const selected_part<plain_source>> parts = read_back(sources, true);
        probable_thresholds exact;
        if (parts.size() == 1)
            exact.least =
                ranker_.rank({parts[0].source.values + parts[0].first, parts[0].size}, wanted_)
                    .magnitude;
        collect_all(parts, exact);
    }

    template <class Source>
    void collect_again(std::span<const selected_part<Source>> sources, bool without_sample) {
        const std::span<const selected_part<plain_source>> parts = read_back(sources, false);
        if (without_sample) collect_all(parts, estimate(parts, 1.0));
        if (!complete_) {
            sample_elsewhere();
            collect_all(parts, estimate(parts, 2.0));
        }
        if (!complete_) collect_all(parts, probable_thresholds{});
        if (!complete_) collect_all(parts, probable_thresholds{}, false);
    }

    /// Runs a pass over all parts.
    template <class Source>
    void collect_all(std::span<const selected_part<Source>> parts, const probable_thresholds& start,
                     bool may_raise = true) {
        count_ = 0;
        std::uint32_t raised = 0;  // magnitude below which a sample excluded values
        claimed_above_ = start.claim_from;
        // Ties are counted after each stop; a pass stops where they may suffice.
        std::size_t ties = start.ties;
        const bool all = start.least == 0 && ties == probable_thresholds::unlimited;
        collect_request request{.least = start.least,
                                .expected = all ? crowding::dense : expected_,
                                .to = everything(),
                                .on = on_};
        for (std::size_t p = 0; p < parts.size(); ++p) {
            request.from = parts[p].first;
            request.end = parts[p].first + parts[p].size;
            while (true) {
                const std::size_t before = count_;
                request.claim_from = claimed_above_;
                request.to.count = before;
                request.to.room = room_ - before < ties
                                      ? room_
                                      : (std::min)(room_, before + ties + 2 * collect_block);
                const collect_progress progress = run_unfused<collect<Source>>(
                    sotto::kernels::best_instruction_set(), parts[p].source, request);
                ends_[p] = count_ = progress.count;
                if (ties != probable_thresholds::unlimited) {
                    ties -= (std::min)(ties, count_equal(before, count_, start.least));
                    if (ties == 0) {
                        ties = probable_thresholds::unlimited;
                        request.least = (std::min)(request.least + 1, magnitude_bits);
                    }
                }
                if (progress.at == request.end) break;
                const std::size_t looked_at = progress.at - request.from;
                request.from = progress.at;
                if (count_ + collect_block <= room_) continue;
                request.expected = expect<Source>(count_ - before, looked_at);
                request.least = cut(parts.first(p + 1));
                ties = probable_thresholds::unlimited;
                if (!std::exchange(may_raise, false)) continue;
                sample_elsewhere();
                if (const auto other = estimate(parts, 1.0).least; other > request.least) {
                    request.least = raised = other;
                    release(parts.first(p + 1), raised - 1);  // claimed values are candidates
                    request.expected = expected_;
                }
            }
        }
        complete_ = count_ >= wanted_ && (raised == 0 || rank_wanted().magnitude >= raised);
    }

    ranked_magnitude rank_wanted() { return ranker_.rank({values_.data(), count_}, wanted_); }

    std::size_t count_equal(std::size_t from, std::size_t to, std::uint32_t magnitude) const {
        const auto values = std::span(values_.data(), to).subspan(from);
        return static_cast<std::size_t>(
            std::count_if(values.begin(), values.end(),
                          [&](float value) { return magnitude_of(value) == magnitude; }));
    }

    /// Cuts the candidates down to the k largest and returns the magnitude that others must reach.
    template <class Source>
    std::uint32_t cut(std::span<const selected_part<Source>> parts) {
        const ranked_magnitude least = rank_wanted();
        release(parts, least.magnitude);
        keep<Source::claims>(parts, least, false);
        return (std::min)(least.magnitude + 1, magnitude_bits);
    }

    template <class Source>
    void finish(std::span<const selected_part<Source>> parts) {
        collected_ = count_;
        const ranked_magnitude least = rank_wanted();
        threshold_ = least.magnitude;
        release(parts, threshold_);
        keep<false>(parts, least, true);
    }

    /// Undoes claims up to a magnitude.
    template <class Source>
    void release(std::span<const selected_part<Source>> parts, std::uint32_t up_to) {
        if (!Source::claims || claimed_above_ >= up_to) return;
        released_ = true;
        if constexpr (Source::claims) {
            std::size_t i = 0;
            for (std::size_t p = 0; p < parts.size(); ++p)
                for (; i < ends_[p]; ++i) {
                    const std::uint32_t magnitude = magnitude_of(values_.data()[i]);
                    if (magnitude > claimed_above_ && magnitude <= up_to)
                        parts[p].source.put_back(places_.data()[i], values_.data()[i],
                                                 seconds_.data()[i]);
                }
        }
        claimed_above_ = up_to;
    }

    template <bool Seconds, class Source>
    void keep(std::span<const selected_part<Source>> parts, const ranked_magnitude& least,
              bool settle) {
        keep_request request{.threshold = least.magnitude,
                             .ties = wanted_ - least.above,
                             .settle = settle,
                             .claimed_above = claimed_above_,
                             .out = everything()};
        for (std::size_t p = 0; p < parts.size(); ++p) {
            request.last = ends_[p];
            const keep_progress progress = run_unfused<keep_top<Source, Seconds>>(
                sotto::kernels::best_instruction_set(), parts[p].source, everything(), request);
            request.first = request.last;
            ends_[p] = request.to = progress.to;
            request.ties = progress.ties;
            nan_ = p == 0 ? progress.nan : nan_ || progress.nan;
        }
        count_ = request.to;
    }

    uninitialised<std::uint32_t> places_;
    uninitialised<float> values_, seconds_;
    magnitude_ranker ranker_;
    threshold_sampler sampler_;
    std::vector<std::size_t> ends_;
    std::vector<selected_part<plain_source>> written_;
    std::size_t room_ = 0, wanted_ = 0, size_ = 0, count_ = 0, collected_ = 0;
    std::uint32_t threshold_ = 0, claimed_above_ = magnitude_bits;
    std::uint64_t attempt_ = 0;  // persists between calls: an input misleads once
    processor on_ = this_processor();
    crowding expected_ = crowding::sparse;
    bool complete_ = false, repeated_ = false, released_ = false, nan_ = false;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
