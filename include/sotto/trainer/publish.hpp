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

/// What is said of a published model, and how many stay.
struct publish_options {
    /// Of what it was trained on, for those who list models: fit_report has it. Not known: NaN.
    double label_loss = std::numeric_limits<double>::quiet_NaN();
    std::int64_t keep = 2;  // of its predecessors in the folder the newest stay, with it so many
};

}  // namespace sotto::detail

namespace sotto {

/// Publishes the model that a trainer holds for others to learn from, in FOLDER/group-GROUP/models:
/// a teacher for finished_models or, while others train, for checkpoint_exchange, where
/// teacher_rules::age_max counts its steps. It is what evaluate measures: the mean of ranks'
/// parameters, where these differ, and of their models' buffers. Ranks that learn in step all call
/// it, and the first writes; of another strategy one rank calls it. By `{.label_loss = ..., .keep =
/// ...}` it is said how well the model did on what it was trained on, NaN where that is not known,
/// for people who list models, and how many models stay in the folder, 2.
///   wire    as checkpoint::publish_model
///   cost    the others wait while the first one writes, for no longer than the transport's timeout
///   errors  the same on all ranks: io_failure, the file could not be written: what was there still
///           is; invalid_option: a group below 0, a keep below 1, an infinite label_loss, names
///           that cannot be written
/// Returns the file, by its absolute path.
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
