#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/trainer.hpp"
#include "support/memory_disk.hpp"
#include "support/numbers.hpp"
#include "support/training.hpp"

namespace sotto::testing {

/// A number_model that keeps buffers and draws: whoever resumes it without all of its state ends
/// elsewhere. Everything is a small integer.
struct remembering_model : number_model {
    using number_model::number_model;

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        for (std::size_t i = 0; i < seen_.size(); ++i)
            seen_[i] += static_cast<float>(batch.front() % 4) + static_cast<float>(i);
        const auto drawn = static_cast<float>(draws_.below(3));
        const auto kept = static_cast<float>(static_cast<std::int64_t>(seen_[0]) % 3);
        spoil = [=](std::span<float> gradient) {
            for (float& value : gradient) value += drawn + kept;
        };
        return number_model::gradient(parameters, batch, out, on_ready);
    }

    void reseed(random_stream random) noexcept { draws_ = random; }
    std::span<float> buffers() noexcept { return seen_; }
    const sotto::layout& buffer_layout() const noexcept { return names_; }
    void reset_buffers() noexcept { seen_.assign(5, 0.0f); }

private:
    sotto::layout names_ = sotto::layout().add("seen", {2}).add("more", {3});
    std::vector<float> seen_ = std::vector<float>(5);
    random_stream draws_{0};
};

/// The absolute path of the folder that tests call "run", or of a file in it.
inline std::string in_run(const std::string& name = "") {
    const auto folder = std::filesystem::current_path() / "run";
    return (name.empty() ? folder : folder / name).string();
}

/// What a run with checkpoints left on one rank.
struct checkpointed : trained {
    std::vector<float> buffers;
    resume_report resumed;
    std::vector<checkpoint_report> told;

    bool same_run(const checkpointed& other) const {
        return same_state(other) && buffers == other.buffers;
    }
};

struct interrupted : std::runtime_error {
    interrupted() : std::runtime_error("interrupted") {}
};

struct interruption {
    std::int64_t after_step = 0;  // 0: none
    detail::training_length length = steps{12};
    checkpoints::options options{.every_steps = 1, .on_failure = nullptr};
    std::int64_t examples = 70;
    std::int64_t batch_size = 4;
    std::vector<std::int64_t> own{};
};

/// Resumes from the disk if there is something, and trains until the end or the interruption.
template <class Over = over_in_process, class Strategy>
std::vector<checkpointed> run_with_checkpoints(int world, const Strategy& strategy,
                                               memory_files files, interruption how = {}) {
    std::vector<checkpointed> left(static_cast<std::size_t>(world));
    try {
        Over::run(world, [&](auto& transport) {
            remembering_model model;
            trainer trainer{model, strategy, transport, {.batch_size = how.batch_size, .seed = 7}};
            checkpointed& mine = left[static_cast<std::size_t>(transport.rank())];
            mine.resumed = trainer.try_resume("run", {.on_damage = nullptr}, files);
            struct observer {
                checkpointed& mine;
                std::int64_t ends_after;
                void on_step(const step_report& report) const {
                    if (report.step == ends_after) throw interrupted();
                }
                void on_checkpoint(const checkpoint_report& report) const {
                    mine.told.push_back(report);
                }
            } observes{mine, how.after_step};
            const checkpoints saving{"run", how.options, files};
            if (how.own.empty())
                mine.report = trainer.fit(numbered{how.examples}, how.length, saving, observes);
            else
                mine.report =
                    trainer.fit(local_data{own_examples({.own = how.own}, transport.rank())},
                                how.length, saving, observes);
            mine.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
            mine.remembered = snapshot(trainer.state());
            mine.buffers.assign(model.buffers().begin(), model.buffers().end());
        });
    } catch (const interrupted&) {}
    return left;
}

}  // namespace sotto::testing
