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

/// A rank's part of a checkpoint, before it is written. It is sent as its bytes.
struct saved_part {
    checkpoint::digest names{}, parameters{}, alike{}, buffers{}, apart{};
    std::int64_t examples = 0, of_this_rank = 0;
    std::int64_t stopped = 0;  // not 0: a callback of this rank stopped `fit`
};
static_assert(std::has_unique_object_representations_v<saved_part>);

/// Writes a run into a checkpoint, all ranks together. First every rank computes the digests of its
/// state and sends them to all. So the header, which is first in the file, is written first, and
/// rank 0 needs memory only for the largest tensor.
///   errors  mismatch, on all ranks: their parameters or state differ where they must be the same.
///           The report contains the disk's errors, the same on all ranks
class checkpoint_writer {
public:
    checkpoint_writer(transport_ref through, const saved_fields& fields,
                      const training_position& place);

    /// `refused` are the folder's checkpoints that are known to be unusable. `why_not` returns why
    /// the folder must not be written. Both are used on rank 0.
    checkpoint_report write(const checkpoint::disk& files, const std::string& folder,
                            std::int64_t keep, const std::string& configuration, std::uint64_t seed,
                            const std::vector<checkpoint::refused_file>& refused,
                            const std::function<std::string()>& why_not);

    /// Before training, throws on all ranks if no checkpoint could be written: the state does not
    /// fit into a header, the folder cannot be used, or another job owns it. It also throws if the
    /// folder has another run's checkpoints, which would be mixed up with this run's and removed.
    /// While it is unknown whether the folder's owner lives, it waits: a minute at most. Rank 0
    /// uses `owner`, and `known`, the steps of this run's checkpoints in the folder.
    void require_place_for_it(const checkpoint::disk& files, const std::string& folder,
                              checkpoint::folder_claim* owner, std::span<const std::int64_t> known,
                              const std::string& configuration, std::uint64_t seed);

private:
    /// Checks the header with the longest possible numbers.
    void require_header(const std::string& configuration, std::uint64_t seed) const;

    /// Returns false, with the reason, if the owner's state is unknown. A disk that cannot store a
    /// claim is like one that cannot store a checkpoint: training continues.
    bool require_folder(const checkpoint::disk& files, const std::string& folder,
                        checkpoint::folder_claim& owner, std::span<const std::int64_t> known,
                        std::string& why) const;

    tag label(std::uint32_t item) const noexcept;

    void gather_parts();

    checkpoint::file_header plan(const std::string& configuration, std::uint64_t seed) const;

    /// Receives the data even after the file failed, because the other ranks must not wait.
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
