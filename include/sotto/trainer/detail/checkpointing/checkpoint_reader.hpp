#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/former_names.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/difference.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/trainer/detail/checkpointing/training_position.hpp"
#include "sotto/trainer/detail/checkpointing/checkpoint_writer.hpp"
#include "sotto/trainer/resume_report.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Reads a run from the newest complete and readable checkpoint of a folder. If other ranks have no
/// newer one than `at_most`, it reads the newest up to that step. Rank 0 reads, and sends every
/// rank its part.
///
/// If the number of ranks differs from the number that wrote it:
///   sums    Per-rank parts of a sum move from old rank r to new rank r mod N, or to the rank that
///           sends that rank's state. There they are added; other new ranks begin with zeros. So
///           the sum over all ranks stays the same, exactly if the additions are exact, and all of
///           it is sent
///   buffers  become the mean over the old ranks on every new one, as an evaluation used
///   epoch   continues after the examples that all old ranks had read of it. If these are no whole
///           number of the new ranks' rounds, fewer than one round of them is read again. If each
///           rank has its own data, a new epoch begins
///   gossip  If each rank has its own parameters, another number of ranks throws mismatch
///
///   errors  the same on all ranks: io_failure, no checkpoint, a folder that cannot be listed, or
///           none that is complete and one that cannot be read
///           malformed, no checkpoint is complete
///           mismatch, another configuration, naming the first line that differs, or a number of
///           ranks that cannot continue with it
///           A later failure, while the state is filled, ends the job: a disk that fails, a file
///           that changes, a rank that fails
class checkpoint_reader {
public:
    /// `senders`: by rank, the rank that sends its state.
    checkpoint_reader(transport_ref through, const saved_fields& fields, std::vector<int> senders)
        : through_(through), fields_(fields), senders_(std::move(senders)) {}

    /// `torn` is not empty while the state is filled; after a failure it holds the reason.
    resume_report read(const checkpoint::disk& files, const std::string& folder, bool required,
                       const std::string& configuration, training_position& place,
                       std::string& torn,
                       std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)());

    /// Returns newer checkpoints that are damaged, unreadable or too new; on rank 0.
    const std::vector<checkpoint::refused_file>& refused() const noexcept { return refused_; }
    /// Returns the steps of all checkpoints in the folder; on rank 0.
    const std::vector<std::int64_t>& listed() const noexcept { return listed_; }

