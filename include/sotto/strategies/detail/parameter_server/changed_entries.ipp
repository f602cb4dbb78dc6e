#pragma once

#include "sotto/strategies/detail/parameter_server/changed_entries.hpp"

#include <bit>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL bool changed_entries::begin(std::uint64_t version, std::size_t count) {
    if (count > ring_.size()) {
        add_all(version);
        return false;
    }
    if (count == 0) return true;
    while (count_ + count > ring_.size() || steps_.size() == steps_max) {
        count_ -= steps_.front().size;
        known_since_ = steps_.front().version;
        steps_.pop_front();
    }
    steps_.push_back({version, end_, count});
    count_ += count;
    return true;
}

SOTTO_DECL void changed_entries::add(std::uint32_t from, std::span<const std::uint32_t> indices) {
    add_each(indices.size(), [&](std::size_t k) { return from + indices[k]; });
}

SOTTO_DECL void changed_entries::add_run(std::uint32_t from, std::size_t count) {
    add_each(count, [&](std::size_t k) { return from + static_cast<std::uint32_t>(k); });
}

SOTTO_DECL void changed_entries::add_all(std::uint64_t version) {
    steps_.clear();
    count_ = 0;
    known_since_ = version;
}

SOTTO_DECL bool changed_entries::since(std::uint64_t version, std::vector<std::uint32_t>& out) {
    if (version < known_since_) return false;
    for (const step& s : steps_)
        if (s.version > version)
            for (std::size_t k = 0, at = s.begin; k < s.size; ++k) {
                const std::uint32_t i = ring_[at];
                marks_[i / 64] |= std::uint64_t{1} << i % 64;
                if (++at == ring_.size()) at = 0;
            }
    for (std::size_t at = 0; at < marks_.size(); ++at) {
        for (std::uint64_t bits = marks_[at]; bits != 0; bits &= bits - 1)
            out.push_back(static_cast<std::uint32_t>(
                64 * at + static_cast<std::size_t>(std::countr_zero(bits))));
        marks_[at] = 0;
    }
    return true;
}

}  // namespace sotto::detail
