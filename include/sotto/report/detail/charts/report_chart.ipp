#pragma once

#include "sotto/report/detail/charts/report_chart.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/detail/report_text.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL chart::chart(std::string title, axis x, std::string x_name, axis y)
    : title_(std::move(title)), x_(std::move(x)), x_name_(std::move(x_name)), y_(std::move(y)) {
    std::size_t longest = 0;
    for (const double tick : y_.ticks) longest = (std::max)(longest, columns(y_.label(tick)));
    left_ = 14.0 + 6.2 * static_cast<double>(longest);
}

SOTTO_DECL void chart::line(const std::vector<dot>& points, std::size_t colour, weight how) {
    std::string path;
    bool drawing = false;
    for (const dot& p : points) {
        if (!x_.shows(p.x) || !y_.shows(p.y)) {
            drawing = false;
            continue;
        }
        path += (drawing ? "L" : "M") + at(px(p.x)) + " " + at(py(p.y));
        drawing = true;
    }
    if (path.empty()) return;
    body_ += "<path class=\"l c" + place(colour) + (how == weight::faint ? " faint" : "") +
             "\" d=\"" + path + "\"/>";
    if (how == weight::normal && points.size() <= 40)
        for (const dot& p : points)
            if (x_.shows(p.x) && y_.shows(p.y)) mark(p, colour, {});
}

SOTTO_DECL void chart::band(const std::vector<dot>& low, const std::vector<dot>& high,
                            std::size_t colour) {
    std::string path;
    const auto add = [&](const dot& p) {
        if (x_.shows(p.x) && y_.shows(p.y))
            path += (path.empty() ? "M" : "L") + at(px(p.x)) + " " + at(py(p.y));
    };
    std::for_each(low.begin(), low.end(), add);
    std::for_each(high.rbegin(), high.rend(), add);
    if (!path.empty()) body_ += "<path class=\"band c" + place(colour) + "\" d=\"" + path + "Z\"/>";
}

SOTTO_DECL void chart::mark(const dot& p, std::size_t colour, std::string_view says) {
    if (!x_.shows(p.x) || !y_.shows(p.y)) return;
    body_ += "<circle class=\"m c" + place(colour) + "\" cx=\"" + at(px(p.x)) + "\" cy=\"" +
             at(py(p.y)) + "\" r=\"" + (says.empty() ? "2" : "4") + "\"";
    body_ += says.empty() ? "/>" : "><title>" + escaped(says) + "</title></circle>";
}

SOTTO_DECL void chart::upright(double x, std::string_view says) {
    if (!x_.shows(x) || x < x_.low || x > x_.high) return;
    const bool right = x_.place(x) > 0.55;
    body_ += "<path class=\"here\" d=\"M" + at(px(x)) + " " + at(top_) + "V" + at(bottom()) +
             "\"/><text class=\"t\" x=\"" + at(px(x) + (right ? -5.0 : 5.0)) + "\" y=\"" +
             at(top_ + 10.0) + "\"" + (right ? " text-anchor=\"end\"" : "") + ">" +
             escaped(says, 60) + "</text>";
}

SOTTO_DECL void chart::name(const dot& end, std::string_view text, std::size_t colour) {
    if (x_.shows(end.x) && y_.shows(end.y))
        names_.push_back({px(end.x), py(end.y) - 7.0, colour, shortened(text)});
}

SOTTO_DECL void chart::key(std::string_view text, std::size_t colour) {
    keys_ += "<text class=\"n c" + place(colour) + "\" x=\"" + at(key_) + "\" y=\"" +
             at(top_ - 1.5) + "\">" + escaped(text) + "</text>";
    key_ += 6.4 * static_cast<double>(columns(text)) + 12.0;
}

SOTTO_DECL void chart::note(std::string_view text) {
    keys_ += "<text class=\"t\" x=\"" + at(left_) + "\" y=\"" + at(top_ - 1.5) + "\">" +
             escaped(text) + "</text>";
}

