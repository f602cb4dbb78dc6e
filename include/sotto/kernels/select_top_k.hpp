#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/top_k/sources.hpp"
#include "sotto/kernels/detail/top_k/top_k_search.hpp"

/// Loops over spans. Each is written once and compiled for several instruction sets; a call runs
/// the best one that the processor has.
namespace sotto::kernels {

/// What a NaN among the values means.
enum class nan_policy : std::uint8_t {
    refuse,   // an error that says where the first one is
    largest,  // larger than infinity, and of two NaNs the one with the larger payload
};

}  // namespace sotto::kernels

namespace sotto::detail::kernels {

/// Entries of a vector: where they are, ascending, and what they are.
template <class Index>
struct basic_selection {
    std::span<const Index> indices;  // ascending
    std::span<const float> values;   // one for each
};

}  // namespace sotto::detail::kernels

namespace sotto::kernels {
/// Of a vector of up to 2^32 values.
using selection = detail::kernels::basic_selection<std::uint32_t>;

}  // namespace sotto::kernels

namespace sotto::detail::kernels::inline SOTTO_UNIT {

constexpr std::uint64_t narrow_max = std::uint64_t{1} << 32, wide_max = std::uint64_t{1} << 40;
constexpr std::size_t only_tensor = static_cast<std::size_t>(-1);

/// For messages: which of several tensors.
inline std::string of_tensor(std::size_t tensor) {
    return tensor == only_tensor ? std::string() : " of tensor " + std::to_string(tensor);
}

/// Also a number of values that was given as one, and may have been negative.
inline void check_top_k(std::size_t n, std::int64_t k, std::uint64_t n_max = narrow_max,
                        const char* function = "select_top_k", std::size_t tensor = only_tensor) {
    const auto number = static_cast<std::int64_t>(n);
    if (number < 0) [[unlikely]]
        refuse(function, "n is " + std::to_string(number), "0 to " + std::to_string(n_max));
    if (n > n_max) [[unlikely]]
        throw invalid_option(std::string(function) + ": there are " + std::to_string(n) +
                             " values" + of_tensor(tensor) + "; this scratch's index type allows " +
                             std::to_string(n_max));
    if (k < 0 || k > number) [[unlikely]]
        refuse(function, given("k" + of_tensor(tensor), k),
               "0 to " + std::to_string(number) + ", the number of values");
}

/// Throws if there is one. `first_place`: that of the first of these values.
inline void refuse_nan(std::span<const float> values, std::uint64_t first_place = 0,
                       const char* function = "select_top_k", std::size_t tensor = only_tensor) {
    const auto is_nan = [](float value) { return magnitude_of(value) > infinity_bits; };
    const auto first = std::find_if(values.begin(), values.end(), is_nan);
    if (first == values.end()) return;
    const auto place = first_place + static_cast<std::uint64_t>(first - values.begin());
    throw error(errc::non_finite, std::string(function) + ": value " + std::to_string(place) +
                                      of_tensor(tensor) + " is NaN");
}

template <class Source>
sotto::kernels::selection select(const selected_part<Source>& part, std::int64_t k,
                                 top_k_search& search, const probable_thresholds* guess,
                                 sotto::kernels::nan_policy nans, std::uint64_t first_place = 0) {
    check_top_k(part.size, k);
    if (k == 0) return {};
    search.run(std::span(&part, 1), static_cast<std::size_t>(k), guess);
    if (nans == sotto::kernels::nan_policy::refuse && search.has_nan())
        refuse_nan({part.source.values, part.size}, first_place);
    const auto count = static_cast<std::size_t>(k);
    return {{search.places(), count}, {search.values(), count}};
}

struct insides;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// Memory that selections work in; grows to what the largest call needed and is then reused. Its
/// index type says how many values there may be: 32 bits for 2^32, 64 bits for 2^40. Results lie in
/// it and last until it is used again: by a selection or `reserve`, also one that throws. What
/// threw left it ready for the next call.
///   memory  12 bytes for each of min(n, 2 k + 65,536) values, 16 for fused steps, and up to
///           0.8 MB; in 64 bits 16 bytes for each of 2 k more. What is not needed is not touched
template <class Index>
class basic_top_k_scratch;

/// For up to 2^32 values.
template <std::same_as<std::uint32_t> Index>
class basic_top_k_scratch<Index> {
public:
    /// Takes what selecting up to k of up to n values needs.
    void reserve(std::int64_t n, std::int64_t k) {
        detail::kernels::check_top_k(static_cast<std::size_t>(n), k, detail::kernels::narrow_max,
                                     "top_k_scratch::reserve");
        search_.reserve(static_cast<std::size_t>(n), static_cast<std::size_t>(k), false);
    }
    /// The same for a fused step, see dgc_step.hpp.
    void reserve_step(std::int64_t n, std::int64_t k) {
        detail::kernels::check_top_k(static_cast<std::size_t>(n), k, detail::kernels::narrow_max,
                                     "top_k_scratch::reserve_step");
        search_.reserve(static_cast<std::size_t>(n), static_cast<std::size_t>(k), true);
    }

private:
    friend detail::kernels::insides;

