#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/strategies/codistillation/exchanges/teacher_exchange.hpp"
#include "sotto/transports/in_process.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/failing_calls.hpp"
#include "support/folders.hpp"
#include "support/memory_disk.hpp"

using namespace sotto;
using testing::memory_files;
using testing::scratch_folder;

static_assert(detail::teacher_exchange<checkpoint_exchange>);

namespace {

using steps_left = std::vector<std::int64_t>;

const layout tensors = layout().add("weights", {3});
const detail::checkpoint::architecture kind{tensors, layout().add("mean", {1}), "a test's"};

/// Calls use(bind), where bind(options, group) is the state of that one of two groups.
template <class Use>
void in_a_world(Use use) {
    run_in_process(1, [&](in_process& world) {
        use([&](const auto& options, int group = 0) {
            return options.bind(
                detail::meeting_place{{group, 2}, {1 - group}, {1 - group}, tensors, world, {}});
        });
    });
}

void publish(auto& state, std::int64_t step) {
    const std::vector<float> weights(3, static_cast<float>(step)), mean{0.5f};
    state.publish(kind, {.step = step, .architecture = kind.identity()}, weights, mean, {});
}

steps_left left_in(const std::filesystem::path& folder, int group = 0) {
    detail::checkpoint::posix_files files;
    std::error_code why;
    return detail::checkpoint::generations(files, detail::checkpoint::models_folder(folder, group),
                                           why);
}

/// The system's files, of which none is made or opened before the gate is open.
class gated_files : public detail::checkpoint::posix_files {
public:
    void open_gate() const {
        const std::lock_guard held(gate_->mutex);
        gate_->is_open = true;
        gate_->opened.notify_all();
    }

    int create(const std::filesystem::path& path, std::error_code& why) {
        wait();
        return posix_files::create(path, why);
    }
    int open(const std::filesystem::path& path, std::error_code& why) {
        wait();
        return posix_files::open(path, why);
    }

private:
    void wait() const {
        std::unique_lock held(gate_->mutex);
        gate_->opened.wait(held, [&] { return gate_->is_open; });
    }

    struct gate {
        std::mutex mutex;
        std::condition_variable opened;
        bool is_open = false;
    };
    std::shared_ptr<gate> gate_ = std::make_shared<gate>();
};

}  // namespace

TEST_CASE("options that cannot be are refused by name") {
    in_a_world([](auto bind) {
        CHECK_THROWS_WITH_AS(bind(checkpoint_exchange{}),
                             "checkpoint_exchange: there is no folder to meet in", invalid_option);
        CHECK_THROWS_WITH_AS(bind(checkpoint_exchange{.folder = "there", .keep = 1}),
                             "checkpoint_exchange: keep is 1; it must be at least 2: readers may "
                             "still be at the last one",
                             invalid_option);
    });
}

TEST_CASE("checkpoint_exchange: no thread left -> it writes and reads all the same") {
    if (!support::failing_calls::works) return;
    const scratch_folder folder("exchange_without_threads");
    in_a_world([&](auto bind) {
        auto state = bind(checkpoint_exchange{.folder = folder.path()});
        {
            const support::failing_calls none(0);
            publish(state, 50);
        }
        CHECK(state.problem() == "");
        CHECK(left_in(folder.path()) == steps_left{50});
        auto other = bind(checkpoint_exchange{.folder = folder.path()}, 1);
        const support::failing_calls none(0);
        CHECK(other.ready(kind, 0, -1));
        CHECK(other.look(kind, 0, -1));
    });
}

TEST_CASE("what is published in the background is there when the exchange has ended") {
    const scratch_folder folder("exchange_background");
    in_a_world([&](auto bind) {
        auto state = bind(checkpoint_exchange{.folder = folder.path()});
        publish(state, 50);
    });
    CHECK(left_in(folder.path()) == steps_left{50});
    in_a_world([&](auto bind) {
        auto other = bind(checkpoint_exchange{.folder = folder.path(), .in_background = false}, 1);
        const auto found = other.look(kind, 0, -1);
        REQUIRE(found);
        CHECK(found->facts.step == 50);
        CHECK(found->parameters == std::vector<float>(3, 50.0f));
        CHECK(found->buffers == std::vector<float>{0.5f});
        CHECK_FALSE(other.look(kind, 0, 50));
    });
}

TEST_CASE("of models that come while one is written nothing is, and they are counted") {
    const scratch_folder folder("exchange_skipped");
    in_a_world([&](auto bind) {
        const gated_files files;
        auto state = bind(checkpoint_exchange{.folder = folder.path(), .files = files});
        publish(state, 50);
        CHECK(state.skipped() == 0);
        publish(state, 100);
        publish(state, 150);
        CHECK(state.skipped() == 2);
        CHECK(state.problem() == "");
        files.open_gate();
    });
    CHECK(left_in(folder.path()) == steps_left{50});
}

