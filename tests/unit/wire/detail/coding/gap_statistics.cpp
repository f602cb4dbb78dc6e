#include "sotto/wire/detail/coding/gap_statistics.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "support/index_lists.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

template <class Index>
void check_survey(const std::vector<Index>& list, std::size_t shift) {
    const std::span<const Index> indices = std::span<const Index>(list).subspan(shift);
    for (int fine = 0; fine <= 3; ++fine) {
        const gap_classes classes{fine};
        const gap_statistics survey(indices, classes);
        REQUIRE(survey.rises());
        std::vector<std::uint64_t> counts(gap_statistics::classes_max), quotients(41);
        std::uint64_t next = 0;
        for (const std::uint64_t index : indices) {
            ++counts[static_cast<std::size_t>(classes.of(index - next))];
            for (std::size_t s = 0; s < quotients.size(); ++s) quotients[s] += (index - next) >> s;
            next = index + 1;
        }
        REQUIRE(survey.has(survey.likely_shift()));
        for (std::size_t s = 0; s < quotients.size(); ++s)
            if (survey.has(static_cast<int>(s)))
                REQUIRE(survey.quotients(static_cast<int>(s)) == quotients[s]);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            REQUIRE(survey.counts()[i] == counts[i]);
            if (i >= survey.classes_end()) REQUIRE(counts[i] == 0);
        }
    }
}

}  // namespace

TEST_CASE("a survey finds what a plain loop finds, at every length and misalignment") {
    for (std::size_t k = 1; k <= 67; ++k)
        for (std::size_t shift = 0; shift < 4; ++shift)
            check_survey(testing::random_indices(1'000'000, k + shift, k), shift);
    for (const std::size_t k : {511u, 512u, 513u, 1023u, 1024u, 1025u, 5000u}) {
        check_survey(testing::random_indices(4'000'000'000, k, k), 1);
        check_survey(testing::runs_of_indices(1'000'000, k, k), 0);
        check_survey(testing::bursts_of_indices(50'000'000, k, k), 3);
    }
}

TEST_CASE("a survey finds gaps as long as the largest tensors") {
    check_survey(std::vector<std::uint32_t>{0xFFFFFFFF}, 0);
    check_survey(std::vector<std::uint32_t>{0, 0xFFFFFFFE, 0xFFFFFFFF}, 0);
    const std::uint64_t last = (std::uint64_t{1} << 40) - 1;
    check_survey(std::vector<std::uint64_t>{last}, 0);
    check_survey(std::vector<std::uint64_t>{5, (std::uint64_t{1} << 33) + 5, last}, 0);
    const auto narrow = testing::random_indices(4'000'000'000, 2000, 3);
    std::vector<std::uint64_t> wide(narrow.begin(), narrow.end());
    for (std::uint64_t& index : wide) index *= 200;
    check_survey(wide, 0);
}

TEST_CASE("a list that does not rise is found out wherever it falls, whatever its indices") {
    const auto rising = testing::random_indices(1'000'000, 1500, 3);
    for (std::size_t at = 1; at < rising.size(); ++at) {
        auto list = rising;
        list[at] = list[at - 1];
        REQUIRE_FALSE(gap_statistics(std::span<const std::uint32_t>(list), gap_classes{3}).rises());
        list[at] = rising[at];
        list[at - 1] = 0xFFFFFFFF;
        REQUIRE_FALSE(gap_statistics(std::span<const std::uint32_t>(list), gap_classes{3}).rises());
    }
    // The first part rises far above the last index.
    std::vector<std::uint64_t> wide(600);
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = (i + 1) << 54;
    wide.back() = 1000;
    CHECK_FALSE(gap_statistics(std::span<const std::uint64_t>(wide), gap_classes{3}).rises());
}
