#pragma once

#include "sotto/trainer/detail/checkpointing/checkpoint_writer.hpp"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <utility>

#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/join_path.hpp"
#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/transports/fail_with_exception.hpp"

namespace sotto::detail {

SOTTO_DECL checkpoint_writer::checkpoint_writer(transport_ref through, const saved_fields& fields,
                                                const training_position& place)
    : through_(through),
      fields_(fields),
      place_(place),
      parts_(static_cast<std::size_t>(through.size())) {}

SOTTO_DECL void checkpoint_writer::require_header(const std::string& configuration,
                                                  std::uint64_t seed) const {
    checkpoint_writer longest(*this);
    longest.place_ = {count_max, count_max, count_max, count_max, count_max, count_max, 1, 0, 0, 1};
    for (saved_part& part : longest.parts_) part.examples = part.of_this_rank = count_max;
    (void)checkpoint::format_header(longest.plan(configuration, seed));
}

SOTTO_DECL tag checkpoint_writer::label(std::uint32_t item) const noexcept {
    return {channels::checkpoint, item, static_cast<std::uint64_t>(place_.step)};
}

SOTTO_DECL void checkpoint_writer::gather_parts() {
    const saved_part mine{.names = digest_of_names(fields_),
                          .parameters = digest_of(fields_.parameters),
                          .alike = digest_of(fields_.alike),
                          .buffers = digest_of(fields_.buffers),
                          .apart = digest_of(fields_.apart),
                          .examples = place_.examples,
                          .of_this_rank = place_.of_this_rank,
                          .stopped = place_.fit_stopped};
    collectives::all_gather_values(through_, mine, std::span(parts_), label(0));
    for (std::size_t rank = 1; rank < parts_.size(); ++rank) {
        const char* differs = nullptr;
        if (parts_[rank].names != parts_[0].names) differs = "names and shapes to be saved";
        if (parts_[rank].alike != parts_[0].alike) differs = "optimizer state";
        if (parts_[rank].parameters != parts_[0].parameters) differs = "parameters";
        if (!differs) continue;
        through_.agree(true);  // every rank has compared before any rank throws
        throw mismatch("checkpoint of step " + std::to_string(place_.step) + ": rank " +
                       std::to_string(rank) + " holds other " + differs +
                       " than rank 0, and should hold the same");
    }
}

SOTTO_DECL checkpoint::file_header checkpoint_writer::plan(const std::string& configuration,
                                                           std::uint64_t seed) const {
    file_plan file;
    const auto number = [&](const char* name, std::int64_t value) {
        file.note(name, std::to_string(value));
    };
    file.note("format", "sotto.checkpoint");
    number("format.version", 1);
    number("step", place_.step);
    number("epoch", place_.epoch);
    number("round", place_.round);
    number("fit", place_.fit);
    number("fit.epochs", place_.fit_epochs);
    number("fit.steps", place_.fit_steps);
    number("fit.stopped",
           std::ranges::any_of(parts_, [](const saved_part& part) { return part.stopped != 0; }));
    file.note("seed", std::to_string(seed));
    number("world_size", through_.size());
    number("data.own_share", place_.own);
    std::string examples, shares;
    for (const saved_part& part : parts_) {
        examples.append(examples.empty() ? "" : " ").append(std::to_string(part.examples));
        shares.append(shares.empty() ? "" : " ").append(std::to_string(part.of_this_rank));
    }
    file.note("data.examples", examples);
    file.note("data.examples_of_ranks", shares);
    file.note("configuration", configuration);
    file.note("configuration.digest",
              checkpoint::hex(checkpoint::digest_of(std::as_bytes(std::span(configuration)))));
    file.add("parameters", fields_.parameters, parts_[0].parameters);
    file.add("state", fields_.alike, parts_[0].alike);
    for (int rank = 0; rank < through_.size(); ++rank) {
        const saved_part& part = parts_[static_cast<std::size_t>(rank)];
        file.add(checkpoint::buffers_section(rank), fields_.buffers, part.buffers);
        file.add(checkpoint::own_section(rank), fields_.apart, part.apart);
    }
    return file.finish();
}

SOTTO_DECL void checkpoint_writer::hand_over() {
    for (const auto* part : {&fields_.buffers, &fields_.apart})
        for (const saved_field& field : *part) send_to(through_, 0, field.memory, label(2));
}

SOTTO_DECL checkpoint_report
checkpoint_writer::write(const checkpoint::disk& files, const std::string& folder,
                         std::int64_t keep, const std::string& configuration, std::uint64_t seed,
                         const std::vector<checkpoint::refused_file>& refused,
                         const std::function<std::string()>& why_not) {
    const time_point start = through_.now();
    gather_parts();
    checkpoint_report report{.step = place_.step};
    report.path = join_path(folder, checkpoint::file_name(place_.step));
    tidings told;
    if (through_.rank() == 0) {
        const checkpoint::file_header planned = plan(configuration, seed);
        const bytes header = checkpoint::format_header(planned);
        checkpoint::file_writer file(files, folder, place_.step, keep, refused, why_not);
        file.write_header(header);
        for (const auto* part :
             {&fields_.parameters, &fields_.alike, &fields_.buffers, &fields_.apart})
            for (const saved_field& field : *part) file.write(field.memory);
        for (int rank = 1; rank < through_.size() && through_.agree(file.ok()); ++rank)
            collect(rank, file);
        told.code = file.finish() ? 0 : static_cast<std::int64_t>(errc::io);
        told.number = file.bytes_written();
        if (told.code != 0)
            told.say(file.problem() +
                     (file.lacks_room()
                          ? " (a checkpoint takes " +
                                std::to_string(std::ssize(header) + planned.data_bytes()) +
                                " bytes, beside those that are there)"
                          : ""));
    } else {
        for (int rank = 1; rank < through_.size() && through_.agree(true); ++rank)
            if (rank == through_.rank()) hand_over();
    }
    give_to_all(through_, told, label(1));
    report.failure = told.said();
    report.took = in_seconds(through_.now() - start);
    report.bytes = told.code == 0 ? told.number : 0;
    return report;
}

SOTTO_DECL void checkpoint_writer::require_place_for_it(
    const checkpoint::disk& files, const std::string& folder, checkpoint::folder_claim* owner,
    std::span<const std::int64_t> known, const std::string& configuration, std::uint64_t seed) {
    bool has_told = false;
    const auto try_it = [&] {
        require_header(configuration, seed);
        std::string why;
        const bool waits = !require_folder(files, folder, *owner, known, why);
        if (waits && !std::exchange(has_told, true)) print_line(stderr, "checkpoints: " + why);
        return std::int64_t{waits};
    };
    checkpoint::attempt_each_second(files, through_.rank() == 0,
                                    [&] { return by_the_first(through_, label(3), try_it) != 0; });
}

SOTTO_DECL bool checkpoint_writer::require_folder(const checkpoint::disk& files,
                                                  const std::string& folder,
                                                  checkpoint::folder_claim& owner,
                                                  std::span<const std::int64_t> known,
                                                  std::string& why) const {
    std::error_code problem;
    const auto require_use = [&] {
        if (problem)
            throw io_failure("checkpoints: cannot use the folder '" + folder +
                             "': " + problem.message());
    };
    files.make_folder(folder, problem);
    require_use();
    const checkpoint::ownership now = owner.attempt(why);
    if (now == checkpoint::ownership::waits) return false;
    if (now == checkpoint::ownership::refused) throw invalid_option("checkpoints: " + why);
    const auto other = checkpoint::foreign_generation(files, folder, known, problem);
    require_use();
    if (!other) return true;
    throw invalid_option("checkpoints: '" + folder + "' holds " + checkpoint::file_name(*other) +
                         " of another run, and this one is at "
                         "step " +
                         std::to_string(place_.step) +
                         ": resume from it, or give a folder of its own");
}

SOTTO_DECL void checkpoint_writer::collect(int rank, checkpoint::file_writer& file) {
    for (const auto* part : {&fields_.buffers, &fields_.apart})
        for (const saved_field& field : *part) {
            arriving_.resize(field.memory.size());
            receive_from(through_, rank, arriving_, label(2));
            file.write(arriving_);
        }
}

}  // namespace sotto::detail
