#include "sotto/checkpoint/detail/own_state.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/visit.hpp"
#include "support/memory_disk.hpp"

using namespace sotto;
using namespace sotto::detail::checkpoint;
using namespace sotto::testing;

namespace {

struct state {
    std::vector<float> weights{1.0f, 2.0f, 3.0f};
    std::int64_t steps = 7;
    double scale = 0.5;

    void visit(auto&& field) {
        field("weights", std::span<float>(weights));
        field("steps", steps);
        field("scale", scale, kept::apart);
    }
    friend bool operator==(const state&, const state&) = default;
};

struct other_state : state {
    std::int64_t more = 0;
    void visit(auto&& field) {
        state::visit(field);
        field("more", more);
    }
};

struct state_of_another_type : state {
    double as_double = 7.0;
    void visit(auto&& field) {
        field("weights", std::span<float>(weights));
        field("steps", as_double);
        field("scale", scale, kept::apart);
    }
};

constexpr const char* configuration = "optimizer sgd\nservers 2\n";

own_state on(const std::shared_ptr<memory_disk>& disk, const std::string& text = configuration) {
    return {"folder", "server 1", text, 2, memory_files(disk)};
}

std::string text_of(auto&& call) {
    try {
        call();
    } catch (const error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEST_CASE("what a process holds comes back bit for bit, and from the newest file") {
    const auto disk = std::make_shared<memory_disk>();
    state first;
    CHECK_FALSE(on(disk).restore(first));
    CHECK(first == state{});
    CHECK(on(disk).save(first, 10));
    first.weights[1] = -0.0f;
    first.steps = 8;
    first.scale = 0.25;
    CHECK(on(disk).save(first, 20));
    state again;
    CHECK(on(disk).restore(again) == 20);
    CHECK(again == first);
}

TEST_CASE("two files are kept, and one that is damaged gives way to the one before") {
    const auto disk = std::make_shared<memory_disk>();
    auto files = on(disk);
    state s;
    for (const std::int64_t step : {1, 2, 3}) {
        s.steps = step;
        REQUIRE(files.save(s, step));
    }
    REQUIRE(disk->names.size() == 2);
    auto& newest = disk->names.at(file_name(3))->now;
    newest[newest.size() / 2] ^= std::byte{1};
    state again;
    CHECK(on(disk).restore(again) == 2);
    CHECK(again.steps == 2);
    auto& older = disk->names.at(file_name(2))->now;
    older.pop_back();
    CHECK(text_of([&] { on(disk).restore(again); })
              .starts_with("server 1: no checkpoint in 'folder' is whole; 'folder/" + file_name(3) +
                           "' is damaged: "));
    CHECK(again.steps == 2);
}

TEST_CASE("a file of another configuration or state is refused, and nothing changes") {
    const auto disk = std::make_shared<memory_disk>();
    state s;
    s.steps = 9;
    REQUIRE(on(disk).save(s, 5));
    state again;
    CHECK(text_of([&] { on(disk, "optimizer sgd\nservers 3\n").restore(again); }) ==
          "server 1: 'folder/checkpoint-000000000005.safetensors' has configuration 'servers 2'; "
          "expected 'servers 3'");
    state longer;
    longer.weights.resize(4);
    CHECK(
        text_of([&] { on(disk).restore(longer); }) ==
        "server 1: 'folder/checkpoint-000000000005.safetensors' has 'weights' of 12 bytes of F32; "
        "expected 'weights' of 16 bytes");
    CHECK(longer.steps == 7);
    other_state other;
    CHECK(
        text_of([&] { on(disk).restore(other); }) ==
        "server 1: 'folder/checkpoint-000000000005.safetensors' has no 'more'; expected 'more' of "
        "8 bytes");
    CHECK(other.steps == 7);
}

TEST_CASE("own_state: a value of another type, as long -> refused, nothing changes") {
    const auto disk = std::make_shared<memory_disk>();
    state s;
    s.weights[0] = 9.0f;
    REQUIRE(on(disk).save(s, 5));
    state_of_another_type other;
    CHECK(text_of([&] { on(disk).restore(other); }) ==
          "server 1: 'folder/checkpoint-000000000005.safetensors' has 'steps' of 8 bytes of I64; "
          "expected 'steps' of 8 bytes");
    CHECK(other.as_double == 7.0);
    CHECK(other.weights[0] == 1.0f);
}

TEST_CASE("whichever call of the disk fails, an older file stays whole, and the next is written") {
    for (std::int64_t fails_at = 0;; ++fails_at) {
        CAPTURE(fails_at);
        const auto disk = std::make_shared<memory_disk>();
        auto files = on(disk);
        state s;
        REQUIRE(files.save(s, 1));
        disk->fails_at = disk->calls + fails_at;
        s.steps = 8;
        const bool done = files.save(s, 2);
        if (!done) CHECK(files.problem().starts_with("server 1: cannot "));
        const bool reached = disk->calls > disk->fails_at;
        disk->fails_at = memory_disk::never;
        state again;
        const auto step = on(disk).restore(again);
        CHECK((step == 1 || step == 2));
        CHECK(again.steps == (step == 2 ? 8 : 7));
        if (done) CHECK(step == 2);
        CHECK(files.save(s, 3));
        if (!reached) break;
    }
}
