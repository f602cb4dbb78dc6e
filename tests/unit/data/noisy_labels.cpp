#include "sotto/data/noisy_labels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/data/labelled_batch.hpp"
#include "sotto/data/labelled_set.hpp"

using namespace sotto;

TEST_CASE("about a part of the labels is drawn by chance, and nothing else changes") {
    const auto clean = data::digits(4000, random_stream{1});
    const auto noisy = data::noisy_labels(clean, 0.3, random_stream{2});
    REQUIRE(noisy.size() == 4000);
    CHECK(noisy.classes() == 10);
    std::int64_t changed = 0;
    std::array<int, 10> of_each{};
    for (std::int64_t i = 0; i < clean.size(); ++i) {
        if (noisy.label(i) == clean.label(i)) continue;
        ++changed;
        ++of_each[static_cast<std::size_t>(noisy.label(i))];
    }
    CHECK(changed > 4000 * 0.27 - 130);  // of ten labels one is the one it had; 4.6 deviations
    CHECK(changed < 4000 * 0.27 + 130);
    for (const int count : of_each) CHECK(count > 60);
    const std::vector<std::int64_t> some{7, 3999, 0};
    data::labelled_batch before, after;
    clean.gather(some, before);
    noisy.gather(some, after);
    CHECK(std::ranges::equal(before.inputs(), after.inputs()));
    for (std::size_t i = 0; i < some.size(); ++i) CHECK(after.labels()[i] == noisy.label(some[i]));
    CHECK(data::noisy_labels(clean, 0.3, random_stream{2}).label(11) == noisy.label(11));
    for (std::int64_t i = 0; i < 100; ++i)
        CHECK(data::noisy_labels(clean, 0.0, random_stream{2}).label(i) == clean.label(i));
}

TEST_CASE("labels are those of the part that was changed, and parts of it keep them") {
    const data::labelled_set all({1, 1, 1}, std::vector<float>{0, 1, 2, 3}, {0, 1, 2, 3});
    const auto part = all.take(1, 3).with_labels(std::vector<std::int32_t>{7, 8, 9});
    CHECK(part.label(0) == 7);
    CHECK(part.classes() == 10);
    CHECK(part.take(1, 2).label(1) == 9);
    CHECK(part.subset(std::vector<std::int64_t>{2, 0}).label(0) == 9);
    CHECK(all.label(1) == 1);
    CHECK_THROWS_WITH_AS(all.with_labels(std::vector<std::int32_t>{1}),
                         "labelled_set: 1 labels for 4 examples", invalid_option);
    CHECK_THROWS_AS(all.with_labels(std::vector<std::int32_t>{1, 2, -1, 0}), invalid_option);
    CHECK_THROWS_WITH_AS(data::noisy_labels(all, 1.5, random_stream{}),
                         "noisy_labels: part is 1.5; it must be at least 0 and at most 1",
                         invalid_option);
}
