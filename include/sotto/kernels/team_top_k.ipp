#pragma once

#include "sotto/kernels/team_top_k.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
#include "sotto/kernels/detail/top_k/keep_top.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/detail/top_k/rank_magnitude.hpp"
#include "sotto/kernels/detail/top_k/sample.hpp"
#include "sotto/kernels/detail/top_k/select.hpp"
#include "sotto/kernels/detail/top_k/sources.hpp"
#include "sotto/kernels/detail/top_k/top_k_search.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

class team_top_k_search {
public:
    /// Allocates memory for selecting k of n values with this number of threads.
    void reserve(std::int64_t n, std::int64_t k, int threads) {
        constexpr auto function = "team_top_k_scratch::reserve";
        check_top_k(static_cast<std::size_t>(n), k, narrow_max, function);
        if (threads < 1) refuse(function, given("threads", threads), "at least 1");
        const auto size = static_cast<std::size_t>(n), wanted = static_cast<std::size_t>(k);
        const auto count = static_cast<std::size_t>(threads);
        if (members_.size() < count) members_ = std::vector<member_state>(count);
        // The first member's memory suffices for a single thread, which takes over if a sample
        // misleads.
        const std::size_t share = top_k_search::room_for(size / count + 1, wanted);
        for (std::size_t m = 0; m < count; ++m) {
            members_[m].search.reserve(m == 0 ? size : size / count + 1, wanted, false);
            members_[m].inside.reserve(share + lanes_max);
        }
        joined_.reserve(count * share + lanes_max);
        ranker_.reserve(count * share);
        places_.reserve(wanted);
        values_.reserve(wanted);
    }

    sotto::kernels::selection select(std::span<const float> values, std::int64_t k,
                                     sotto::kernels::thread_team& team,
                                     sotto::kernels::nan_policy nans) {
        const std::size_t n = values.size(), wanted = static_cast<std::size_t>(k);
        check_top_k(n, k);
        if (k == 0) return {};
        reserve(static_cast<std::int64_t>(n), k, team.size());
        if (team.size() == 1 || n < shared_min) return alone(values, k, nans);
        values_to_select_ = values;
        wanted_ = wanted;
        collect(estimate(team), team);
        if (total(team) < wanted) {
            member(0).search.sample_elsewhere();
            return alone(values, k, nans);
        }
        const ranked_magnitude least = rank(team);
        const bool nan = keep(least, team);
        if (nan && nans == sotto::kernels::nan_policy::refuse) refuse_nan(values);
        return {{places_.data(), wanted}, {values_.data(), wanted}};
    }

    // Below this, waking threads costs more than it saves.
    static constexpr std::size_t shared_min = 65536;

    struct alignas(64) member_state {
        top_k_search search;
        uninitialised<float> inside;  // candidates near the smallest selected value
        range_counts counts;
        keep_request request;
        bool nan = false;
    };

    member_state& member(int m) noexcept { return members_[static_cast<std::size_t>(m)]; }

private:
    sotto::kernels::selection alone(std::span<const float> values, std::int64_t k,
                                    sotto::kernels::nan_policy nans) {
        return kernels::select(whole(values), k, member(0).search, nullptr, nans);
    }

    selected_part<plain_source> part_of(int m, int members) const noexcept {
        const std::size_t n = values_to_select_.size();
        const auto from = n * static_cast<std::size_t>(m) / static_cast<std::size_t>(members);
        const auto to = n * static_cast<std::size_t>(m + 1) / static_cast<std::size_t>(members);
        return {{values_to_select_.data()}, to - from, from};
    }

    /// Each member samples its own part; the first one computes the thresholds.
    probable_thresholds estimate(sotto::kernels::thread_team& team) {
        const std::size_t n = values_to_select_.size();
        const std::size_t sampled =
            threshold_sampler::sample_size(n) / static_cast<std::size_t>(team.size()) / sample_line;
        threshold_sampler& sampler = member(0).search.sampler();
        float* const room = sampler.room();
        const std::uint64_t attempt = member(0).search.attempt();
        team.run([&](int m) {
            const auto part = part_of(m, team.size());
            run_unfused<take_sample<plain_source>>(
                sotto::kernels::best_instruction_set(), part.source, part.first, part.size, sampled,
                attempt, room + static_cast<std::size_t>(m) * sampled * sample_line);
        });
        const std::size_t count = sampled * sample_line * static_cast<std::size_t>(team.size());
        return sampler.judge({room, count}, n, wanted_, 1.0, false);
    }

    void collect(const probable_thresholds& start, sotto::kernels::thread_team& team) {
        const std::size_t n = values_to_select_.size();
        team.run(
            [&](int m) { member(m).search.run_share(part_of(m, team.size()), n, wanted_, start); });
    }

    std::size_t total(sotto::kernels::thread_team& team) {
        std::size_t sum = 0;
        for (int m = 0; m < team.size(); ++m) sum += member(m).search.everything().count;
        return sum;
    }

