#pragma once

#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"

#include <chrono>
#include <future>
#include <map>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/files/join_path.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL std::string checkpoint_exchange::folder_of(int group) const {
    return detail::checkpoint::models_folder(folder, group);
}

/// What threads write and read; waited for when this ends.
struct checkpoint_exchange::state::background {
    // Where the system has no thread left training waits for the disk.
    static constexpr std::launch launch = std::launch::async | std::launch::deferred;

    detail::owned_by_process<std::future<std::string>> writing;
    detail::owned_by_process<
        std::map<int, std::future<std::optional<detail::checkpoint::published_model>>>>
        reading;  // groups'

    /// Or begins when it is asked for.
    static bool has_ended(const auto& work) {
        return work.wait_for(std::chrono::seconds(0)) != std::future_status::timeout;
    }
};

SOTTO_DECL checkpoint_exchange::state::state(const checkpoint_exchange& options,
                                             detail::model_groups groups)
    : options_(options), groups_(groups), background_(std::make_unique<background>()) {
    if (options.folder.empty())
        throw invalid_option("checkpoint_exchange: there is no folder to meet in");
    require_option("checkpoint_exchange", "keep", options.keep, detail::allowed::at_least(2),
                   ": readers may still be at the last one");
    options_.folder = detail::absolute_path(options.folder);
}

SOTTO_DECL checkpoint_exchange::state::state(state&&) noexcept = default;
SOTTO_DECL checkpoint_exchange::state::~state() = default;

SOTTO_DECL void checkpoint_exchange::state::open(std::int64_t step) {
    const auto refuse = [&](const std::string& what) {
        throw io_failure("checkpoint_exchange: group " + std::to_string(groups_.own) + " in '" +
                         options_.folder + "': " + what);
    };
    const auto place = detail::checkpoint::writer_folder(options_.folder, groups_.own);
    std::error_code why;
    options_.files.make_folder(place, why);
    if (why) refuse("cannot make '" + place + "': " + why.message());
    lock_.emplace(options_.files, place, why);
    if (why == std::errc::resource_unavailable_try_again)
        refuse("another process publishes its models; expected one writer a group");
    if (why) refuse("cannot lock '" + place + "': " + why.message());
    if (step > 0) return;
    const auto models = options_.folder_of(groups_.own);
    const auto left = detail::checkpoint::generations(options_.files, models, why);
    if (why) refuse("cannot list '" + models + "': " + why.message());
    for (const std::int64_t old : left) {
        const auto file = detail::join_path(models, detail::checkpoint::file_name(old));
        options_.files.remove(file, why);
        if (why) refuse("cannot remove '" + file + "': " + why.message());
    }
}

SOTTO_DECL void checkpoint_exchange::state::publish(
    const detail::checkpoint::architecture& kind, const detail::checkpoint::published_facts& facts,
    std::span<const float> parameters, std::span<const float> buffers, std::span<const int>) {
    if (!is_idle()) return ++skipped_, void();
    bytes_sent_ += static_cast<std::int64_t>(parameters.size_bytes() + buffers.size_bytes());
    const auto write = [files = options_.files, folder = options_.folder_of(groups_.own),
                        keep = options_.keep, kind, facts,
                        model = std::vector(parameters.begin(), parameters.end()),
                        kept = std::vector(buffers.begin(), buffers.end())]() mutable {
        return detail::checkpoint::publish_model(files, folder, kind, facts, model, kept, keep);
    };
    *background_->writing =
        std::async(options_.in_background ? background::launch : std::launch::deferred, write);
    is_idle();  // writes it now if no thread does
}

SOTTO_DECL bool checkpoint_exchange::state::ready(const detail::checkpoint::architecture& kind,
                                                  int group, std::int64_t after) {
    if (!options_.in_background) return true;
    auto& reading = (*background_->reading)[group];
    if (!reading.valid()) {
        // Not moved: where no thread is left, std::async uses it a second time.
        const auto read = [files = options_.files, folder = options_.folder_of(group), kind,
                           after]() mutable {
            return detail::checkpoint::read_published(files, folder, kind, after);
        };
        reading = std::async(background::launch, read);
    }
    return background::has_ended(reading);
}

SOTTO_DECL std::optional<detail::checkpoint::published_model> checkpoint_exchange::state::look(
    const detail::checkpoint::architecture& kind, int group, std::int64_t after) {
    if (auto& reading = (*background_->reading)[group]; reading.valid()) return reading.get();
    return detail::checkpoint::read_published(options_.files, options_.folder_of(group), kind,
                                              after);
}

SOTTO_DECL bool checkpoint_exchange::state::is_idle() {
    auto& writing = *background_->writing;
    if (!writing.valid()) return true;
    if (!background::has_ended(writing)) return false;
    problem_ = writing.get();
    return true;
}

}  // namespace sotto
