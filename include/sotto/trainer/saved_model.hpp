#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/checkpoint/digest.hpp"
#include "sotto/checkpoint/file_system.hpp"
#include "sotto/checkpoint/load_model.hpp"
#include "sotto/checkpoint/model_file.hpp"
#include "sotto/checkpoint/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/strategies/architecture_of.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/trainer/model_path.hpp"
#include "sotto/trainer/saving.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Writes the model that a trainer holds into one file, which load_model reads, and any reader of
/// safetensors. It is what evaluate measures: the mean of ranks' parameters, where these differ,
/// and of their models' buffers. All ranks call it, and the first writes; where ranks do not learn
/// in step, the first that trains writes its own and the others return at once: where it was lost
/// nobody does, and `publish` lets another one. Of several models that are trained at once each has
/// a file, named as logs are: model.group-1.safetensors. Jobs must not write the same file at the
/// same time.
///   wire    as checkpoint::write_model_file
///   cost    in step the others wait while the first writes, no longer than the transport's timeout
///   errors  io_failure: the file could not be written, what was there still is; invalid_option:
///           names that cannot be written. The same on all ranks, where they learn in step
/// Returns the file.
template <class Model, class Strategy, class Transport,
          checkpoint::file_system Files = checkpoint::posix_files>
std::filesystem::path save_model(trainer<Model, Strategy, Transport>& from,
                                 const std::filesystem::path& path, Files files = {}) {
    constexpr bool in_step = conducting::in_step<Strategy>;
    const std::filesystem::path file = path_of_model(path, conducting::model_name(from.state()));
    const data::share share = from.state().share();
    if (!in_step && (share.empty() || share.index != 0)) return file;
    from.with_evaluated([&](auto& model, std::span<const float> parameters, auto& ranks) {
        const auto write = [&] {
            checkpoint::architecture kind{model.layout(), {}};
            std::span<const float> buffers;
            if constexpr (with_buffers<Model>)
                kind.buffers = model.buffer_layout(), buffers = model.buffers();
            const std::string problem =
                checkpoint::write_model_file(files, file, kind, from.step(), parameters, buffers);
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

/// A model that begins with what was learnt before: `begun_from model{models::mlp{784, 10},
/// load_model("model.safetensors")}`. It is that model in all else, for any strategy. Every rank
/// reads the file; ranks that read another one are refused with the trainer's other options.
///   errors  mismatch: what was learnt is of another model, as saved_model::require says
template <class Model>
class begun_from : public Model {
    static_assert(gradient_source<Model> && std::is_move_constructible_v<Model>,
                  "begun_from: the model must be a gradient_source that can be copied or moved; a "
                  "torch_model has begin_with");

public:
    /// Takes a copy of the model.
    begun_from(Model model, saved_model learnt)
        : Model(std::move(model)), learnt_(std::move(learnt)) {
        learnt_.require(this->layout());
        if constexpr (with_buffers<Model>) {
            learnt_.require_buffers(this->buffer_layout());
            reset_buffers();
        } else {
            learnt_.require_buffers({});
        }
    }

    /// Starts from what was learnt; nothing is drawn.
    void initialise(std::span<float> parameters, random_stream) const {
        std::ranges::copy(learnt_.parameters, parameters.begin());
    }
    /// Back to those that were learnt.
    void reset_buffers() requires with_buffers<Model> {
        std::ranges::copy(learnt_.buffers, this->buffers().begin());
    }

    void describe(auto&& field) const {
        field("model", original());
        field("begins_with", checkpoint::hex(checkpoint::digest_of_model(
                                 learnt_.kind, learnt_.parameters, learnt_.buffers)));
    }

    /// The model itself.
    const Model& original() const noexcept { return *this; }

private:
    saved_model learnt_;
};

/// That of the model itself: it computes the same function, whatever it began with.
template <class Model>
checkpoint::architecture architecture_of(const begun_from<Model>& model) {
    return architecture_of(model.original());
}

}  // namespace sotto
