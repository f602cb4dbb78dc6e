#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/bit_places.hpp"
#include "sotto/kernels/detail/simd/operations.hpp"
#include "sotto/kernels/detail/simd/processor.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Candidates for the largest values: their places, ascending, and their values.
struct candidates {
    std::uint32_t* places = nullptr;
    float* values = nullptr;
    float* seconds = nullptr;  // their second values, in a source that claims
    std::size_t count = 0;
    std::size_t room = 0;  // for full registers: see collect_block
};

/// Expected number of candidates in a pass, which decides the cheapest method.
enum class crowding : std::uint8_t {
    sparse,  // most blocks have none
    some,    // unpredictable whether a block has any
    dense,   // one in every few registers
};

/// One pass over [from, end) that collects magnitudes of at least `least` while there is room.
struct collect_request {
    std::size_t from = 0;
    std::size_t end = 0;
    std::uint32_t least = 0;
    std::uint32_t claim_from = magnitude_bits;  // claims magnitudes above this, at least least - 1
    crowding expected = crowding::sparse;
    candidates to;
    processor on;
};

struct collect_progress {
    std::size_t at = 0;     // first place not processed, because there was no room
    std::size_t count = 0;  // current number of candidates
};

/// Values processed together: one branch per block, and room for all of them.
constexpr std::size_t collect_block = 64;

template <std::size_t Lanes>
constexpr std::array<std::uint32_t, Lanes> ascending() noexcept {
    std::array<std::uint32_t, Lanes> numbers{};
    for (std::size_t lane = 0; lane < Lanes; ++lane) numbers[lane] = static_cast<unsigned>(lane);
    return numbers;
}

template <class Source>
struct collect {
    template <instruction_set Set>
    SOTTO_INLINE static collect_progress run(const Source& from,
                                             const collect_request& how) noexcept {
        const Source source = from;  // copies: no store can change them, so they stay in registers
        const collect_request request = how;
        collect_progress progress;
        if constexpr (Source::claims)
            progress = source.streams ? past_caches<Set>(source, request)
                                      : as_expected<Set>(source, request);
        else
            progress = as_expected<Set>(source, request);
        const bool has_room = request.end - progress.at < collect_block;
        if (has_room && progress.count + collect_block <= request.to.room) {
            for (; progress.at < request.end; ++progress.at) {
                const float value = source.compute_one(progress.at);
                if (magnitude_of(value) >= request.least)
                    add(source, request, progress.at, progress.count, value);
            }
        }
        return progress;
    }

private:
    template <instruction_set Set>
    SOTTO_INLINE static collect_progress as_expected(const Source& source,
                                                     const collect_request& request) noexcept {
        switch (request.expected) {
            case crowding::sparse: return one_by_one<Set>(source, request);
            case crowding::some:
                return request.on.compresses_bytes
                           ? places_first<Set, places_by_bytes<Set>>(source, request)
                           : places_first<Set, places_by_fours>(source, request);
            default: return all_compressed<Set>(source, request);
        }
    }

    /// Processes some blocks at a time into memory that stays cached, and streams them from there
    /// past the caches. Overwritten lines are then not fetched, and candidates are still cached
    /// when they are read and claimed.
    template <instruction_set Set>
    SOTTO_INLINE static collect_progress past_caches(const Source& source,
                                                     const collect_request& how) noexcept {
        constexpr std::size_t group = 16 * collect_block;
        typename Source::template kept_near<group> kept;
        collect_request request = how;
        collect_progress progress = to_line(source, request);
        request.from = 0;
        bool has_room = true;
        while (has_room && how.end - progress.at >= collect_block) {
            const std::size_t begin = progress.at, before = progress.count;
            request.end = (std::min)(group, (how.end - begin) / collect_block * collect_block);
            request.to.count = before;
            const collect_progress found = as_expected<Set>(source.from(begin, kept), request);
            kept.template stream<lanes_of(Set)>(source, begin, found.at);
            for (std::size_t j = before; j < found.count; ++j)
                request.to.places[j] += static_cast<std::uint32_t>(begin);
            progress = {begin + found.at, found.count};
            has_room = found.at == request.end;
        }
        end_streaming();
        return progress;
    }

    /// Processes values one by one up to the start of a line.
    SOTTO_INLINE static collect_progress to_line(const Source& source,
                                                 const collect_request& request) noexcept {
        std::size_t at = request.from, count = request.to.count;
        for (; at < request.end && count < request.to.room && !source.begins_line(at); ++at) {
            const float value = source.compute_one(at);
            if (magnitude_of(value) >= request.least) add(source, request, at, count, value);
        }
        return {at, count};
    }

    SOTTO_INLINE static void add(const Source& source, const collect_request& request,
                                 std::size_t at, std::size_t& count, float value) noexcept {
        request.to.places[count] = static_cast<std::uint32_t>(at);
        request.to.values[count] = value;
        if constexpr (Source::claims) {
            request.to.seconds[count] = source.second(at);
            if (magnitude_of(value) > request.claim_from) source.claim(at);
        }
        ++count;
    }

