#include "sotto/wire/detail/protocols/membership_report.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

using namespace sotto;
using namespace sotto::wire;
using namespace sotto::detail::wire;

namespace {

membership_report some_report() {
    return {4, 5, "disk on fire", {2, 4, 6}, {{10, 3, true}, {11, 1, false}}};
}

bytes written(const membership_report& report) {
    bytes out;
    append_report(report, out);
    return out;
}

}  // namespace

TEST_CASE("a report comes back as it was, and no shorter or longer one") {
    const bytes out = written(some_report());
    REQUIRE(out.size() <= report_bytes_max(7));
    const auto read = read_report(out, 7);
    REQUIRE(read);
    CHECK(*read == some_report());
    for (std::size_t size = 0; size < out.size(); ++size)
        CHECK_FALSE(read_report(byte_view(out).first(size), 7));
    bytes longer = out;
    longer.push_back({});
    CHECK_FALSE(read_report(longer, 7));
}

TEST_CASE("ranks and ballots must exist and ascend") {
    CHECK_FALSE(read_report(written(some_report()), 6));  // rank 6 of a world of 6
    membership_report report = some_report();
    report.failed = {4, 4};
    CHECK_FALSE(read_report(written(report), 7));
    report.failed = {2};  // without the first
    CHECK_FALSE(read_report(written(report), 7));
    report.failed = {};  // of a rank that leaves
    CHECK(read_report(written(report), 7));
    report.first = 6;
    CHECK(read_report(written(report), 7));
    for (const std::uint32_t none : {7u, 8u, ~0u}) {
        report.first = none;
        const auto read = read_report(written(report), 7);
        REQUIRE_FALSE(read);
        CHECK(read.why().offset == 0);
    }
    report = some_report();
    report.polls[1].ballot = 10;
    CHECK_FALSE(read_report(written(report), 7));
}

TEST_CASE("a cause is cut at 1024 bytes") {
    membership_report report = some_report();
    report.cause.assign(5000, 'x');
    const auto read = read_report(written(report), 7);
    REQUIRE(read);
    CHECK(read->cause == std::string(1024, 'x'));
}

TEST_CASE("membership_report: counts and numbers beyond their limits -> refused at their place") {
    const auto refused_at = [](const bytes& out) {
        const auto read = read_report(out, 7);
        return read ? std::int64_t{-1} : read.why().offset;
    };
    // As long as the counts say.
    const auto of_counts = [](std::uint32_t cause, std::uint32_t polls) {
        bytes out(20 + cause + 17 * std::size_t{polls});
        store_little_endian(out.data() + 8, cause);
        store_little_endian(out.data() + 16, polls);
        for (std::uint64_t poll = 0; poll < polls; ++poll)
            store_little_endian(out.data() + 20 + cause + 17 * poll, poll);
        return out;
    };
    CHECK(refused_at(of_counts(1024, 4096)) == -1);
    CHECK(refused_at(of_counts(1025, 0)) == 8);
    CHECK(refused_at(of_counts(0, 4097)) == 16);
    bytes out = written(some_report());
    store_little_endian(out.data() + 4, std::uint32_t{256});
    CHECK(refused_at(out) == 4);
    out = written(some_report());
    out.back() = std::byte{2};  // the last verdict
    CHECK(refused_at(out) == std::ssize(out) - 1);
}
