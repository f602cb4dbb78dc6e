#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/report/detail/charts/report_axis.hpp"

namespace sotto::detail::reporting {

/// A point of a chart, in the values of its axes.
struct dot {
    double x = 0.0, y = 0.0;  // on its axes
};

/// A line chart as one SVG element. Colours are numbers of the page's palette; every line has a
/// pattern of dashes too, so that it can be told from others without colours, and may have its name
/// at its end.
///   cost    O(points)
class chart {
public:
    static constexpr double width = 400, height = 250;  // of the drawing

    /// Without lines yet.
    chart(std::string title, axis x, std::string x_name, axis y);

    ///   faint   for what others stand before
    ///   normal  for what is to be looked at
    enum class weight { faint, normal };

    /// Points that an axis cannot show interrupt the line.
    void line(const std::vector<dot>& points, std::size_t colour, weight how);

    /// The area between two lines over the same places.
    void band(const std::vector<dot>& low, const std::vector<dot>& high, std::size_t colour);

    /// A point of its own; `says` is shown where the pointer rests on it.
    void mark(const dot& p, std::size_t colour, std::string_view says);

    /// A vertical line across the chart.
    void upright(double x, std::string_view says);

    /// A name near the point where its line ends; names are moved apart when the chart is drawn.
    void name(const dot& end, std::string_view text, std::size_t colour);

    /// A name above the chart, where it covers no line: one after the other.
    void key(std::string_view text, std::size_t colour);

    /// Words above the chart, where they cover no line; not together with keys.
    void note(std::string_view text);

    /// `describes` is what somebody hears who cannot see it.
    std::string svg(std::string_view describes);

    /// The class of a colour: eight of the palette, which come again, or the grey of what no run
    /// of the page measured, in as many dashes.
    static std::string place(std::size_t colour);
    /// The first number that is no colour of the palette.
    static constexpr std::size_t grey = (std::numeric_limits<std::size_t>::max)() / 2;

private:
    struct named {
        double x, y;
        std::size_t colour;
        std::string text;
    };

    static constexpr double top_ = 26.0;
    static constexpr double bottom() noexcept { return height - 38.0; }
    static constexpr double right() noexcept { return width - 8.0; }
    double px(double x) const noexcept { return left_ + (right() - left_) * x_.place(x); }
    double py(double y) const noexcept { return bottom() - (bottom() - top_) * y_.place(y); }

    /// Characters, not bytes.
    static std::size_t columns(std::string_view text) noexcept;

    // Where a name begins and ends: about 6.4 units a character, to the left of its point where
    // that is in the right half.
    static bool to_the_left(const named& n) noexcept { return n.x > width / 2; }
    static double length(const named& n) noexcept;
    static double from(const named& n) noexcept { return to_the_left(n) ? n.x - length(n) : n.x; }
    static double to(const named& n) noexcept { return to_the_left(n) ? n.x : n.x + length(n); }

    static std::string shortened(std::string_view text);

    /// From the lowest up: whoever would lie on the one below goes above it. Then from the highest
    /// down, where that went beyond the top.
    void place_names();
    static bool beside(const named& a, const named& b) noexcept;

    std::string title_;
    axis x_;
    std::string x_name_;
    axis y_;
    double left_ = 50.0;
    std::string body_, keys_;
    double key_ = left_;
    std::vector<named> names_;
};

/// At most one and a half times `most` points that look the same: of each stretch the least and the
/// greatest value and one that is not finite, so that lines break where they did, in their order.
std::vector<dot> thinned(const std::vector<dot>& points, std::size_t most = 400);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/charts/report_chart.ipp"
#endif
