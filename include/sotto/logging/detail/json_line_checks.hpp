#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// A line of a log does not have the format of json_lines.
class malformed_log : public error {
public:
    /// Names the line, what was expected and what was found.
    malformed_log(const std::string& file, std::int64_t line, const std::string& expected,
                  const std::string& found);

    /// Number of the line, from 1.
    std::int64_t line() const noexcept { return line_; }

private:
    std::int64_t line_;
};

/// Checks the lines of a log one after another. A function returns a member only if it exists, has
/// its type and is within its bounds.
///   errors  all throw malformed_log, naming the log, the line, what was expected and what was
///           found
class json_line_checks {
public:
    /// preserves the order of members
    using json = nlohmann::ordered_json;

    static constexpr std::size_t line_bytes_max = std::size_t{16} << 20;  // most bytes of a line
    static constexpr std::int64_t tensors_max = 1 << 20;                  // most members of a list
    // Sums of as many values as a file holds fit into 63 bits, and all values are exact as doubles.
    static constexpr std::int64_t count_max = std::int64_t{1} << 40;  // upper bound of counts
    static constexpr std::int64_t bytes_max = std::int64_t{1} << 53;  // upper bound of bytes
    static constexpr double seconds_max = 1e10;                       // three centuries
    static constexpr double distance_max = 1e300;                     // upper bound of distances

    /// For the log of this name.
    explicit json_line_checks(std::string file) : file_(std::move(file)) {}

    /// Number of lines so far.
    std::int64_t lines() const noexcept { return line_; }

    /// Moves to the next line, for error texts.
    void next_line() noexcept { ++line_; }

    /// Parses a line as JSON. Throws if it is too long, too deep, or an object has a name twice.
    json parse(std::string_view text) const;

    /// Returns a member that must exist.
    const json& member(const json& object, const char* name) const;

    /// Returns a member that is an object.
    const json& object_of(const json& line, const char* name) const;

    /// Returns a member that is a string.
    const std::string& text_of(const json& object, const char* name) const;

    /// Returns a member that is an array of at most tensors_max members.
    const json& list(const json& object, const char* name) const;

    /// Returns the member "rank".
    int rank_of(const json& object) const;

    /// Returns a member that is true or false.
    bool flag(const json& object, const char* name) const;

    /// Returns a whole number from `least` to `most`.
    std::int64_t whole(const json& value, const std::string& name, std::int64_t least,
                       std::int64_t most) const;

    /// Returns a member that is a whole number from `least` to `most`.
    std::int64_t count(const json& object, const char* name, std::int64_t least = 0,
                       std::int64_t most = count_max) const;

    /// Returns a member that is a number from 0 to `most`.
    double number(const json& object, const char* name, double most) const;
    /// Returns a number from 0 to `most`.
    double not_negative(const json& value, const char* name, double most) const;
    /// Returns a member that is a number from 0 to `most`.
    double number(const json& object, const char* name, std::int64_t most) const;

    /// Returns any number; null is a number that was not finite.
    double loss(const json& object, const char* name) const;

    /// Returns a member that is a number from 0 to 1; null is a number that was not finite.
    double share(const json& object, const char* name) const;

    /// Returns the text in quotation marks, shortened.
    static std::string quoted(std::string_view text);

    /// Returns at most 40 characters of the text, without control characters.
    static std::string shortened(std::string_view text);

    /// Throws malformed_log: the member is not as expected.
    [[noreturn]] void refuse_member(const std::string& name, const std::string& expected,
                                    const json& found) const;

    /// Throws malformed_log for the current line.
    [[noreturn]] void refuse(const std::string& expected, const std::string& found) const;

private:
    static constexpr std::size_t depth_max = 4;  // deepest: the shapes of a run's tensors
    // An ordered_json searches all members for each new one, so their number must be bounded.
    static constexpr std::size_t members_max = 1 << 14;

    /// Throws if a line nests too deeply, or has an object with too many members.
    class bounds final : public nlohmann::json_sax<json> {
    public:
        explicit bounds(const json_line_checks& line) : line_(&line) {}

        bool null() override { return value(); }
        bool boolean(bool) override { return value(); }
        bool number_integer(number_integer_t) override { return value(); }
        bool number_unsigned(number_unsigned_t) override { return value(); }
        bool number_float(number_float_t, const string_t&) override { return value(); }
        bool string(string_t&) override { return value(); }
        bool binary(binary_t&) override { return value(); }
        bool start_object(std::size_t) override { return open(); }
        bool end_object() override { return close(); }
        bool start_array(std::size_t) override { return open(); }
        bool end_array() override { return close(); }
        bool key(string_t&) override;
        bool parse_error(std::size_t, const std::string&, const json::exception&) override;

    private:
        bool value() const;
        bool open();
        bool close();

        const json_line_checks* line_;
        std::size_t open_ = 0;                              // number of open lists and objects
        std::array<std::size_t, depth_max + 2> members_{};  // number of members by depth
    };

    std::string file_;
    std::int64_t line_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/json_line_checks.ipp"
#endif
