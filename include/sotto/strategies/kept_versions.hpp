#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/large_pages.hpp"
#include "sotto/kernels/entries.hpp"

namespace sotto {

/// What each worker of a server has read: copies of the parameters, which stay as they were while
/// the server goes on. A ring of versions in place of a copy for each worker: whoever has read the
/// same version shares its copy, and the memory of one that nobody has read last is the next one's.
/// So there are as many as different versions in use, which is never more than a copy for each
/// worker, nor than the versions from the oldest in use to the present one.
///   cost    4 bytes a parameter and version in use: where all read at once one, and among n
///           workers whose gradients are t steps late at most, the lesser of n and t + 1. A copy
///           is one pass over the parameters
///   source  a copy for each worker: Zheng et al. 2017, arXiv:1609.08326
class kept_versions {
public:
    explicit kept_versions(int workers) : read_by_(static_cast<std::size_t>(workers), nobody) {}

    /// The worker reads the parameters as they are now, in this version.
    std::span<const float> read(int worker, std::uint64_t version, std::span<const float> now) {
        release(worker);
        take(worker, find(version, now));
        return of(worker);
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

    /// The worker reads these parameters anew, and still has the others. A copy of that version
    /// which others have is shared, and not written to: it may be on its way.
    void renew(int worker, std::uint64_t version, std::span<const float> now,
               std::span<const std::uint32_t> indices) {
        std::size_t& at = read_by_[static_cast<std::size_t>(worker)];
        if (const std::size_t same = in_use(version); same != nobody) {
            release(worker);
            take(worker, same);
        } else if (at == nobody || kept_[at].readers > 1) {
            release(worker);
            take(worker, copy(version, now));
        } else {
            kept_[at].version = version;
            kernels::copy_at(kept_[at].values, now, indices);
        }
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

    void take(int worker, std::size_t at) noexcept {
        ++kept_[at].readers;
        read_by_[static_cast<std::size_t>(worker)] = at;
    }

    std::size_t in_use(std::uint64_t version) const noexcept {
        for (std::size_t at = 0; at < kept_.size(); ++at)
            if (kept_[at].readers > 0 && kept_[at].version == version) return at;
        return nobody;
    }

    std::size_t find(std::uint64_t version, std::span<const float> now) {
        const std::size_t at = in_use(version);
        return at != nobody ? at : copy(version, now);
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
