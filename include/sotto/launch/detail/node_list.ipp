#pragma once

#include "sotto/launch/detail/node_list.hpp"

#include <charconv>
#include <system_error>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::launch {

SOTTO_DECL void refuse_list(std::string_view list, std::size_t at, const char* expected) {
    throw invalid_option("launch: the list of nodes '" + std::string(list) + "': expected " +
                         expected + " at character " + std::to_string(at));
}

SOTTO_DECL padded read_number(std::string_view list, std::size_t& at) {
    padded read;
    const auto [end, why] =
        std::from_chars(list.data() + at, list.data() + list.size(), read.value);
    if (why != std::errc()) refuse_list(list, at, "a number");
    read.digits = static_cast<std::size_t>(end - list.data()) - at;
    at += read.digits;
    return read;
}

SOTTO_DECL std::vector<std::string> expand_node_list(std::string_view list) {
    constexpr std::size_t hosts_max = 65536;
    std::vector<std::string> all, entry{""};
    bool empty = true;
    for (std::size_t at = 0;; ++at) {
        if (at == list.size() || list[at] == ',') {
            if (empty) refuse_list(list, at, "the name of a host");
            all.insert(all.end(), entry.begin(), entry.end());
            if (all.size() > hosts_max) refuse_list(list, at, "at most 65536 hosts");
            if (at == list.size()) return all;
            entry.assign(1, "");
            empty = true;
            continue;
        }
        empty = false;
        if (list[at] == ']') refuse_list(list, at, "'[' before ']'");
        if (list[at] != '[') {
            for (std::string& host : entry) host += list[at];
            continue;
        }
        std::vector<std::string> numbers;
        do {
            ++at;
            const padded first = read_number(list, at);
            padded last = first;
            if (at < list.size() && list[at] == '-') last = read_number(list, ++at);
            if (last.value < first.value || last.value - first.value >= hosts_max - numbers.size())
                refuse_list(list, at, "a range that ascends, of at most 65536 hosts");
            for (std::uint64_t i = 0; i <= last.value - first.value; ++i) {
                std::string text = std::to_string(first.value + i);
                if (text.size() < first.digits) text.insert(0, first.digits - text.size(), '0');
                numbers.push_back(std::move(text));
            }
            if (at == list.size()) refuse_list(list, at, "']'");
        } while (list[at] == ',');
        if (list[at] != ']') refuse_list(list, at, "',', '-' or ']'");
        if (numbers.size() * entry.size() > hosts_max) refuse_list(list, at, "at most 65536 hosts");
        std::vector<std::string> longer;
        for (const std::string& host : entry)
            for (const std::string& number : numbers) longer.push_back(host + number);
        entry = std::move(longer);
    }
}

}  // namespace sotto::detail::launch