private:
    tag label(std::uint32_t item) const noexcept { return {channels::checkpoint, item, 0}; }
    bool same_world() const noexcept { return found_.world == through_.size(); }

    /// Throws unless all ranks have the same fields: otherwise a rank would wait for data that no
    /// rank sends.
    void require_same_fields();

    bool find(const checkpoint::disk& files, const std::string& folder, bool required,
              const std::string& configuration, std::optional<checkpoint::file_reader>& file,
              resume_report& report);

    // -- rank 0: selects the file, and checks that it is of this run --

    void open(const checkpoint::disk& files, const std::string& folder, bool required,
              const std::string& configuration, std::optional<checkpoint::file_reader>& file);

    static const std::string& text_of(const auto& file, std::string_view name) {
        if (const std::string* text = file.header().metadata_named(name)) return *text;
        refuse(file, "expected metadata named '" + std::string(name) + "', found none");
    }

    [[noreturn]] static void refuse(const auto& file, const std::string& why) {
        throw mismatch(std::string("'") + file.path().string() +
                       "' is no checkpoint of this run: " + why);
    }

    static void check_format(const auto& file) {
        if (const std::string& format = text_of(file, "format"); format != "sotto.checkpoint")
            refuse(file, "expected format sotto.checkpoint, found " + format);
        if (const std::string& version = text_of(file, "format.version"); version != "1")
            refuse(file, "expected format version 1, found " + version);
    }

    static void check_configuration(const auto& file, std::string_view ours) {
        const std::string written = checkpoint::with_current_names(text_of(file, "configuration"));
        std::string_view theirs = written;
        while (!theirs.empty() || !ours.empty()) {
            const std::string_view found = next_line(theirs), expected = next_line(ours);
            if (found == expected) continue;
            const auto shown = [](std::string_view line) {
                return line.empty() ? "nothing" : std::string("'").append(line) + "'";
            };
            refuse(file, "it was written with " + shown(found) + " where this run has " +
                             shown(expected));
        }
    }

    void check_tensors(const auto& file) {
        std::size_t expected = 1;  // counts the digest
        const auto check = [&](const std::string& section, std::span<const saved_field> fields) {
            for (const saved_field& field : fields) {
                const std::string name = section + "/" + field.name;
                const auto which = file.find(name);
                if (!which) refuse(file, "expected a tensor named '" + name + "', found none");
                const auto& entry = file.header().tensors[*which];
                if (entry.type != field.type || entry.shape != field.shape)
                    refuse(file, "tensor '" + name + "': expected " +
                                     std::to_string(field.memory.size()) + " bytes of " +
                                     std::string(name_of(field.type)) + " in its shape, found " +
                                     std::to_string(entry.size_bytes()) + " of " +
                                     std::string(name_of(entry.type)));
            }
            expected += fields.size();
        };
        check("parameters", fields_.parameters);
        check("state", fields_.alike);
        for (int rank = 0; rank < static_cast<int>(found_.world); ++rank) {
            check(checkpoint::buffers_section(rank), fields_.buffers);
            check(checkpoint::own_section(rank), fields_.apart);
        }
        if (expected != file.header().tensors.size())
            refuse(file, "expected " + std::to_string(expected) + " tensors, found " +
                             std::to_string(file.header().tensors.size()));
    }

    // -- all ranks: fill the state from the file, which only rank 0 has --

    template <class File>
    void fill(File* file) {
        same_for_all(file, "parameters", fields_.parameters);
        same_for_all(file, "state", fields_.alike);
        if (same_world()) {
            for (int rank = 0; rank < through_.size(); ++rank) {
                each_its_own(file, rank, checkpoint::buffers_section(rank), fields_.buffers);
                each_its_own(file, rank, checkpoint::own_section(rank), fields_.apart);
            }
        } else {
            mean_for_all(file);
            share_out(file);
        }
    }

    template <class File>
    void same_for_all(File* file, const std::string& section, std::span<const saved_field> fields) {
        for (const saved_field& field : fields) {
            if (file) take(*file, section, field, field.memory);
            give_to_all(through_, field.memory, label(6));
        }
    }

    template <class File>
    void each_its_own(File* file, int rank, const std::string& section,
                      std::span<const saved_field> fields) {
        for (const saved_field& field : fields) {
            if (file && rank == 0) {
                take(*file, section, field, field.memory);
            } else if (file) {
                room_.resize(field.memory.size());
                take(*file, section, field, room_);
                send_to(through_, rank, room_, label(7));
            } else if (rank == through_.rank()) {
                receive_from(through_, 0, field.memory, label(7));
            }
        }
    }

    template <class File>
    void mean_for_all(File* file) {
        for (const saved_field& field : fields_.buffers) {
            if (file) {
                const auto size = field.memory.size() / sizeof(float);
                std::vector<float> sum(size), one(size);
                for (int rank = 0; rank < static_cast<int>(found_.world); ++rank) {
                    take(*file, checkpoint::buffers_section(rank), field,
                         std::as_writable_bytes(std::span(one)));
                    kernels::add(sum, one);
                }
                const float share = 1.0f / static_cast<float>(found_.world);
                for (float& value : sum) value *= share;
                copy(std::as_bytes(std::span(sum)), field.memory);
            }
            give_to_all(through_, field.memory, label(6));
        }
    }

    template <class File>
    void share_out(File* file) {
        for (const saved_field& field : fields_.apart)
            std::fill(field.memory.begin(), field.memory.end(), std::byte{0});
        for (int old = 0; old < static_cast<int>(found_.world); ++old) {
            const int rank = senders_[static_cast<std::size_t>(old % through_.size())];
            if (!file && rank != through_.rank()) continue;
            for (const saved_field& field : fields_.apart) {
                room_.resize(field.memory.size());
                if (file) take(*file, checkpoint::own_section(old), field, room_);
                if (file && rank != 0) send_to(through_, rank, room_, label(7));
                if (!file) receive_from(through_, 0, room_, label(7));
                if (rank == through_.rank()) add(field);
            }
        }
    }

    /// Adds the content of room_.
    void add(const saved_field& field);

    template <class Value>
    void add_one(const saved_field& field) {
        Value sum{}, more{};
        std::memcpy(&sum, field.memory.data(), sizeof sum);
        std::memcpy(&more, room_.data(), sizeof more);
        sum += more;
        std::memcpy(field.memory.data(), &sum, sizeof sum);
    }

    static void copy(byte_view from, mutable_byte_view to);

    static void take(auto& file, const std::string& section, const saved_field& field,
                     mutable_byte_view into) {
        file.read(*file.find(section + "/" + field.name), into);
    }

    /// Returns the position for this rank.
    training_position placed() const;

    static constexpr std::int64_t no_data = -1;  // matches no data, so the epoch ends

    transport_ref through_;
    const saved_fields& fields_;
    std::vector<int> senders_;
    found_place found_;
    std::vector<std::int64_t> shares_;  // examples of the data by rank, then of each rank's share
    std::vector<checkpoint::refused_file> refused_;
    std::vector<std::int64_t> listed_;
    std::int64_t at_most_ = 0;  // largest step to read
    bytes room_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/checkpoint_reader.ipp"
#endif