    detail::kernels::basic_selection<Index> select(std::span<const float> values, std::int64_t k,
                                                   nan_policy nans) {
        return detail::kernels::select(detail::kernels::whole(values), k, search_, nullptr, nans);
    }

    detail::kernels::top_k_search search_;
};
/// For up to 2^32 values.
using top_k_scratch = basic_top_k_scratch<std::uint32_t>;

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// What the last call's threshold tells the next, where values change little from call to call.
class carried_threshold {
private:
    friend detail::kernels::insides;

    /// Null before the first call.
    const probable_thresholds* guess() const noexcept { return known_ ? &thresholds_ : nullptr; }

    /// After a selection of k.
    void learn(const top_k_search& from, std::size_t k) noexcept {
        if (from.repeated())
            below_ = (std::min)(2.0f * below_, widest);
        else if (from.collected() > k + k / 8)
            below_ = (std::max)(0.8f * below_, narrowest);
        above_ = from.released() ? (std::min)(2.0f * above_, widest)
                                 : (std::max)(0.8f * above_, narrowest);
        known_ = from.threshold() > 0 && from.threshold() < infinity_bits;
        const float last = std::bit_cast<float>(from.threshold());
        thresholds_.least = magnitude_of(last * (1.0f - below_));
        thresholds_.claim_from = magnitude_of(last * (1.0f + above_));
    }

    static constexpr float narrowest = 0.004f, widest = 0.5f;

    // By which part of the last threshold the next may be lower, or higher.
    float below_ = 0.03f, above_ = 0.03f;
    probable_thresholds thresholds_;
    bool known_ = false;
};

/// What kernels may do with what users only hold.
struct insides {
    static top_k_search& of(sotto::kernels::top_k_scratch& scratch) noexcept {
        return scratch.search_;
    }
    static const probable_thresholds* guess_of(const carried_threshold& carried) noexcept {
        return carried.guess();
    }
    static void learn(carried_threshold& carried, const sotto::kernels::top_k_scratch& from,
                      std::int64_t k) noexcept {
        if (k > 0) carried.learn(from.search_, static_cast<std::size_t>(k));
    }
    /// Every scratch selects in a way of its own.
    template <class Scratch, class... Arguments>
    static auto select(Scratch& scratch, Arguments&... arguments) {
        return scratch.select(arguments...);
    }
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// The k entries of largest magnitude, exactly: their indices, ascending, and their values; of
/// equal magnitudes those with the lower index.
///   shape   values: n floats, n <= 2^32, with wide_top_k_scratch 2^40;  0 <= k <= n;  the result
///           lives in `scratch` until the next call
///   cost    one read of the values, as a rule, after a sample of at most 65,536 gave a threshold,
///           then two and a quarter reads of the candidates: with a sample of s about
///           k + 3 sqrt(k n / s) + 2 n / s of them, 1.4 k for k = 0.001 n. Inputs that mislead the
///           sample take up to two reads more, see detail::top_k_search. No allocation once
///           `scratch` is large enough
///   errors  invalid_option for another k or n; with nan_policy::refuse non_finite for a NaN,
///           unless k is 0
template <class Index>
detail::kernels::basic_selection<Index> select_top_k(std::span<const float> values, std::int64_t k,
                                                     basic_top_k_scratch<Index>& scratch,
                                                     nan_policy nans = nan_policy::refuse) {
    return detail::kernels::insides::select(scratch, values, k, nans);
}

/// The same, as exactly, with the last call's threshold, if 4,096 values agree with it: for values
/// whose distribution changes little from call to call; one `carried` for each tensor.
template <std::same_as<std::uint32_t> Index>
selection select_top_k(std::span<const float> values, std::int64_t k,
                       basic_top_k_scratch<Index>& scratch,
                       detail::kernels::carried_threshold& carried,
                       nan_policy nans = nan_policy::refuse) {
    const selection found = detail::kernels::select(
        detail::kernels::whole(values), k, detail::kernels::insides::of(scratch),
        detail::kernels::insides::guess_of(carried), nans);
    detail::kernels::insides::learn(carried, scratch, k);
    return found;
}

/// All entries whose magnitude reaches a limit, however many: their indices, ascending, and values.
/// A NaN reaches every limit.
///   shape   values: n floats, n <= 2^32;  the result lives in `scratch` until the next call
///   cost    one read of the values; memory for n entries
///   errors  invalid_option for another n, and for a limit that is NaN or below 0 (-0 is not)
template <std::same_as<std::uint32_t> Index>
selection select_above(std::span<const float> values, float limit,
                       basic_top_k_scratch<Index>& scratch) {
    detail::kernels::check_top_k(values.size(), 0, detail::kernels::narrow_max, "select_above");
    // By its bits, which -ffast-math does not change.
    const auto bits = std::bit_cast<std::uint32_t>(limit);
    const bool is_minus_zero = bits == (1u << 31);
    if (bits > detail::kernels::infinity_bits && !is_minus_zero) [[unlikely]] {
        detail::kernels::refuse("select_above", detail::kernels::given("limit", limit),
                                "at least 0");
    }
    detail::kernels::top_k_search& search = detail::kernels::insides::of(scratch);
    search.run_above(detail::kernels::whole(values), detail::kernels::magnitude_of(limit));
    return {{search.places(), search.count()}, {search.values(), search.count()}};
}

/// For up to 2^40 values.
template <std::same_as<std::uint64_t> Index>
class basic_top_k_scratch<Index> {
public:
    /// Takes what selecting up to k of up to n values needs.
    void reserve(std::int64_t n, std::int64_t k) {
        detail::kernels::check_top_k(static_cast<std::size_t>(n), k, detail::kernels::wide_max,
                                     "wide_top_k_scratch::reserve");
        const auto part = static_cast<std::int64_t>(part_max);
        part_.reserve((std::min)(n, part), (std::min)(k, part));
        const std::size_t room = 2 * static_cast<std::size_t>(k);
        ranker_.reserve(room);
        places_.reserve(room);
        values_.reserve(room);
    }

private:
    friend detail::kernels::insides;

