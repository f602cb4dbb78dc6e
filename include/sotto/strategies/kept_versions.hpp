#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/large_pages.hpp"

namespace sotto {

/// What each worker of a server has read: copies of the parameters, which stay as they were while
/// the server goes on. Workers that have read the same version share a copy, so there are as many
/// as different versions in use: one where all read at once, and one for each worker at most.
///   cost    4 bytes a parameter and version in use; a copy is one pass over the parameters. Memory
///           of versions that nobody has read last is kept and reused
class kept_versions {
public:
    explicit kept_versions(int workers) : read_by_(static_cast<std::size_t>(workers), nobody) {}

    /// The worker reads the parameters as they are now, in this version.
    std::span<const float> read(int worker, std::uint64_t version, std::span<const float> now) {
        release(worker);
        const std::size_t at = find(version, now);
        ++kept_[at].readers;
        read_by_[static_cast<std::size_t>(worker)] = at;
        return kept_[at].values;
    }

    /// What it has read; empty if nothing.
    std::span<const float> of(int worker) const noexcept {
        const std::size_t at = read_by_[static_cast<std::size_t>(worker)];
        return at == nobody ? std::span<const float>() : std::span<const float>(kept_[at].values);
    }

    void release(int worker) noexcept {
        std::size_t& at = read_by_[static_cast<std::size_t>(worker)];
        if (at != nobody) --kept_[at].readers;
        at = nobody;
    }

    /// The worker has read some parameters anew, and still has the others: only where it shares its
    /// copy with nobody, or there is none yet.
    std::span<float> own(int worker, std::uint64_t version, std::span<const float> now) {
        std::size_t& at = read_by_[static_cast<std::size_t>(worker)];
        if (at == nobody || kept_[at].readers > 1) {
            release(worker);
            at = copy(version, now);
            ++kept_[at].readers;
        }
        kept_[at].version = version;
        return kept_[at].values;
    }

    /// Bytes that are taken.
    std::size_t memory() const noexcept {
        std::size_t sum = 0;
        for (const copied& c : kept_) sum += c.values.capacity() * sizeof(float);
        return sum;
    }

private:
    static constexpr std::size_t nobody = SIZE_MAX;

    struct copied {
        std::uint64_t version = 0;
        int readers = 0;
        large_vector<float> values;
    };

    std::size_t find(std::uint64_t version, std::span<const float> now) {
        for (std::size_t at = 0; at < kept_.size(); ++at)
            if (kept_[at].readers > 0 && kept_[at].version == version) return at;
        return copy(version, now);
    }

    std::size_t copy(std::uint64_t version, std::span<const float> now) {
        std::size_t at = 0;
        while (at < kept_.size() && kept_[at].readers > 0) ++at;
        if (at == kept_.size()) kept_.emplace_back();
        kept_[at].version = version;
        kept_[at].values.assign(now.begin(), now.end());
        return at;
    }

    std::vector<copied> kept_;
    std::vector<std::size_t> read_by_;
};

}  // namespace sotto
