#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/file_writer.hpp"
#include "sotto/checkpoint/detail/folder_owner.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/collectives/detail/plan.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/trainer/detail/checkpointing/by_the_first.hpp"
#include "sotto/trainer/detail/checkpointing/training_position.hpp"
#include "sotto/trainer/reports.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// What a rank says of its part before anything is written: travels as its bytes.
struct saved_part {
    checkpoint::digest names{}, parameters{}, alike{}, buffers{}, apart{};
    std::int64_t examples = 0, of_this_rank = 0;
    std::int64_t stopped = 0;  // not 0: a callback of this rank has ended `fit`
};
static_assert(std::has_unique_object_representations_v<saved_part>);

/// Writes a run into a checkpoint, all ranks together. Every rank first computes the digests of
/// what it holds and tells them to all: the header, which comes first in the file, can then be
/// written first, and rank 0 needs no more room than the largest tensor takes.
///   errors  mismatch, on all ranks: they hold other parameters or another state where they should
///           hold the same. What the disk does wrong is in the report, the same on all ranks
class checkpoint_writer {
public:
    checkpoint_writer(transport_ref through, const saved_fields& fields,
                      const training_position& place);

    /// `refused` are checkpoints in the folder that are known not to be usable, and `why_not`
    /// answers why nothing may be written there; both of rank 0.
    checkpoint_report write(const checkpoint::disk& files, const std::string& folder,
                            std::int64_t keep, const std::string& configuration, std::uint64_t seed,
                            const std::vector<checkpoint::refused_file>& refused,
                            const std::function<std::string()>& why_not);

    /// Before training, refuses on all ranks what no checkpoint could be written of or to: state
    /// that does not fit into a header, a folder that cannot be used or that another job owns, and
    /// another run's checkpoints, which would be taken for this one's, and removed. While it is not
    /// known whether the folder's owner lives, it waits: a minute at most. `owner` and `known`, the
    /// steps of checkpoints in the folder that are this run's, are rank 0's.
    void require_place_for_it(const checkpoint::disk& files, const std::string& folder,
                              checkpoint::folder_claim* owner, std::span<const std::int64_t> known,
                              const std::string& configuration, std::uint64_t seed);

private:
    /// With every number as long as it can become.
    void require_header(const std::string& configuration, std::uint64_t seed) const;

    /// False, and why, if it is not known yet. A disk that cannot keep a claim is as one that
    /// cannot keep a checkpoint: training goes on without.
    bool require_folder(const checkpoint::disk& files, const std::string& folder,
                        checkpoint::folder_claim& owner, std::span<const std::int64_t> known,
                        std::string& why) const;

    tag label(std::uint32_t item) const noexcept;

    void gather_parts();

    checkpoint::file_header plan(const std::string& configuration, std::uint64_t seed) const;

    /// A file that has failed goes on being given what comes: the others must not wait.
    void collect(int rank, checkpoint::file_writer& file);

    void hand_over();

    transport_ref through_;
    const saved_fields& fields_;
    training_position place_;
    std::vector<saved_part> parts_;
    bytes arriving_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/checkpoint_writer.ipp"
#endif
