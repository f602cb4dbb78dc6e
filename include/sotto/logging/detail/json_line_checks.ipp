#pragma once

#include "sotto/logging/detail/json_line_checks.hpp"

#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::detail {

SOTTO_DECL malformed_log::malformed_log(const std::string& file, std::int64_t line,
                                        const std::string& expected, const std::string& found)
    : error(errc::malformed, "'" + file + "', line " + std::to_string(line) + ": expected " +
                                 expected + ", found " + found),
      line_(line) {}

SOTTO_DECL json_line_checks::json json_line_checks::parse(std::string_view text) const {
    if (text.size() > line_bytes_max)
        refuse("a line of at most " + std::to_string(line_bytes_max) + " bytes",
               std::to_string(text.size()));
    // The bounds are checked first: a parser with a callback searches a list again for each object
    // in it.
    bounds within(*this);
    json parsed(json::value_t::discarded);
    if (json::sax_parse(text.begin(), text.end(), &within))
        parsed = json::parse(text.begin(), text.end(), nullptr, false);
    if (parsed.is_discarded()) refuse("JSON", quoted(text));
    if (!parsed.is_object()) refuse("a JSON object", parsed.type_name());
    return parsed;
}

SOTTO_DECL const json_line_checks::json& json_line_checks::member(const json& object,
                                                                  const char* name) const {
    const auto found = object.find(name);
    if (found == object.end()) refuse(std::string("a member \"") + name + "\"", "none");
    return *found;
}

SOTTO_DECL const json_line_checks::json& json_line_checks::object_of(const json& line,
                                                                     const char* name) const {
    const json& value = member(line, name);
    if (!value.is_object()) refuse_member(name, "an object", value);
    return value;
}

SOTTO_DECL const std::string& json_line_checks::text_of(const json& object,
                                                        const char* name) const {
    const json& value = member(object, name);
    if (!value.is_string()) refuse_member(name, "a string", value);
    return value.get_ref<const std::string&>();
}

SOTTO_DECL const json_line_checks::json& json_line_checks::list(const json& object,
                                                                const char* name) const {
    const json& value = member(object, name);
    if (!value.is_array()) refuse_member(name, "an array", value);
    if (static_cast<std::int64_t>(value.size()) > tensors_max)
        refuse(std::string(name) + " of at most " + std::to_string(tensors_max),
               std::to_string(value.size()));
    return value;
}

SOTTO_DECL int json_line_checks::rank_of(const json& object) const {
    return static_cast<int>(count(object, "rank", 0, (1 << 24) - 1));
}

SOTTO_DECL bool json_line_checks::flag(const json& object, const char* name) const {
    const json& value = member(object, name);
    if (!value.is_boolean()) refuse_member(name, "true or false", value);
    return value.get<bool>();
}

SOTTO_DECL std::int64_t json_line_checks::whole(const json& value, const std::string& name,
                                                std::int64_t least, std::int64_t most) const {
    // An unsigned number above 2^63 would wrap to a negative one.
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most));
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
        refuse_member(
            name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
            value);
    return value.get<std::int64_t>();
}

SOTTO_DECL std::int64_t json_line_checks::count(const json& object, const char* name,
                                                std::int64_t least, std::int64_t most) const {
    return whole(member(object, name), name, least, most);
}

SOTTO_DECL double json_line_checks::number(const json& object, const char* name,
                                           double most) const {
    return not_negative(member(object, name), name, most);
}

SOTTO_DECL double json_line_checks::not_negative(const json& value, const char* name,
                                                 double most) const {
    const double found = value.is_number() ? value.get<double>() : -1.0;
    if (!is_finite(found) || found < 0.0 || found > most)
        refuse_member(name, "a number that is not negative", value);
    return found;
}

SOTTO_DECL double json_line_checks::number(const json& object, const char* name,
                                           std::int64_t most) const {
    return number(object, name, static_cast<double>(most));
}

SOTTO_DECL double json_line_checks::loss(const json& object, const char* name) const {
    const json& value = member(object, name);
    if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!value.is_number()) refuse_member(name, "a number or null", value);
    return value.get<double>();
}

SOTTO_DECL double json_line_checks::share(const json& object, const char* name) const {
    const double value = loss(object, name);
    if (!is_nan(value) && (value < 0.0 || value > 1.0))
        refuse_member(name, "a number from 0 to 1", member(object, name));
    return value;
}

SOTTO_DECL std::string json_line_checks::quoted(std::string_view text) {
    std::string out(1, '"');
    out += shortened(text);
    return out += '"';
}

SOTTO_DECL std::string json_line_checks::shortened(std::string_view text) {
    constexpr std::size_t longest = 40;
    std::string out;
    for (const char c : text.substr(0, longest))
        out += static_cast<unsigned char>(c) < 0x20 || c == '\x7f' ? '?' : c;
    return text.size() > longest ? out + "..." : out;
}

SOTTO_DECL void json_line_checks::refuse_member(const std::string& name,
                                                const std::string& expected,
                                                const json& found) const {
    refuse(quoted(name) + " to be " + expected,
           found.is_structured()
               ? std::string(found.type_name())
               : shortened(found.dump(-1, ' ', true, json::error_handler_t::replace)));
}

SOTTO_DECL void json_line_checks::refuse(const std::string& expected,
                                         const std::string& found) const {
    throw malformed_log(file_, line_, expected, found);
}

SOTTO_DECL bool json_line_checks::bounds::key(string_t&) {
    if (++members_[open_] > members_max)
        line_->refuse("an object of at most " + std::to_string(members_max) + " members", "more");
    return value();
}

SOTTO_DECL bool json_line_checks::bounds::parse_error(std::size_t, const std::string&,
                                                      const json::exception&) {
    return false;
}

SOTTO_DECL bool json_line_checks::bounds::value() const {
    if (open_ > depth_max)
        line_->refuse("at most " + std::to_string(depth_max) + " levels", "more");
    return true;
}

SOTTO_DECL bool json_line_checks::bounds::open() {
    value();
    members_[++open_] = 0;
    return true;
}

SOTTO_DECL bool json_line_checks::bounds::close() {
    --open_;
    return true;
}

}  // namespace sotto::detail
