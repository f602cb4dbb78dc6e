#include "sotto/strategies/kept_versions.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace sotto;

namespace {

constexpr std::size_t floats = 64;

/// Parameters of a version: all of that value.
std::vector<float> of_version(std::uint64_t version) {
    return std::vector<float>(floats, static_cast<float>(version));
}

bool all_are(std::span<const float> values, float expected) {
    for (const float v : values)
        if (v != expected) return false;
    return values.size() == floats;
}

}  // namespace

TEST_CASE("what a worker has read stays as it was, while others read what came after") {
    kept_versions kept(2);
    auto present = of_version(1);
    kept.read(0, 1, present);
    present = of_version(2);
    kept.read(1, 2, present);
    CHECK(all_are(kept.of(0), 1.0f));
    CHECK(all_are(kept.of(1), 2.0f));
}

TEST_CASE("workers that have read one version share its copy") {
    kept_versions kept(100);
    const auto present = of_version(7);
    for (int worker = 0; worker < 100; ++worker) kept.read(worker, 7, present);
    CHECK(kept.memory() == floats * sizeof(float));
    for (int worker = 0; worker < 100; ++worker) CHECK(all_are(kept.of(worker), 7.0f));
}

TEST_CASE("copies are a ring: no more than versions from the oldest in use to the present one") {
    // 50 workers, of which 3 go on by turns: what they hold is 2 steps old at most.
    kept_versions kept(50);
    for (int worker = 0; worker < 50; ++worker) kept.read(worker, 0, of_version(0));
    for (int worker = 3; worker < 50; ++worker) kept.release(worker);
    for (std::uint64_t version = 1; version < 1000; ++version) {
        const int worker = static_cast<int>(version % 3);
        kept.read(worker, version, of_version(version));
        CHECK(all_are(kept.of(worker), static_cast<float>(version)));
    }
    CHECK(kept.memory() <= 3 * floats * sizeof(float));
}

TEST_CASE("parameters that are read anew one by one are a copy of its own, or a shared one") {
    kept_versions kept(3);
    auto present = of_version(1);
    for (int worker = 0; worker < 3; ++worker) kept.read(worker, 1, present);
    present[5] = 9.0f;
    const std::array<std::uint32_t, 1> moved{5};
    kept.renew(0, 2, present, moved);
    CHECK(kept.of(0)[5] == 9.0f);
    CHECK(kept.of(0)[6] == 1.0f);
    CHECK(all_are(kept.of(1), 1.0f));
    CHECK(kept.memory() == 2 * floats * sizeof(float));
    kept.renew(1, 2, present, moved);
    CHECK(kept.of(1).data() == kept.of(0).data());
    kept.renew(2, 2, present, moved);
    CHECK(kept.of(2).data() == kept.of(0).data());
    CHECK(kept.memory() == 2 * floats * sizeof(float));
    // One who is alone with a copy writes to it.
    kept.release(1);
    kept.release(2);
    present[6] = 8.0f;
    const float* const before = kept.of(0).data();
    kept.renew(0, 3, present, std::array<std::uint32_t, 1>{6});
    CHECK(kept.of(0).data() == before);
    CHECK(kept.of(0)[5] == 9.0f);
    CHECK(kept.of(0)[6] == 8.0f);
}

TEST_CASE("who begins with changes gets all of the parameters") {
    kept_versions kept(1);
    CHECK(kept.of(0).empty());
    kept.renew(0, 4, of_version(4), std::array<std::uint32_t, 1>{0});
    CHECK(all_are(kept.of(0), 4.0f));
}
