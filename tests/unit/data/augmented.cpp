#include "sotto/data/augmented.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <type_traits>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/allocation_count.hpp"

using sotto::random_stream;
using sotto::data::augmented;
using example_shape = sotto::data::labelled_set::example_shape;
using sotto::data::labelled_batch;
using sotto::data::labelled_set;
using floats = std::vector<float>;
using indices = std::vector<std::int64_t>;

static_assert(sotto::detail::varying_dataset<augmented<labelled_set>>);
static_assert(sotto::dataset<labelled_set> && !sotto::detail::varying_dataset<labelled_set>);

// Deduction takes the inner braces for a copy: an augmented set is not augmented twice.
static_assert(std::is_same_v<decltype(augmented{augmented{labelled_set{}, {.padding = 0}}}),
                             augmented<labelled_set>>);

namespace {

constexpr example_shape shape{2, 3, 4};

/// Every value of every example is another one.
labelled_set images(std::int64_t count) {
    floats values(static_cast<std::size_t>(count * shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0f + static_cast<float>(i);
    return {shape, std::move(values), std::vector<std::int32_t>(static_cast<std::size_t>(count))};
}

floats inputs_of(const labelled_batch& batch) {
    return {batch.inputs().begin(), batch.inputs().end()};
}

floats look(const auto& set, std::int64_t index, const random_stream& draws) {
    labelled_batch batch;
    set.gather(indices{index}, batch, draws);
    return inputs_of(batch);
}

/// What the docblock says, value by value.
floats by_definition(const floats& image, std::int64_t down, std::int64_t right, bool mirror,
                     float fill) {
    floats moved(image.size(), fill);
    const auto at = [](std::int64_t c, std::int64_t r, std::int64_t k) {
        return static_cast<std::size_t>((c * shape.height + r) * shape.width + k);
    };
    for (std::int64_t c = 0; c < shape.channels; ++c)
        for (std::int64_t r = 0; r < shape.height; ++r)
            for (std::int64_t k = 0; k < shape.width; ++k) {
                const std::int64_t from_row = r + down, from_column = k + right;
                if (from_row < 0 || from_row >= shape.height || from_column < 0 ||
                    from_column >= shape.width)
                    continue;
                moved[at(c, r, mirror ? shape.width - 1 - k : k)] =
                    image[at(c, from_row, from_column)];
            }
    return moved;
}

}  // namespace

TEST_CASE("images are moved and mirrored in every possible way, each equally often") {
    const augmented set{images(3), {.padding = 2, .fill = -7.0f}};
    labelled_batch batch;
    set.gather(indices{1}, batch);
    const floats image = inputs_of(batch);
    std::map<floats, int> times;
    for (std::int64_t down = -2; down <= 2; ++down)
        for (std::int64_t right = -2; right <= 2; ++right)
            for (const bool mirror : {false, true})
                times[by_definition(image, down, right, mirror, -7.0f)] = 0;
    REQUIRE(times.size() == 50);
    const int draws = 50000;
    for (int i = 0; i < draws; ++i) {
        const auto found =
            times.find(look(set, 1, random_stream{5}.split(static_cast<std::uint64_t>(i))));
        REQUIRE(found != times.end());
        ++found->second;
    }
    for (const auto& [values, count] : times)
        CHECK(std::abs(count - draws / 50) < 5 * 32);  // five standard deviations
}

TEST_CASE("an evaluation reads the images as they are") {
    const labelled_set plain = images(4);
    const augmented set{plain, {.padding = 1}};
    CHECK(set.size() == 4);
    CHECK(set.shape() == shape);
    CHECK(set.classes() == plain.classes());
    labelled_batch expected, found;
    plain.gather(indices{2, 0}, expected);
    set.gather(indices{2, 0}, found);
    CHECK(inputs_of(found) == inputs_of(expected));
}

TEST_CASE("without padding and mirroring training reads the images as they are, too") {
    const labelled_set plain = images(4);
    labelled_batch expected;
    plain.gather(indices{3}, expected);
    const augmented set{plain, {.padding = 0, .flip = false}};
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        CHECK(look(set, 3, random_stream{seed}) == inputs_of(expected));
}

TEST_CASE("an image's look follows from stream and index alone, not from its batch") {
    const augmented set{images(200), {.padding = 2}};
    const random_stream epoch = random_stream{1}.split(4);
    indices all(200);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(7 * i % 200);
    labelled_batch batch;
    set.gather(all, batch, epoch);
    const auto width = static_cast<std::size_t>(shape.size());
    int alike_next_epoch = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto whole = batch.inputs().subspan(i * width, width);
        const floats alone = look(set, all[i], epoch);
        CHECK(std::equal(whole.begin(), whole.end(), alone.begin(), alone.end()));
        alike_next_epoch += alone == look(set, all[i], random_stream{1}.split(5));
    }
    CHECK(alike_next_epoch < 20);  // 4 in 200, as there are 50 looks
}

TEST_CASE("images that are alike vary apart: each by its own index") {
    const augmented set{labelled_set({1, 3, 4}, floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {0})
                            .subset(indices(100, 0)),
                        {.padding = 2}};
    const floats first = look(set, 0, random_stream{8});
    int alike = 0;
    for (std::int64_t i = 1; i < 100; ++i) alike += look(set, i, random_stream{8}) == first;
    CHECK(alike < 15);
}

TEST_CASE("the first looks are pinned: runs can be repeated by later versions") {
    const labelled_set plain({1, 3, 4}, floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {0});
    const augmented set{plain.subset(indices{0, 0}), {.padding = 2}};
    CHECK(look(set, 0, random_stream{2026}) == floats{3, 4, 0, 0, 7, 8, 0, 0, 11, 12, 0, 0});
    CHECK(look(set, 1, random_stream{2026}) == floats{0, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5});
}

TEST_CASE("a set that varies itself is varied on top of that") {
    struct shifting {
        using batch_type = labelled_batch;
        labelled_set inner = images(3);

        std::int64_t size() const { return inner.size(); }
        example_shape shape() const { return inner.shape(); }
        void gather(std::span<const std::int64_t> of, labelled_batch& batch) const {
            inner.gather(of, batch);
        }
        void gather(std::span<const std::int64_t> of, labelled_batch& batch,
                    random_stream draws) const {
            gather(of, batch);
            for (float& value : batch.inputs()) value += draws.uniform(1000.0f, 2000.0f);
        }
    };
    for (const float value : look(augmented{shifting{}, {.padding = 0}}, 0, random_stream{3}))
        CHECK(value > 1000.0f);
}

TEST_CASE("varying takes no memory once the largest batch was seen") {
    const augmented set{images(8), {.padding = 2}};
    labelled_batch batch;
    const indices many{0, 1, 2, 3, 4, 5, 6, 7}, few{2};
    set.gather(many, batch, random_stream{0});
    const support::allocation_count allocations;
    set.gather(few, batch, random_stream{1});
    set.gather(many, batch, random_stream{2});
    CHECK(allocations.on_this_thread() == 0);
}

TEST_CASE("a padding must leave a part of the image to be seen") {
    CHECK_THROWS_WITH_AS(
        (augmented{images(1), {.padding = 3}}),
        "augmented: padding is 3; it must be at least 0 and below 3, the smaller side of "
        "an image",
        sotto::invalid_option);
    CHECK_THROWS_AS((augmented{images(1), {.padding = -1}}), sotto::invalid_option);
    CHECK_THROWS_AS((augmented{images(1)}), sotto::invalid_option);  // 4, for larger images
}