    static constexpr std::size_t part_max = std::size_t{1} << 32;

    detail::kernels::basic_selection<Index> select(std::span<const float> values, std::int64_t k,
                                                   nan_policy nans) {
        detail::kernels::check_top_k(values.size(), k, detail::kernels::wide_max);
        reserve(static_cast<std::int64_t>(values.size()), k);
        const auto wanted = static_cast<std::size_t>(k);
        std::size_t count = 0;
        for (std::size_t from = 0; wanted > 0 && from < values.size(); from += part_max) {
            const auto part = values.subspan(from, (std::min)(part_max, values.size() - from));
            const auto most = (std::min)(k, static_cast<std::int64_t>(part.size()));
            const selection found =
                detail::kernels::select(detail::kernels::whole(part), most,
                                        detail::kernels::insides::of(part_), nullptr, nans, from);
            for (std::size_t i = 0; i < found.indices.size(); ++i) {
                places_.data()[count + i] = from + found.indices[i];
                values_.data()[count + i] = found.values[i];
            }
            count += found.indices.size();
            if (count > wanted) count = cut(count, wanted);
        }
        return {{places_.data(), count}, {values_.data(), count}};
    }

    std::size_t cut(std::size_t count, std::size_t wanted) {
        const auto least = ranker_.rank({values_.data(), count}, wanted);
        std::size_t ties = wanted - least.above, to = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t magnitude = detail::kernels::magnitude_of(values_.data()[i]);
            if (magnitude < least.magnitude) continue;
            if (magnitude == least.magnitude) {
                if (ties == 0) continue;
                --ties;
            }
            places_.data()[to] = places_.data()[i];
            values_.data()[to++] = values_.data()[i];
        }
        return to;
    }

    top_k_scratch part_;
    detail::kernels::magnitude_ranker ranker_;
    detail::kernels::uninitialised<std::uint64_t> places_;
    detail::kernels::uninitialised<float> values_;
};
/// For up to 2^40 values.
using wide_top_k_scratch = basic_top_k_scratch<std::uint64_t>;

}  // namespace SOTTO_UNIT

}  // namespace sotto::kernels
