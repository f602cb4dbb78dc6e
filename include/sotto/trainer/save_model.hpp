#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/model_file.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/detail/checkpointing/by_the_first.hpp"
#include "sotto/trainer/model_path.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Writes a trainer's model into one file for load_model and any reader of safetensors. The model
/// is the one that evaluate measures: the mean of ranks' parameters (if these differ) and of their
/// models' buffers.
///
/// All ranks call it, and the first writes. If ranks do not learn in step, the first that trains
/// writes its own model, and the others return at once. If that rank was lost, no rank writes; use
/// `publish` on another one. If the job trains several models, each has a file, named as logs are:
/// model.group-1.safetensors. Jobs must not write the same file at the same time.
///   wire    as checkpoint::write_model_file
///   cost    in step, the other ranks wait while the first writes, at most for the transport's
///           timeout
///   errors  io_failure: the file could not be written, and its earlier version remains;
///           invalid_option: names that cannot be written. The same on all ranks if they learn in
///           step
/// Returns the absolute path of the file.
template <class Model, class Strategy, class Transport>
std::string save_model(trainer<Model, Strategy, Transport>& from, const std::string& path,
                       detail::checkpoint::disk files = {}) {
    constexpr bool in_step = detail::conducting::in_step<Strategy>;
    const std::string file = path_of_model(detail::required_path("save_model", path),
                                           detail::conducting::model_name(from.state()));
    const detail::data::share share = from.state().share();
    if (!in_step && (share.empty() || share.index != 0)) return file;
    from.with_evaluated([&](auto& model, std::span<const float> parameters, auto& ranks) {
        const auto write = [&] {
            detail::checkpoint::architecture kind{model.layout(), {}};
            std::span<const float> buffers;
            if constexpr (detail::with_buffers<Model>)
                kind.buffers = model.buffer_layout(), buffers = model.buffers();
            const std::string problem = detail::checkpoint::write_model_file(
                files, file, kind, from.step(), parameters, buffers);
            if (!problem.empty()) throw io_failure("save_model: " + problem);
        };
        const tag label{channels::checkpoint, 9, static_cast<std::uint64_t>(from.step())};
        if constexpr (in_step)
            detail::by_the_first(ranks, label, write);
        else
            write();
    });
    return file;
}

}  // namespace sotto