SOTTO_DECL std::string chart::svg(std::string_view describes) {
    std::string out = "<svg viewBox=\"0 0 " + at(width) + " " + at(height) +
                      "\" role=\"img\" aria-label=\"" + escaped(title_) + ". " +
                      escaped(describes) + "\"><text class=\"h\" x=\"0\" y=\"13\">" +
                      escaped(title_) + "</text>";
    for (const double tick : y_.ticks)
        out += "<path class=\"g\" d=\"M" + at(left_) + " " + at(py(tick)) + "H" + at(right()) +
               "\"/><text class=\"t\" x=\"" + at(left_ - 6.0) + "\" y=\"" + at(py(tick) + 3.5) +
               "\" text-anchor=\"end\">" + escaped(y_.label(tick)) + "</text>";
    for (const double tick : x_.ticks) {
        const double x = px(tick);
        const bool first = x<left_ + 12.0, last = x> right() - 20.0;
        out += "<path class=\"a\" d=\"M" + at(x) + " " + at(bottom()) + "v4\"/>" +
               "<text class=\"t\" x=\"" + at(last ? right() + 6.0 : x) + "\" y=\"" +
               at(bottom() + 16.0) + "\" text-anchor=\"" +
               (first  ? "start"
                : last ? "end"
                       : "middle") +
               "\">" + escaped(x_.label(tick)) + "</text>";
    }
    out += "<path class=\"a\" d=\"M" + at(left_) + " " + at(bottom()) + "H" + at(right()) +
           "\"/><text class=\"t\" x=\"" + at((left_ + right()) / 2.0) + "\" y=\"" +
           at(height - 3.0) + "\" text-anchor=\"middle\">" + escaped(x_name_) + "</text>" + body_ +
           keys_;
    place_names();
    for (const named& n : names_)
        out += "<text class=\"n c" + place(n.colour) + "\" x=\"" + at(n.x) + "\" y=\"" + at(n.y) +
               "\" text-anchor=\"" + (to_the_left(n) ? "end" : "start") + "\">" + escaped(n.text) +
               "</text>";
    return out + "</svg>";
}

SOTTO_DECL std::string chart::place(std::size_t colour) {
    return colour >= grey ? "g" + std::to_string((colour - grey) % 8) : std::to_string(colour % 8);
}

SOTTO_DECL std::size_t chart::columns(std::string_view text) noexcept {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

SOTTO_DECL double chart::length(const named& n) noexcept {
    return 6.4 * static_cast<double>(columns(n.text));
}

SOTTO_DECL std::string chart::shortened(std::string_view text) {
    std::size_t bytes = 0, shown = 0;
    while (bytes < text.size() && shown < 28) {
        do ++bytes;
        while (bytes < text.size() && (text[bytes] & 0xc0) == 0x80);
        ++shown;
    }
    return std::string(text.substr(0, bytes)) + (bytes < text.size() ? "…" : "");
}

SOTTO_DECL void chart::place_names() {
    std::sort(names_.begin(), names_.end(),
              [](const named& a, const named& b) { return a.y > b.y; });
    for (std::size_t i = 0; i < names_.size(); ++i) {
        named& n = names_[i];
        n.y = std::clamp(n.y, top_ + 8.0, bottom() - 4.0);
        for (std::size_t j = 0; j < i; ++j)
            if (!beside(n, names_[j])) n.y = (std::min)(n.y, names_[j].y - 13.0);
    }
    for (std::size_t i = names_.size(); i-- > 0;) {
        named& n = names_[i];
        n.y = (std::max)(n.y, top_ + 8.0);
        for (std::size_t j = i + 1; j < names_.size(); ++j)
            if (!beside(n, names_[j])) n.y = (std::max)(n.y, names_[j].y + 13.0);
    }
}

SOTTO_DECL bool chart::beside(const named& a, const named& b) noexcept {
    return from(a) > to(b) + 6.0 || from(b) > to(a) + 6.0;
}

SOTTO_DECL std::vector<dot> thinned(const std::vector<dot>& points, std::size_t most) {
    if (points.size() <= most || most < 2) return points;
    std::vector<dot> out;
    const std::size_t stretches = most / 2, none = points.size();
    for (std::size_t s = 0; s < stretches; ++s) {
        std::size_t low = none, high = none, gap = none;
        for (std::size_t i = s * none / stretches; i < (s + 1) * none / stretches; ++i) {
            const double y = points[i].y;
            if (!is_finite(y)) {
                gap = i;
                continue;
            }
            if (low == none || y < points[low].y) low = i;
            if (high == none || y >= points[high].y) high = i;
        }
        std::array kept{low, high, gap};
        std::sort(kept.begin(), kept.end());
        const auto end = std::unique(kept.begin(), kept.end());
        for (auto k = kept.begin(); k != end; ++k)
            if (*k != none) out.push_back(points[*k]);
    }
    return out;
}

}  // namespace sotto::detail::reporting