    /// Computes and keeps a block; returns a bit for each value that is a candidate.
    template <instruction_set Set>
    SOTTO_INLINE static std::uint64_t reached_of_block(const Source& source,
                                                       const collect_request& request,
                                                       std::size_t i) noexcept {
        using operation = operations<Set>;
        constexpr int lanes = operation::lanes;
        std::uint64_t reached = 0;
#pragma GCC unroll 16
        for (std::size_t r = 0; r < collect_block / lanes; ++r) {
            if (r * lanes % 16 == 0) source.fetch(i + request.on.values_ahead + r * lanes);
            typename Source::template lanes_type<lanes> values;
            source.template compute<lanes>(i + r * lanes, values);
            source.template keep<lanes>(i + r * lanes, values);
            const words<lanes> magnitudes =
                words<lanes>(source.template values_of<lanes>(values)) & magnitude_bits;
            reached |= std::uint64_t{operation::reaching(magnitudes, request.least)} << r * lanes;
        }
        return reached;
    }

    /// For few candidates: a bit for each value of a block, and a loop over the set bits.
    template <instruction_set Set>
    SOTTO_INLINE static collect_progress one_by_one(const Source& source,
                                                    const collect_request& request) noexcept {
        const std::size_t room = request.to.room;
        std::size_t count = request.to.count, i = request.from;
        for (; i + collect_block <= request.end && count + collect_block <= room;
             i += collect_block) {
            std::uint64_t reached = reached_of_block<Set>(source, request, i);
            for (; reached != 0; reached &= reached - 1) {
                const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(reached));
                add(source, request, at, count, source.kept(at));
            }
        }
        return {i, count};
    }

    /// For some candidates: writes the places of every block without a branch. Their values are
    /// then fetched for a group of blocks at a time, while they are cached.
    template <instruction_set Set, class Places>
    SOTTO_INLINE static collect_progress places_first(const Source& source,
                                                      const collect_request& request) noexcept {
        constexpr std::size_t group = 16 * collect_block;
        const std::size_t room = request.to.room;
        std::size_t count = request.to.count, fetched = count, i = request.from;
        while (i + collect_block <= request.end && count + collect_block <= room) {
            const std::size_t stop = (std::min)(request.end, i + group);
            for (; i + collect_block <= stop && count + collect_block <= room; i += collect_block)
                count += Places::write(reached_of_block<Set>(source, request, i),
                                       static_cast<std::uint32_t>(i), request.to.places + count);
            for (; fetched < count; ++fetched) {
                const std::size_t at = request.to.places[fetched];
                const float value = source.kept(at);
                request.to.values[fetched] = value;
                if constexpr (Source::claims) {
                    request.to.seconds[fetched] = source.second(at);
                    source.claim_if(magnitude_of(value) > request.claim_from, at);
                }
            }
        }
        return {i, count};
    }

    /// For many candidates: compresses every register.
    template <instruction_set Set>
    SOTTO_INLINE static collect_progress all_compressed(const Source& source,
                                                        const collect_request& request) noexcept {
        using operation = operations<Set>;
        constexpr int lanes = operation::lanes;
        constexpr std::size_t registers = collect_block / lanes;
        constexpr auto numbers = ascending<lanes>();
        // On every processor, even where the other methods gain nothing by it: this method has too
        // little computation to hide memory latency.
        constexpr std::size_t ahead = 512;
        const std::size_t room = request.to.room;
        std::size_t count = request.to.count, i = request.from;
        words<lanes> places;
        load(places, numbers.data());
        places = places + static_cast<std::uint32_t>(i);
        for (; i + collect_block <= request.end && count + collect_block <= room;
             i += collect_block) {
#pragma GCC unroll 4
            for (std::size_t r = 0; r < registers; ++r) {
                if (r * lanes % 16 == 0) source.fetch(i + ahead + r * lanes);
                typename Source::template lanes_type<lanes> values;
                source.template compute<lanes>(i + r * lanes, values);
                const words<lanes> bits = words<lanes>(source.template values_of<lanes>(values));
                const words<lanes> magnitudes = bits & magnitude_bits;
                const std::uint32_t reached = operation::reaching(magnitudes, request.least);
                operation::keep(places, reached, request.to.places + count);
                operation::keep(bits, reached, request.to.values + count);
                if constexpr (Source::claims) {
                    const auto seconds = words<lanes>(source.template seconds_of<lanes>(values));
                    operation::keep(seconds, reached, request.to.seconds + count);
                    const words<lanes> claimed =
                        words<lanes>(integers<lanes>(magnitudes) >
                                     static_cast<std::int32_t>(request.claim_from));
                    source.template claim<lanes>(values, claimed);
                }
                source.template keep<lanes>(i + r * lanes, values);
                count += static_cast<std::size_t>(std::popcount(reached));
                places = places + static_cast<std::uint32_t>(lanes);
            }
        }
        return {i, count};
    }
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
