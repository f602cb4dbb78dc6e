// Models that are published and read by several processes at once, while the one that publishes is
// killed, by kill -9, over and over.
//   SOTTO_RACES   how many models are published; by default 500

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/effort.hpp"
#include "support/folders.hpp"
#include "support/processes.hpp"

using namespace sotto;
using sotto::detail::checkpoint::published_model;

namespace {

constexpr std::int64_t end_step = std::int64_t{1} << 40;  // of the model after which nobody reads

std::int64_t races_asked_for() {
    const char* text = std::getenv("SOTTO_RACES");
    return text ? std::max<std::int64_t>(std::atoll(text), 1) : testing::tries(500, 100);
}

detail::checkpoint::architecture kind() {
    return {layout().add("weights", {300, 7}).add("bias", {7}), layout().add("mean", {50}),
            "that of the races"};
}

/// All that is published follows from the step.
float value_of(std::int64_t step, std::size_t place) {
    return static_cast<float>(step % 4099) + 0.125f * static_cast<float>(place % 7);
}

void publish(const std::filesystem::path& folder, std::int64_t step) {
    const auto of = kind();
    std::vector<float> parameters(static_cast<std::size_t>(of.parameters.size()));
    std::vector<float> buffers(static_cast<std::size_t>(of.buffers.size()));
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = value_of(step, i);
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i] = -value_of(step, i);
    detail::checkpoint::posix_files files;
    const std::string problem =
        detail::checkpoint::publish_model(files, folder, of,
                                          {.step = step,
                                           .label_loss = 0.5 * static_cast<double>(step),
                                           .group = "races",
                                           .architecture = of.identity(),
                                           .judged = {{1, 0.25 * static_cast<double>(step)}}},
                                          parameters, buffers);
    if (!problem.empty()) throw io_failure(problem);
}

/// Whether it is whole, and of one step alone.
bool is_one(const detail::checkpoint::published_model& found) {
    const std::int64_t step = found.facts.step;
    bool same = found.facts.label_loss == 0.5 * static_cast<double>(step) &&
                found.facts.judged.size() == 1 &&
                found.facts.judged[0].label_loss == 0.25 * static_cast<double>(step);
    for (std::size_t i = 0; i < found.parameters.size(); ++i)
        same = same && found.parameters[i] == value_of(step, i);
    for (std::size_t i = 0; i < found.buffers.size(); ++i)
        same = same && found.buffers[i] == -value_of(step, i);
    return same;
}

/// What a reader tells in the end.
struct verdict_of_reader {
    std::int64_t models = 0, mixed = 0, refused = 0;
};

verdict_of_reader read_to_the_end(const std::filesystem::path& folder) {
    verdict_of_reader all;
    detail::checkpoint::posix_files files;
    const auto of = kind();
    std::int64_t after = -1;
    while (after != end_step) {
        try {
            const auto found = detail::checkpoint::read_published(files, folder, of, after);
            if (!found) continue;
            ++all.models;
            all.mixed += !is_one(*found);
            after = found->facts.step;
        } catch (const error&) {
            if (++all.refused > 1000) break;
        }
    }
    return all;
}

/// Calls then() as the writer of a group.
template <class Then>
void as_writer(const std::filesystem::path& folder, Then then) {
    const layout tensors;
    run_in_process(1, [&](in_process& world) {
        auto exchange = checkpoint_exchange{.folder = folder}.bind(
            detail::meeting_place{{1, 2}, {0}, {0}, tensors, world, {}});
        exchange.open(50);
        then();
    });
}

}  // namespace

TEST_CASE("a writer that is killed leaves its group to the next, and none does while it lives") {
    const testing::scratch_folder folder("published_writer");
    testing::processes writer;
    writer.start([&](auto&& say) {
        as_writer(folder.path(), [&] {
            say(1);
            ::pause();
        });
    });
    int said = 0;
    REQUIRE(writer.hear(0, said));
    CHECK_THROWS_AS(as_writer(folder.path(), [] {}), io_failure);
    writer.signal(0, SIGKILL);
    CHECK(WIFSIGNALED(writer.wait(0)));
    bool is_next = false;
    as_writer(folder.path(), [&] { is_next = true; });
    CHECK(is_next);
}

TEST_CASE("no reader ever has a model that is torn or mixed, however often its writer is killed") {
    const testing::scratch_folder scratch("published_races");
    const auto folder = scratch.path() / "group-0";
    testing::processes readers;
    constexpr std::size_t count = 2;
    for (std::size_t i = 0; i < count; ++i)
        readers.start([&](auto&& say) { say(read_to_the_end(folder)); });

    random_stream random(8);
    const std::int64_t races = races_asked_for();
    std::int64_t published = 0, kills = 0, next = 1;
    while (published < races) {
        testing::processes writer;
        writer.start([&](auto&& say) {
            for (std::int64_t step = next; true; ++step) {
                publish(folder, step);
                say(step);
            }
        });
        // It goes on writing while this one hears of some of what it wrote.
        std::int64_t step = 0;
        for (auto left = 1 + random.below(20); left > 0 && writer.hear(0, step); --left)
            ++published;
        REQUIRE(step > 0);
        // And is killed wherever it is by then.
        for (auto spin = random.below(200'000); spin > 0; --spin) asm volatile("" : : : "memory");
        writer.signal(0, SIGKILL);
        CHECK(WIFSIGNALED(writer.wait(0)));
        while (writer.hear(0, step)) ++published;
        ++kills;
        // Every fourth begins anew, as a training that was started again does.
        next = random.below(4) == 0 ? 1 : step + 1;
    }
    publish(folder, end_step);

    std::int64_t models = 0;
    for (std::size_t i = 0; i < count; ++i) {
        verdict_of_reader found;
        REQUIRE(readers.hear(i, found));
        CHECK(found.mixed == 0);
        CHECK(found.refused == 0);
        CHECK(found.models > 0);
        models += found.models;
    }
    MESSAGE(published << " models published by " << kills << " writers that were killed, " << models
                      << " read whole");
}
