#pragma once

#include <cstddef>
#include <span>
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
class version_store {
public:
    /// Of so many parameters, all 0; nobody has read any.
    version_store(int workers, std::size_t parameters);

    /// The parameters as they are.
    std::span<const float> now() const noexcept { return kept_[now_].values; }
    /// To be changed only before anybody has read.
    std::span<float> unread() noexcept { return kept_[now_].values; }

    /// To be changed in part: what workers have read stays as it was.
    std::span<float> change();

    /// Where a step by a gradient of this worker (-1: of several) is to write all parameters: what
    /// `now` shows, what `of` shows for the worker, or neither. Then `step` makes them the present
    /// ones; until then the two show what they did, each place as long as nothing is written there.
    std::span<float> next(int worker = -1);
    /// What was written becomes the parameters; a worker's version is released first.
    void step(int worker = -1) noexcept;

    /// The worker reads the parameters as they are now.
    std::span<const float> read(int worker) noexcept;

    /// What it has read; empty if nothing.
    std::span<const float> of(int worker) const noexcept;

    /// Nobody needs what this worker has read.
    void release(int worker) noexcept;

    /// Gives back the memory of what nobody has read last.
    void free_unused() noexcept;

    /// The worker has read some parameters anew, and still has the others: memory of its own, to be
    /// changed. Where it has none yet it has them as they are now.
    std::span<float> own(int worker);

    /// Bytes that are taken, the present parameters among them.
    std::size_t memory() const noexcept;

private:
    static constexpr std::size_t nobody = SIZE_MAX;

    struct version {
        int readers = 0;  // workers; the server has the present one besides
        large_vector<float> values;
    };

    std::size_t unused();

    std::vector<version> kept_;
    std::size_t now_ = 0, next_ = 0;
    std::vector<std::size_t> read_by_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/version_store.ipp"
#endif
