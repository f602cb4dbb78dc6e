#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::detail {

/// A line of a log that is not as json_lines writes it.
class malformed_log : public error {
public:
    /// Where it is, what was expected, what is there instead.
    malformed_log(const std::string& file, std::int64_t line, const std::string& expected,
                  const std::string& found)
        : error(errc::malformed, "'" + file + "', line " + std::to_string(line) + ": expected " +
                                     expected + ", found " + found),
          line_(line) {}

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
    json parse(std::string_view text) const {
        if (text.size() > line_bytes_max)
            refuse("a line of at most " + std::to_string(line_bytes_max) + " bytes",
                   std::to_string(text.size()));
        // Bounds first: a parser that reports what it reads while it makes values goes through a
        // list again for each object in it.
        bounds within(*this);
        json parsed(json::value_t::discarded);
        if (json::sax_parse(text.begin(), text.end(), &within))
            parsed = json::parse(text.begin(), text.end(), nullptr, false);
        if (parsed.is_discarded()) refuse("JSON", quoted(text));
        if (!parsed.is_object()) refuse("a JSON object", parsed.type_name());
        return parsed;
    }

    /// A member that must be there.
    const json& member(const json& object, const char* name) const {
        const auto found = object.find(name);
        if (found == object.end()) refuse(std::string("a member \"") + name + "\"", "none");
        return *found;
    }

    /// A member that is an object.
    const json& object_of(const json& line, const char* name) const {
        const json& value = member(line, name);
        if (!value.is_object()) refuse_member(name, "an object", value);
        return value;
    }

    /// A member that is a string.
    const std::string& text_of(const json& object, const char* name) const {
        const json& value = member(object, name);
        if (!value.is_string()) refuse_member(name, "a string", value);
        return value.get_ref<const std::string&>();
    }

    /// A member that is an array, of at most tensors_max members.
    const json& list(const json& object, const char* name) const {
        const json& value = member(object, name);
        if (!value.is_array()) refuse_member(name, "an array", value);
        if (static_cast<std::int64_t>(value.size()) > tensors_max)
            refuse(std::string(name) + " of at most " + std::to_string(tensors_max),
                   std::to_string(value.size()));
        return value;
    }

    /// The member "rank".
    int rank_of(const json& object) const {
        return static_cast<int>(count(object, "rank", 0, (1 << 24) - 1));
    }

    /// A member that is true or false.
    bool flag(const json& object, const char* name) const {
        const json& value = member(object, name);
        if (!value.is_boolean()) refuse_member(name, "true or false", value);
        return value.get<bool>();
    }

    /// A whole number from `least` to `most`.
    std::int64_t whole(const json& value, const std::string& name, std::int64_t least,
                       std::int64_t most) const {
        // An unsigned number above 2^63 is told apart by its type, not by what it wraps to.
        const bool fits = value.is_number_integer() &&
                          (!value.is_number_unsigned() ||
                           value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most));
        if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
            refuse_member(
                name,
                "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
                value);
        return value.get<std::int64_t>();
    }

    /// A member that is a whole number from `least` to `most`.
    std::int64_t count(const json& object, const char* name, std::int64_t least = 0,
                       std::int64_t most = count_max) const {
        return whole(member(object, name), name, least, most);
    }

    /// A member that is a number from 0 to `most`.
    double number(const json& object, const char* name, double most) const {
        return not_negative(member(object, name), name, most);
    }
    /// A number from 0 to `most`.
    double not_negative(const json& value, const char* name, double most) const {
        const double found = value.is_number() ? value.get<double>() : -1.0;
        if (!is_finite(found) || found < 0.0 || found > most)
            refuse_member(name, "a number that is not negative", value);
        return found;
    }
    /// A member that is a number from 0 to `most`.
    double number(const json& object, const char* name, std::int64_t most) const {
        return number(object, name, static_cast<double>(most));
    }

    /// Any number; null is one that was not finite.
    double loss(const json& object, const char* name) const {
        const json& value = member(object, name);
        if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
        if (!value.is_number()) refuse_member(name, "a number or null", value);
        return value.get<double>();
    }

    /// A member that is a number from 0 to 1; null is one that was not finite.
    double share(const json& object, const char* name) const {
        const double value = loss(object, name);
        if (!is_nan(value) && (value < 0.0 || value > 1.0))
            refuse_member(name, "a number from 0 to 1", member(object, name));
        return value;
    }

    /// In quotation marks, shortened.
    static std::string quoted(std::string_view text) {
        std::string out(1, '"');
        out += shortened(text);
        return out += '"';
    }

    /// At most 40 characters of it, without control characters.
    static std::string shortened(std::string_view text) {
        constexpr std::size_t longest = 40;
        std::string out;
        for (const char c : text.substr(0, longest))
            out += static_cast<unsigned char>(c) < 0x20 || c == '\x7f' ? '?' : c;
        return text.size() > longest ? out + "..." : out;
    }

    /// Throws malformed_log: a member is not as it must be.
    [[noreturn]] void refuse_member(const std::string& name, const std::string& expected,
                                    const json& found) const {
        refuse(quoted(name) + " to be " + expected,
               found.is_structured()
                   ? std::string(found.type_name())
                   : shortened(found.dump(-1, ' ', true, json::error_handler_t::replace)));
    }

    /// Throws malformed_log at the line at hand.
    [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
        throw malformed_log(file_, line_, expected, found);
    }

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
        bool key(string_t&) override {
            if (++members_[open_] > members_max)
                line_->refuse("an object of at most " + std::to_string(members_max) + " members",
                              "more");
            return value();
        }
        bool parse_error(std::size_t, const std::string&, const json::exception&) override {
            return false;
        }

    private:
        bool value() const {
            if (open_ > depth_max)
                line_->refuse("at most " + std::to_string(depth_max) + " levels", "more");
            return true;
        }
        bool open() {
            value();
            members_[++open_] = 0;
            return true;
        }
        bool close() {
            --open_;
            return true;
        }

        const json_line_checks* line_;
        std::size_t open_ = 0;                              // lists and objects
        std::array<std::size_t, depth_max + 2> members_{};  // by depth
    };

    std::string file_;
    std::int64_t line_ = 0;
};

}  // namespace sotto::detail