TEST_CASE("what others published is read in the background: nobody waits for it") {
    const scratch_folder folder("exchange_read");
    detail::checkpoint::posix_files files;
    const auto write = [&](std::int64_t step, const detail::checkpoint::architecture& of) {
        const std::vector<float> weights(3, static_cast<float>(step)), mean{0.5f};
        REQUIRE(detail::checkpoint::publish_model(
                    files, detail::checkpoint::models_folder(folder.path(), 1), of,
                    {.step = step, .architecture = of.identity()}, weights, mean) == "");
    };
    write(50, kind);
    const gated_files gate;
    in_a_world([&](auto bind) {
        auto state = bind(checkpoint_exchange{.folder = folder.path(), .files = gate});
        const auto read = [&](std::int64_t after) {
            while (!state.ready(kind, 1, after)) std::this_thread::yield();
            return state.look(kind, 1, after);
        };
        for (int round = 0; round < 3; ++round) CHECK_FALSE(state.ready(kind, 1, -1));
        gate.open_gate();
        const auto found = read(-1);
        REQUIRE(found);
        CHECK(found->facts.step == 50);
        CHECK(found->parameters == std::vector<float>(3, 50.0f));
        CHECK_FALSE(read(50));
        write(100, kind);
        CHECK(read(50)->facts.step == 100);
        detail::checkpoint::architecture other = kind;
        other.description = "another's";
        write(150, other);
        CHECK_THROWS_AS(read(100), mismatch);
        write(200, kind);
        CHECK(read(100)->facts.step == 200);
        auto in_front = bind(checkpoint_exchange{.folder = folder.path(), .in_background = false});
        CHECK(in_front.ready(kind, 1, -1));  // a look reads it
        CHECK(in_front.look(kind, 1, -1)->facts.step == 200);
    });
}

TEST_CASE("why a model was not published is told until one is") {
    in_a_world([](auto bind) {
        memory_files files;
        auto state =
            bind(checkpoint_exchange{.folder = "/meet", .in_background = false, .files = files});
        state.open(0);
        publish(state, 50);
        CHECK(state.problem() == "");
        files.disk().failure = ENOSPC;
        files.disk().fails_at = files.disk().calls + 2;
        publish(state, 100);
        CHECK(state.problem() ==
              "cannot write '/meet/group-0/models/checkpoint-000000000100.safetensors.unfinished': "
              "No space left on device");
        publish(state, 150);
        CHECK(state.problem() == "");
        CHECK(state.skipped() == 0);
        std::error_code why;
        CHECK(detail::checkpoint::generations(files, "/meet", why) == steps_left{150, 50});
    });
}

TEST_CASE("a training that begins removes what an earlier one left of its group, and no more") {
    const scratch_folder folder("exchange_anew");
    const checkpoint_exchange options{.folder = folder.path(), .in_background = false};
    in_a_world([&](auto bind) {
        for (const int group : {0, 1}) {
            auto state = bind(options, group);
            for (const std::int64_t step : {1400, 1450}) publish(state, step);
        }
        bind(options).open(50);
        CHECK(left_in(folder.path()) == steps_left{1450, 1400});
        bind(options).open(0);
        CHECK(left_in(folder.path()).empty());
        CHECK(left_in(folder.path(), 1) == steps_left{1450, 1400});
    });
}

TEST_CASE("a group has one writer, for as long as that is there") {
    memory_files files;
    const checkpoint_exchange options{.folder = "/meet", .files = files};
    in_a_world([&](auto bind) {
        {
            auto first = bind(options), other = bind(options, 1), second = bind(options);
            first.open(0);
            other.open(0);
            CHECK_THROWS_WITH_AS(second.open(50),
                                 "checkpoint_exchange: group 0 in '/meet': another process "
                                 "publishes its models; expected one writer a group",
                                 io_failure);
            auto moved = std::move(first);
            CHECK_THROWS_AS(second.open(50), io_failure);
            CHECK_FALSE(second.look(kind, 1, -1));  // who reads needs no place
        }
        auto second = bind(options);
        second.open(50);
    });
    CHECK(files.disk().locked.empty());
}

TEST_CASE("a folder that cannot be used is refused before training") {
    const auto why = [](auto prepare) -> std::string {
        memory_files files;
        std::string said;
        in_a_world([&](auto bind) {
            auto state = bind(
                checkpoint_exchange{.folder = "/meet", .in_background = false, .files = files});
            publish(state, 50);
            prepare(files.disk());
            try {
                state.open(0);
            } catch (const io_failure& e) {
                said = e.what();
            }
        });
        return said;
    };
    CHECK(why([](auto& disk) { disk.fails_at = disk.calls; }) ==
          "checkpoint_exchange: group 0 in '/meet': cannot make '/meet/group-0/writer': "
          "Input/output error");
    CHECK(why([](auto& disk) { disk.look_fails_at = disk.looks; }) ==
          "checkpoint_exchange: group 0 in '/meet': cannot list '/meet/group-0/models': "
          "Input/output error");
    CHECK(why([](auto& disk) { disk.fails_at = disk.calls + 1; }) ==
          "checkpoint_exchange: group 0 in '/meet': cannot remove "
          "'/meet/group-0/models/checkpoint-000000000050.safetensors': Input/output error");
    CHECK(why([](auto&) {}) == "");
}
