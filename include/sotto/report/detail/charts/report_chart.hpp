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
    double x = 0.0, y = 0.0;  // on the axes
};

/// A line chart as one SVG element. Colours are indices of the page's palette. Every line also has
/// a dash pattern, so lines differ without colours, and may have its name at its end.
///   cost    O(points)
class chart {
public:
    static constexpr double width = 400, height = 250;  // size of the drawing

    /// An empty chart.
    chart(std::string title, axis x, std::string x_name, axis y);

    ///   faint   background of other lines
    ///   normal  the lines to read
    enum class weight { faint, normal };

    /// Draws a line; a point that an axis cannot show interrupts it.
    void line(const std::vector<dot>& points, std::size_t colour, weight how);

    /// Fills the area between two lines over the same places.
    void band(const std::vector<dot>& low, const std::vector<dot>& high, std::size_t colour);

    /// Draws a single point; `says` is its tooltip.
    void mark(const dot& p, std::size_t colour, std::string_view says);

    /// Draws a vertical line across the chart.
    void upright(double x, std::string_view says);

    /// Adds a name near the point where its line ends; svg moves names apart.
    void name(const dot& end, std::string_view text, std::size_t colour);

    /// Adds a name above the chart, where it covers no line; names follow each other.
    void key(std::string_view text, std::size_t colour);

    /// Adds a text above the chart, where it covers no line; not together with keys.
    void note(std::string_view text);

    /// Returns the drawing; `describes` is its text for screen readers.
    std::string svg(std::string_view describes);

    /// Returns the class of a colour. The palette has eight, which repeat; grey, for lines that no
    /// run of the page measured, has as many dash patterns.
    static std::string place(std::size_t colour);
    /// first index that is not of the palette
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

    /// Returns characters, not bytes.
    static std::size_t columns(std::string_view text) noexcept;

    // Where a name begins and ends: about 6.4 units a character, to the left of its point if that
    // is in the right half.
    static bool to_the_left(const named& n) noexcept { return n.x > width / 2; }
    static double length(const named& n) noexcept;
    static double from(const named& n) noexcept { return to_the_left(n) ? n.x - length(n) : n.x; }
    static double to(const named& n) noexcept { return to_the_left(n) ? n.x : n.x + length(n); }

    static std::string shortened(std::string_view text);

    /// From the lowest name up, moves a name that would cover the one below above it. Then from the
    /// highest down, moves names back below the top.
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

/// Returns at most one and a half times `most` points that look the same. Of each stretch it keeps
/// the minimum, the maximum and one value that is not finite, in order, so that lines break where
/// they did.
std::vector<dot> thinned(const std::vector<dot>& points, std::size_t most = 400);

}  // namespace sotto::detail::reporting

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/report/detail/charts/report_chart.ipp"
#endif
