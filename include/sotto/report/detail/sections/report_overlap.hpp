#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/logging/detail/round_times.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/report/detail/charts/report_axis.hpp"

namespace sotto::detail::reporting {

/// A stretch of a row in time, and what it says where the pointer rests on it.
struct drawn_span {
    double begin = 0.0, end = 0.0;  // seconds since the round began
    std::size_t colour = 0;         // of the palette
    std::string says{};             // for people
};

/// What a span says that is put together.
inline constexpr const char* several_spans = "several";

/// Spans in order, those too short to be seen put together with what they touch: as many at most
/// as there are such lengths, twice. Of two put together the longer one gives the colour.
std::vector<drawn_span> visible(const std::vector<drawn_span>& spans, double shortest);

/// A round as rows over time, one SVG element: what the worker did, and what was under way.
///   cost    O(tensors log tensors); at most 14 rows of some hundred spans
class round_chart {
public:
    static constexpr double width = 860.0;          // of the drawing
    static constexpr std::size_t tensors_max = 12;  // with a row of their own, at most

    /// Of one round.
    round_chart(const round_times& round, const std::vector<run_tensor>& tensors);

    /// The drawing; `describes` says what it is in words.
    std::string svg(std::string_view describes) const;

    /// The colours of step_times, and two more.
    static constexpr std::size_t colour_of(work_of_round what) noexcept {
        switch (what) {
            case work_of_round::compute: return 0;
            case work_of_round::compress: return 1;
            case work_of_round::decode: return 3;
            default: return 2;
        }
    }
    static constexpr std::size_t in_flight = 6;  // the colour of what is under way

private:
    static constexpr double top = 20.0, row_height = 19.0, bar_height = 14.0, left = 190.0,
                            right = width - 14.0;

    struct row {
        std::string name;
        std::vector<drawn_span> spans;
        bool labelled = false;
    };

    double px(double time) const noexcept { return left + (right - left) * time_.place(time); }

    /// Half a unit of the drawing: less is not seen.
    std::vector<drawn_span> seen(const std::vector<drawn_span>& spans) const;

    void add_worker(const std::vector<run_tensor>& tensors);

    /// The largest ones in the order in which they left, then all others in one row.
    void add_tensors(const std::vector<run_tensor>& tensors);

    void draw(const row& r, double number, std::string& out) const;

    const round_times& round_;
    axis time_;
    std::vector<row> rows_;
};

/// How much of a run's exchange was hidden, as it went on.
std::string told_overlap(const run_log& run, const overlap& drawn);

/// One round of each run of several workers that tells of one; nothing where none does.
std::string overlap_section(std::span<const run_log> runs);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/sections/report_overlap.ipp"
#endif
