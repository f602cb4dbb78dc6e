#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/file_system.hpp"
#include "sotto/checkpoint/group_folders.hpp"
#include "sotto/checkpoint/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/meeting_place.hpp"
#include "sotto/strategies/model_groups.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Groups meet in a folder that all of them see: each publishes its model there, and reads the
/// newest whole one of the others. Nobody waits for anybody, so that groups may be jobs of their
/// own and come and go.
///   wire    FOLDER/group-G/checkpoint-STEP.safetensors, as checkpoint::publish_model. One rank of
///           each group writes; the newest `keep` are kept
///   cost    writing is in the background: of a model that is to be published while the one before
///           is still being written, nothing comes. Memory for one model more
///   source  Anil et al. 2018, arXiv:1804.03235
template <checkpoint::file_system Files = checkpoint::posix_files>
struct checkpoint_exchange {
    std::filesystem::path folder{};
    std::int64_t keep = 2;
    bool in_background = true;  // else publishing waits for the disk
    Files files{};

    static constexpr bool by_each_rank = true;

    /// The folder of one group's models.
    std::filesystem::path folder_of(int group) const {
        return checkpoint::group_folder(folder, group);
    }

    template <transport Transport>
    auto bind(const meeting_place<Transport>& place) const {
        return state(*this, place.groups);
    }

    void describe(auto&& field) const {
        field("folder", folder.string());
        field("keep", keep);
    }

private:
    class state {
    public:
        state(const checkpoint_exchange& options, model_groups groups)
            : options_(options), groups_(groups) {
            if (options.folder.empty())
                throw invalid_option("checkpoint_exchange: there is no folder to meet in");
            if (options.keep < 2)
                throw invalid_option("checkpoint_exchange: keep is " +
                                     std::to_string(options.keep) +
                                     "; expected at least 2: readers may still be at the last one");
        }

        void publish(const checkpoint::architecture& kind, const checkpoint::published_facts& facts,
                     std::span<const float> parameters, std::span<const float> buffers,
                     std::span<const int>) {
            if (!is_idle()) return ++skipped_, void();
            bytes_sent_ +=
                static_cast<std::int64_t>(parameters.size_bytes() + buffers.size_bytes());
            const auto write = [files = options_.files, folder = options_.folder_of(groups_.own),
                                keep = options_.keep, kind, facts,
                                model = std::vector(parameters.begin(), parameters.end()),
                                kept = std::vector(buffers.begin(), buffers.end())]() mutable {
                return checkpoint::publish_model(files, folder, kind, facts, model, kept, keep);
            };
            under_way_ = std::async(
                options_.in_background ? std::launch::async : std::launch::deferred, write);
            if (!options_.in_background) is_idle();
        }

        std::optional<checkpoint::published_model> look(const checkpoint::architecture& kind,
                                                        int group, std::int64_t after) {
            return checkpoint::read_published(options_.files, options_.folder_of(group), kind,
                                              after);
        }

        /// Why the last model could not be published; empty: it was.
        const std::string& problem() const noexcept { return problem_; }
        std::int64_t skipped() const noexcept { return skipped_; }
        /// Of weights, handed over to be written.
        std::int64_t bytes_sent() const noexcept { return bytes_sent_; }

    private:
        bool is_idle() {
            if (!under_way_.valid()) return true;
            if (under_way_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout)
                return false;
            problem_ = under_way_.get();
            return true;
        }

        checkpoint_exchange options_;
        model_groups groups_;
        std::future<std::string> under_way_;  // waited for when this ends
        std::string problem_;
        std::int64_t skipped_ = 0, bytes_sent_ = 0;
    };
};

}  // namespace sotto
