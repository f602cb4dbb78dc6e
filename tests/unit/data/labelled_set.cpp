#include "sotto/data/labelled_set.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/data/dataset.hpp"
#include "support/allocation_count.hpp"

using sotto::data::labelled_batch;
using sotto::data::labelled_set;
using indices = std::vector<std::int64_t>;
using labels = std::vector<std::int32_t>;
using floats = std::vector<float>;

static_assert(sotto::dataset<labelled_set>);

namespace {

floats inputs_of(const labelled_batch& batch) {
    return {batch.inputs().begin(), batch.inputs().end()};
}
labels labels_of(const labelled_batch& batch) {
    return {batch.labels().begin(), batch.labels().end()};
}

labelled_set numbers() {
    return {{1, 1, 2}, floats{0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 2.5f, 3.0f, 3.5f}, labels{0, 1, 2, 1}};
}

}  // namespace

TEST_CASE("gather copies the examples that are asked for, in that order, repeats included") {
    const labelled_set set = numbers();
    CHECK(set.size() == 4);
    CHECK(set.classes() == 3);
    labelled_batch batch;
    set.gather(indices{3, 0, 3}, batch);
    CHECK(batch.size() == 3);
    CHECK(batch.width() == 2);
    CHECK(inputs_of(batch) == floats{3.0f, 3.5f, 0.0f, 0.5f, 3.0f, 3.5f});
    CHECK(labels_of(batch) == labels{1, 0, 1});
    set.gather({}, batch);
    CHECK(batch.size() == 0);
    CHECK(batch.inputs().empty());
    CHECK(batch.labels().empty());
}

TEST_CASE("bytes become floats by their scale, when they are read") {
    const std::vector<std::uint8_t> bytes{0, 255, 51, 1};
    labelled_batch batch;
    labelled_set({2, 1, 1}, bytes, labels{0, 1}).gather(indices{0, 1}, batch);
    CHECK(batch.inputs()[0] == 0.0f);
    CHECK(batch.inputs()[1] == 1.0f);
    CHECK(batch.inputs()[2] == doctest::Approx(0.2));
    const labelled_set centred({2, 1, 1}, bytes, labels{0, 1},
                               {.mean = 127.5f, .scale = 1.0f / 127.5f});
    centred.gather(indices{0}, batch);
    CHECK(inputs_of(batch) == floats{-1.0f, 1.0f});
    CHECK(centred.bytes(1)[0] == 51);
    CHECK(numbers().bytes(1).empty());
}

TEST_CASE("the bytes of each channel may have a scale of their own") {
    const std::vector<std::uint8_t> bytes{0, 10, 20, 30, 255, 250, 245, 240};
    const std::array<sotto::detail::data::byte_scale, 2> scales{
        {{.mean = 10.0f, .scale = 0.5f}, {.mean = 0.0f, .scale = 2.0f}}};
    labelled_batch batch;
    labelled_set({2, 1, 2}, bytes, labels{0, 1}, scales).gather(indices{1, 0}, batch);
    CHECK(inputs_of(batch) == floats{122.5f, 120.0f, 490.0f, 480.0f, -5.0f, 0.0f, 40.0f, 60.0f});
    labelled_set({2, 1, 2}, bytes, labels{0, 1}, std::span(scales).first(1))
        .gather(indices{0}, batch);
    CHECK(inputs_of(batch) == floats{-5.0f, 0.0f, 5.0f, 10.0f});
    for (const std::size_t count : {0u, 2u})
        CHECK_THROWS_WITH_AS(
            labelled_set({4, 1, 1}, bytes, labels{0, 1}, std::span(scales).first(count)),
            ("labelled_set: " + std::to_string(count) +
             " byte scales for 4 channels; expected 1, or 1 for each channel")
                .c_str(),
            sotto::invalid_option);
}

TEST_CASE("take and subset show a part without copying it, and may be nested") {
    const labelled_set set = numbers();
    labelled_batch batch;
    const labelled_set middle = set.take(1, 2);
    CHECK(middle.size() == 2);
    CHECK(middle.classes() == 3);
    middle.gather(indices{1}, batch);
    CHECK(inputs_of(batch) == floats{2.0f, 2.5f});

    const labelled_set picked = set.subset(indices{3, 3, 0, 2}).take(1, 3).subset(indices{2, 0});
    picked.gather(indices{0, 1}, batch);
    CHECK(labels_of(batch) == labels{2, 1});
    CHECK(picked.label(0) == 2);
    CHECK(set.take(4, 0).size() == 0);
    CHECK(set.subset({}).size() == 0);
}

TEST_CASE("a part outlives the set it was taken from") {
    labelled_set part;
    CHECK(part.size() == 0);
    part = numbers().take(2, 2);
    labelled_batch batch;
    part.gather(indices{0}, batch);
    CHECK(inputs_of(batch) == floats{2.0f, 2.5f});
}

TEST_CASE("gather takes no memory once the largest batch was seen") {
    const labelled_set set = numbers();
    labelled_batch batch;
    const indices many{0, 1, 2, 3, 0}, few{2};
    set.gather(many, batch);
    const support::allocation_count allocations;
    set.gather(few, batch);
    set.gather(many, batch);
    CHECK(allocations.on_this_thread() == 0);
    CHECK(batch.size() == 5);
}

TEST_CASE("a labelled set refuses what does not fit") {
    const labelled_set set = numbers();
    labelled_batch batch;
    CHECK_THROWS_WITH_AS(set.gather(indices{0, 4}, batch),
                         "labelled_set: asked for example 4; expected 0 to 4 exclusive",
                         sotto::invalid_option);
    CHECK_THROWS_AS(set.gather(indices{-1}, batch), sotto::invalid_option);
    CHECK_THROWS_AS(set.take(3, 2), sotto::invalid_option);
    CHECK_THROWS_AS(set.take(5, 0), sotto::invalid_option);
    CHECK_THROWS_AS(set.take(-1, 1), sotto::invalid_option);
    CHECK_THROWS_AS(set.take(1, -1), sotto::invalid_option);
    CHECK_THROWS_AS(set.take(1, INT64_MAX), sotto::invalid_option);
    CHECK_THROWS_AS(set.subset(indices{4}), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(labelled_set({1, 1, 2}, floats(5), labels{0, 1}),
                         "labelled_set: 5 values for 2 labels; expected 1 x 1 x 2 for each",
                         sotto::invalid_option);
    CHECK_THROWS_AS(labelled_set({1, 1, 2}, floats(4), labels{0, 1, 2}), sotto::invalid_option);
    CHECK_THROWS_AS(labelled_set({1, 0, 2}, floats{}, labels{}), sotto::invalid_option);
    CHECK_THROWS_AS(labelled_set({INT32_MAX, INT32_MAX, INT32_MAX}, floats{}, labels{}),
                    sotto::invalid_option);
    CHECK_THROWS_AS(labelled_set({1, 1, 1}, floats(1), labels{-1}), sotto::invalid_option);
}
