#include "sotto/data/read_cifar10.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "unit/data/cifar10_files.hpp"
#include "unit/data/files.hpp"

using cifar10_test::cifar10_file;
using data_test::folder, data_test::refusal;
using sotto::data::labelled_batch;
using sotto::data::labelled_set;
using sotto::data::read_cifar10;

TEST_CASE("read_cifar10 reads files one after another") {
    const folder here;
    const auto first = here.write("first", cifar10_file({3, 0})),
               second = here.write("second", cifar10_file({9}));
    const labelled_set set = read_cifar10({first, second, first});
    CHECK(set.size() == 5);
    CHECK(set.shape() == sotto::data::labelled_set::example_shape{3, 32, 32});
    CHECK(set.classes() == 10);
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < set.size(); ++i) {
        labels.push_back(set.label(i));
        for (std::size_t pixel : {0u, 1u, 1024u, 3071u})
            CHECK(set.bytes(i)[pixel] ==
                  (7 * static_cast<std::size_t>(set.label(i)) + pixel) % 256);
    }
    CHECK(labels == std::vector<std::int32_t>{3, 0, 9, 3, 0});
}

TEST_CASE("the bytes of red, green and blue have scales of their own") {
    const folder here;
    const auto file = here.write("file", cifar10_file({0}));
    labelled_batch batch;
    const std::vector<std::int64_t> only{0};
    read_cifar10({file}).gather(only, batch);
    const auto value = [&](std::size_t at) { return static_cast<double>(batch.inputs()[at]); };
    CHECK(value(0) == doctest::Approx(-125.3 / 63.0));
    CHECK(value(1023) == doctest::Approx((255 - 125.3) / 63.0));
    CHECK(value(1024) == doctest::Approx(-123.0 / 62.1));
    CHECK(value(2048 + 200) == doctest::Approx((200 - 113.9) / 66.7));
    read_cifar10({file}, {{{0.0f, 1.0f}, {1.0f, 1.0f}, {2.0f, 10.0f}}}).gather(only, batch);
    CHECK(value(5) == 5.0);
    CHECK(value(1024 + 5) == 4.0);
    CHECK(value(2048 + 5) == 30.0);
}

TEST_CASE("read_cifar10 names the file, the place, what it expected and what it found") {
    const folder here;
    const auto good = here.write("good", cifar10_file({3, 0})),
               wrong = here.write("wrong", cifar10_file({3, 10})), empty = here.write("empty", {});
    const auto whole = cifar10_file({1, 2});
    const auto cut = here.write("cut", sotto::byte_view(whole).first(5000));
    CHECK(refusal([&] {
              read_cifar10({good, wrong});
          }) == wrong.string() + ": at byte 3073 expected a label of 0 to 9, found 10");
    CHECK(refusal([&] {
              read_cifar10({good, cut});
          }) == cut.string() + ": at byte 3073 expected a whole record (3073 bytes), found 1927");
    CHECK(refusal([&] { read_cifar10({empty}); }) ==
          empty.string() + ": at byte 0 expected a whole record (3073 bytes), found 0");
    CHECK_THROWS_WITH_AS(read_cifar10({"/nowhere/data_batch_1.bin"}),
                         "cannot read '/nowhere/data_batch_1.bin': No such file or directory",
                         sotto::io_failure);
    CHECK_THROWS_WITH_AS(read_cifar10({}), "read_cifar10: no files; expected at least 1",
                         sotto::invalid_option);
}

TEST_CASE("a sample of CIFAR-10 is read whole") {
    const char* data = std::getenv("SOTTO_DATA");
    if (data == nullptr) {
        MESSAGE("skipped: SOTTO_DATA is not set to a folder that has cifar10-sample/");
        return;
    }
    const std::filesystem::path sample = std::filesystem::path(data) / "cifar10-sample";
    const labelled_set train = read_cifar10({sample / "data_batch_1.bin"});
    const labelled_set test = read_cifar10({sample / "test_batch.bin"});
    CHECK(train.size() == 10000);
    CHECK(test.size() == 2000);
    CHECK(train.classes() == 10);
    CHECK(test.classes() == 10);
    std::array<int, 10> times{};
    for (std::int64_t i = 0; i < train.size(); ++i)
        ++times[static_cast<std::size_t>(train.label(i))];
    CHECK(times == std::array<int, 10>{976, 1042, 974, 988, 1006, 962, 1027, 1008, 977, 1040});

    std::vector<std::int64_t> all(10000);
    std::iota(all.begin(), all.end(), 0);
    labelled_batch batch;
    train.gather(all, batch);
    for (std::size_t channel = 0; channel < 3; ++channel) {
        double sum = 0.0, squares = 0.0;
        std::int64_t bytes = 0;
        for (std::size_t i = 0; i < all.size(); ++i)
            for (std::size_t at = 1024 * channel; at < 1024 * (channel + 1); ++at) {
                const double value = static_cast<double>(batch.inputs()[i * 3072 + at]);
                sum += value;
                squares += value * value;
                bytes += train.bytes(static_cast<std::int64_t>(i))[at];
            }
        const double mean = sum / 10'240'000, deviation = std::sqrt(squares / 10'240'000);
        CHECK(std::abs(mean) < 0.01);
        CHECK(std::abs(deviation - 1.0) < 0.01);
        CHECK(bytes == std::array{1283934825, 1260865550, 1165312139}[channel]);
    }
}
