#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/files/join_path.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/detail/codistillation/architecture_of.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/detail/checkpointing/by_the_first.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// Description of a published model, and the number that remain.
struct publish_options {
    /// Loss on its training data, for people who list models; fit_report has it. NaN: unknown.
    double label_loss = std::numeric_limits<double>::quiet_NaN();
    std::int64_t keep = 2;  // number of newest models in the folder that remain
};

}  // namespace sotto::detail

namespace sotto {

/// Publishes a trainer's model for others to learn from, in FOLDER/group-GROUP/models. It becomes a
/// teacher for finished_models or, while others train, for checkpoint_exchange, where
/// teacher_rules::age_max counts its steps.
///
/// The model is the one that evaluate measures: the mean of ranks' parameters (if these differ) and
/// of their models' buffers. Ranks that learn in step all call it, and the first writes. With
/// another strategy one rank calls it. The options are `{.label_loss = ..., .keep = ...}`: the loss
/// on its training data, NaN if unknown, for people who list models; and the number of models that
/// remain in the folder, 2.
///   wire    as checkpoint::publish_model
///   cost    the other ranks wait while the first writes, at most for the transport's timeout
///   errors  the same on all ranks: io_failure, the file could not be written, and earlier models
///           remain; invalid_option: a group below 0, a keep below 1, an infinite label_loss, names
///           that cannot be written
/// Returns the absolute path of the file.
template <class Model, class Strategy, class Transport>
std::string publish(trainer<Model, Strategy, Transport>& from, const std::string& folder, int group,
                    detail::publish_options options = {}, detail::checkpoint::disk files = {}) {
    require_option("publish", "group", group, detail::allowed::at_least(0));
    require_option("publish", "keep", options.keep, detail::allowed::at_least(1));
    if (!detail::is_nan(options.label_loss))
        require_option("publish", "label_loss", options.label_loss, detail::allowed::any_finite(),
                       ", or NaN where it is not known");
    const std::string place =
        detail::checkpoint::models_folder(detail::absolute_path(folder), group);
    const std::int64_t step = from.step();
    from.with_evaluated([&](auto& model, std::span<const float> parameters, auto& ranks) {
        const auto write = [&] {
            std::span<const float> buffers;
            if constexpr (detail::with_buffers<Model>) buffers = model.buffers();
            using detail::architecture_of;
            const detail::checkpoint::architecture kind = architecture_of(model);
            const std::string problem =
                detail::checkpoint::publish_model(files, place, kind,
                                                  {.step = step,
                                                   .label_loss = options.label_loss,
                                                   .group = std::to_string(group),
                                                   .architecture = kind.identity()},
                                                  parameters, buffers, options.keep);
            if (!problem.empty()) throw io_failure("publish: " + problem);
        };
        if constexpr (detail::conducting::in_step<Strategy>)
            detail::by_the_first(ranks, {channels::checkpoint, 8, static_cast<std::uint64_t>(step)},
                                 write);
        else
            write();
    });
    return detail::join_path(place, detail::checkpoint::file_name(step));
}

}  // namespace sotto
