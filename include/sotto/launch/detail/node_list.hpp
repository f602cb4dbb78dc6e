#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::detail::launch {

[[noreturn]] void refuse_list(std::string_view list, std::size_t at, const char* expected);

/// A number of a range, and its minimum number of digits.
struct padded {
    std::uint64_t value = 0;
    std::size_t digits = 0;
};

padded read_number(std::string_view list, std::size_t& at);

/// Hosts of a list in Slurm's format: "gnode[10,20-22],login", "a[1-2]b[01-03]". With several
/// brackets, the last changes fastest. Numbers keep their leading zeros.
///   errors  invalid_option: it is no such list, or has more than 65,536 hosts
std::vector<std::string> expand_node_list(std::string_view list);

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/node_list.ipp"
#endif
