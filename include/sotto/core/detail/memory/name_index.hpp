#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sotto/core/config.hpp"

namespace sotto::detail {

/// Finds the number of an entry by its name. The caller stores the names: `name_of(number)` returns
/// one. Entries are numbered in the order in which they are added.
///   cost    compares about two names a call, for any number of entries; 8 to 16 bytes an entry
class name_index {
public:
    /// Reserves room for one more entry, so that `add` cannot fail.
    void reserve_one();

    /// Adds the next entry, with a name that no other entry has. Requires reserve_one().
    void add(std::string_view name) noexcept;

    /// Returns the number of the entry with this name, or nothing.
    template <class NameOf>
    std::optional<std::size_t> find(std::string_view name, NameOf&& name_of) const {
        if (slots_.empty()) return std::nullopt;
        const auto hash = hash_of(name);
        for (std::size_t at = hash & (slots_.size() - 1); slots_[at].entry != 0;
             at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].hash == hash && name_of(slots_[at].entry - 1) == name)
                return slots_[at].entry - 1;
        return std::nullopt;
    }

private:
    struct slot {
        std::uint32_t hash = 0;
        std::uint32_t entry = 0;  // number of the entry plus 1; 0: free
    };

    static std::uint32_t hash_of(std::string_view name) noexcept;

    static slot& free_slot(std::vector<slot>& among, std::uint32_t hash) noexcept;

    std::vector<slot> slots_;  // a power of two, at most half of them used
    std::size_t count_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/memory/name_index.ipp"
#endif
