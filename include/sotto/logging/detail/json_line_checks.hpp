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

/// A line of a log that is not as json_lines writes it.
class malformed_log : public error {
public:
    /// Where it is, what was expected, what is there instead.
    malformed_log(const std::string& file, std::int64_t line, const std::string& expected,
                  const std::string& found);

    /// Which line, from 1 on.
    std::int64_t line() const noexcept { return line_; }

private:
    std::int64_t line_;
};

/// One line of a log after the other, and what it may hold: each member is given only if it is
/// there, of its type and within its bounds.
///   errors  all throw malformed_log, naming the log, the line, what was expected and what found
class json_line_checks {
public:
    /// Objects keep the order of their members.
    using json = nlohmann::ordered_json;

    static constexpr std::size_t line_bytes_max = std::size_t{16} << 20;  // of a line, at most
    static constexpr std::int64_t tensors_max = 1 << 20;  // members of a list, at most
    // No sum of as many as a file holds leaves 63 bits, and all are exact as doubles.
    static constexpr std::int64_t count_max = std::int64_t{1} << 40;  // counts are at most
    static constexpr std::int64_t bytes_max = std::int64_t{1} << 53;  // bytes are at most
    static constexpr double seconds_max = 1e10;                       // three centuries
    static constexpr double distance_max = 1e300;                     // distances are at most

    /// Of a log of this name.
    explicit json_line_checks(std::string file) : file_(std::move(file)) {}

    /// Lines so far.
    std::int64_t lines() const noexcept { return line_; }

    /// Goes on to the next line, for errors.
    void next_line() noexcept { ++line_; }

    /// A line as JSON, neither too long nor too deep, with no name twice in an object.
    json parse(std::string_view text) const;

    /// A member that must be there.
    const json& member(const json& object, const char* name) const;

    /// A member that is an object.
    const json& object_of(const json& line, const char* name) const;

    /// A member that is a string.
    const std::string& text_of(const json& object, const char* name) const;

    /// A member that is an array, of at most tensors_max members.
    const json& list(const json& object, const char* name) const;

    /// The member "rank".
    int rank_of(const json& object) const;

    /// A member that is true or false.
    bool flag(const json& object, const char* name) const;

    /// A whole number from `least` to `most`.
    std::int64_t whole(const json& value, const std::string& name, std::int64_t least,
                       std::int64_t most) const;

    /// A member that is a whole number from `least` to `most`.
    std::int64_t count(const json& object, const char* name, std::int64_t least = 0,
                       std::int64_t most = count_max) const;

    /// A member that is a number from 0 to `most`.
    double number(const json& object, const char* name, double most) const;
    /// A number from 0 to `most`.
    double not_negative(const json& value, const char* name, double most) const;
    /// A member that is a number from 0 to `most`.
    double number(const json& object, const char* name, std::int64_t most) const;

    /// Any number; null is one that was not finite.
    double loss(const json& object, const char* name) const;

    /// A member that is a number from 0 to 1; null is one that was not finite.
    double share(const json& object, const char* name) const;

    /// In quotation marks, shortened.
    static std::string quoted(std::string_view text);

    /// At most 40 characters of it, without control characters.
    static std::string shortened(std::string_view text);

    /// Throws malformed_log: a member is not as it must be.
    [[noreturn]] void refuse_member(const std::string& name, const std::string& expected,
                                    const json& found) const;

    /// Throws malformed_log at the line at hand.
    [[noreturn]] void refuse(const std::string& expected, const std::string& found) const;

private:
    static constexpr std::size_t depth_max = 4;  // a run's tensors' shapes
    // To keep its members in order, an ordered_json looks through all of them for each new one.
    static constexpr std::size_t members_max = 1 << 14;

    /// Refuses a line that nests too deeply, or has an object with too many members.
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
        std::size_t open_ = 0;                              // lists and objects
        std::array<std::size_t, depth_max + 2> members_{};  // by depth
    };

    std::string file_;
    std::int64_t line_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/json_line_checks.ipp"
#endif