    /// Ranks the smallest selected value of all candidates. Members extract those near it.
    ranked_magnitude rank(sotto::kernels::thread_team& team) {
        near_ = range_near(team);
        team.run([&](int m) {
            const candidates all = member(m).search.everything();
            member(m).counts =
                run_unfused<extract_range>(sotto::kernels::best_instruction_set(), all.values,
                                           all.count, near_, member(m).inside.data());
        });
        range_counts counts;
        for (int m = 0; m < team.size(); ++m) {
            counts.above += member(m).counts.above;
            counts.inside += member(m).counts.inside;
        }
        if (counts.above >= wanted_ || counts.above + counts.inside < wanted_)
            return rank_all(team);
        std::size_t count = 0;
        for (int m = 0; m < team.size(); ++m) {
            std::copy_n(member(m).inside.data(), member(m).counts.inside, joined_.data() + count);
            count += member(m).counts.inside;
        }
        ranked_magnitude least = ranker_.rank({joined_.data(), count}, wanted_ - counts.above);
        least.above += counts.above;
        return least;
    }

    /// Used if a sample of the candidates misled.
    ranked_magnitude rank_all(sotto::kernels::thread_team& team) {
        const std::size_t count = total(team);
        std::size_t to = 0;
        for (int m = 0; m < team.size(); ++m) {
            const candidates all = member(m).search.everything();
            std::copy_n(all.values, all.count, joined_.data() + to);
            to += all.count;
        }
        return ranker_.rank({joined_.data(), count}, wanted_);
    }

    magnitude_range range_near(sotto::kernels::thread_team& team) {
        const std::size_t count = total(team);
        std::array<std::uint32_t, 512> sample;
        const std::size_t share = sample.size() / static_cast<std::size_t>(team.size());
        std::size_t sampled = 0;
        for (int m = 0; m < team.size(); ++m) {
            const candidates all = member(m).search.everything();
            const std::size_t mine = (std::min)(all.count, share);
            for (std::size_t i = 0; i < mine; ++i)
                sample[sampled++] = magnitude_of(all.values[i * all.count / mine]);
        }
        return magnitude_ranker::probable_range({sample.data(), sampled}, count, wanted_);
    }

    /// Members write their kept candidates one after another.
    bool keep(const ranked_magnitude& least, sotto::kernels::thread_team& team) {
        std::size_t to = 0, ties = wanted_ - least.above;
        for (int m = 0; m < team.size(); ++m) {
            const range_counts exact = count_at(m, least.magnitude);
            const std::size_t mine = (std::min)(ties, exact.inside);
            const std::size_t end = to + exact.above + mine;
            member(m).request = {.last = member(m).search.everything().count,
                                 .threshold = least.magnitude,
                                 .ties = mine,
                                 .out = {places_.data(), values_.data(), nullptr, 0, end},
                                 .to = to};
            to = end;
            ties -= mine;
        }
        team.run([&](int m) {
            using kernel = keep_top<plain_source, false>;
            const auto progress = run_unfused<kernel>(
                sotto::kernels::best_instruction_set(), plain_source{values_to_select_.data()},
                member(m).search.everything(), member(m).request);
            member(m).nan = progress.nan;
        });
        bool nan = false;
        for (int m = 0; m < team.size(); ++m) nan |= member(m).nan;
        return nan;
    }

    /// Returns the numbers of a member's candidates above a magnitude and equal to it.
    range_counts count_at(int m, std::uint32_t magnitude) {
        const candidates all = member(m).search.everything();
        const bool is_near = near_.lowest <= magnitude && magnitude <= near_.highest;
        const float* const from = is_near ? member(m).inside.data() : all.values;
        const std::size_t count = is_near ? member(m).counts.inside : all.count;
        range_counts counts =
            run_unfused<extract_range>(sotto::kernels::best_instruction_set(), from, count,
                                       magnitude_range{magnitude, magnitude}, joined_.data());
        if (is_near) counts.above += member(m).counts.above;
        return counts;
    }

    std::vector<member_state> members_;
    std::span<const float> values_to_select_;
    std::size_t wanted_ = 0;
    magnitude_range near_;
    magnitude_ranker ranker_;
    uninitialised<float> joined_, values_;
    uninitialised<std::uint32_t> places_;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

SOTTO_DECL team_top_k_scratch::team_top_k_scratch() = default;
SOTTO_DECL team_top_k_scratch::team_top_k_scratch(const team_top_k_scratch& other)
    : search_(other.search_ ? std::make_unique<detail::kernels::team_top_k_search>(*other.search_)
                            : nullptr) {}
SOTTO_DECL team_top_k_scratch& team_top_k_scratch::operator=(const team_top_k_scratch& other) {
    return *this = team_top_k_scratch(other);
}
SOTTO_DECL team_top_k_scratch::team_top_k_scratch(team_top_k_scratch&&) noexcept = default;
SOTTO_DECL team_top_k_scratch& team_top_k_scratch::operator=(team_top_k_scratch&&) noexcept =
    default;
SOTTO_DECL team_top_k_scratch::~team_top_k_scratch() = default;

SOTTO_DECL void team_top_k_scratch::reserve(std::int64_t n, std::int64_t k, int threads) {
    detail::kernels::insides::of(*this).reserve(n, k, threads);
}

SOTTO_DECL selection select_top_k(std::span<const float> values, std::int64_t k,
                                  team_top_k_scratch& scratch, thread_team& team, nan_policy nans) {
    return detail::kernels::insides::of(scratch).select(values, k, team, nans);
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels
