#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/detail/memory/large_pages.hpp"

namespace sotto::detail {

/// The parameters of a server, and those that each of its workers has read, which stay as they
/// were while the server goes on. Workers that have read the same version share it, with each
/// other and with the server: a step writes what it makes of it to other memory. A ring of
/// versions in place of a copy for each worker, then: there are as many arrays as different
/// versions in use, one where nobody holds any, and one for each worker and one more at most.
///   cost    4 bytes a parameter and version in use; nothing is copied for whoever reads all
///           parameters, where steps write all of them. Memory of versions that nobody has read
///           last is kept and reused. Where only entries change, a worker that has read has a copy
///           of its own
///   source  a copy for each worker: Zheng et al. 2017, arXiv:1609.08326
class kept_versions {
public:
    /// Of so many parameters, all 0; nobody has read any.
    kept_versions(int workers, std::size_t parameters)
        : kept_(1), read_by_(static_cast<std::size_t>(workers), nobody) {
        kept_[0].values.resize(parameters);
    }

    /// The parameters as they are.
    std::span<const float> now() const noexcept { return kept_[now_].values; }
    /// To be changed only before anybody has read.
    std::span<float> unread() noexcept { return kept_[now_].values; }

    /// To be changed in part: what workers have read stays as it was.
    std::span<float> change() {
        if (kept_[now_].readers > 0) {
            const std::size_t other = unused();
            kept_[other].values.assign(now().begin(), now().end());
            now_ = other;
        }
        return kept_[now_].values;
    }

    /// Where a step by a gradient of this worker (-1: of several) is to write all parameters: what
    /// `now` shows, what `of` shows for the worker, or neither. Then `step` makes them the present
    /// ones; until then the two show what they did, each place as long as nothing is written there.
    std::span<float> next(int worker = -1) {
        const std::size_t read = worker < 0 ? nobody : read_by_[static_cast<std::size_t>(worker)];
        if (read != nobody && kept_[read].readers == 1) {
            next_ = kept_[now_].readers == 0 ? now_ : read;
        } else {
            next_ = kept_[now_].readers == 0 ? now_ : unused();
            kept_[next_].values.resize(kept_[now_].values.size());
        }
        return kept_[next_].values;
    }
    /// What was written becomes the parameters; a worker's version is released first.
    void step(int worker = -1) noexcept {
        if (worker >= 0) release(worker);
        now_ = next_;
    }

    /// The worker reads the parameters as they are now.
    std::span<const float> read(int worker) noexcept {
        release(worker);
        ++kept_[now_].readers;
        read_by_[static_cast<std::size_t>(worker)] = now_;
        return now();
    }

    /// What it has read; empty if nothing.
    std::span<const float> of(int worker) const noexcept {
        const std::size_t at = read_by_[static_cast<std::size_t>(worker)];
        return at == nobody ? std::span<const float>() : std::span<const float>(kept_[at].values);
    }

    /// Nobody needs what this worker has read.
    void release(int worker) noexcept {
        std::size_t& at = read_by_[static_cast<std::size_t>(worker)];
        if (at != nobody) --kept_[at].readers;
        at = nobody;
    }

    /// Gives back the memory of what nobody has read last.
    void free_unused() noexcept {
        for (std::size_t at = 0; at < kept_.size(); ++at)
            if (at != now_ && kept_[at].readers == 0) large_vector<float>().swap(kept_[at].values);
    }

    /// The worker has read some parameters anew, and still has the others: memory of its own, to be
    /// changed. Where it has none yet it has them as they are now.
    std::span<float> own(int worker) {
        std::size_t& at = read_by_[static_cast<std::size_t>(worker)];
        if (at == nobody || at == now_ || kept_[at].readers > 1) {
            release(worker);
            const std::size_t other = unused();
            kept_[other].values.assign(now().begin(), now().end());
            ++kept_[other].readers;
            at = other;
        }
        return kept_[at].values;
    }

    /// Bytes that are taken, the present parameters among them.
    std::size_t memory() const noexcept {
        std::size_t sum = 0;
        for (const version& v : kept_) sum += v.values.capacity() * sizeof(float);
        return sum;
    }

private:
    static constexpr std::size_t nobody = SIZE_MAX;

    struct version {
        int readers = 0;  // workers; the server has the present one besides
        large_vector<float> values;
    };

    std::size_t unused() {
        std::size_t at = 0;
        while (at < kept_.size() && (kept_[at].readers > 0 || at == now_)) ++at;
        if (at == kept_.size()) kept_.emplace_back();
        return at;
    }

    std::vector<version> kept_;
    std::size_t now_ = 0, next_ = 0;
    std::vector<std::size_t> read_by_;
};

}  // namespace sotto::detail
