#include "sotto/data/read_idx.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "sotto/core/result.hpp"
#include "unit/data/files.hpp"
#include "unit/data/idx_files.hpp"

using data_test::folder, data_test::refusal;
using idx_test::gzip;
using idx_test::idx_file;
using sotto::data::read_idx;

TEST_CASE("read_idx reads images and labels, packed or not") {
    const folder here;
    const auto images = idx_file({3, 2, 4}, 24), labels = idx_file({3}, 3);
    const auto plain_images = here.write("images", images),
               plain_labels = here.write("labels", labels);
    const auto packed_images = here.write("images.gz", gzip(images)),
               packed_labels = here.write("l.gz", gzip(labels));
    for (const auto& image_file : {plain_images, packed_images})
        for (const auto& label_file : {plain_labels, packed_labels}) {
            const auto set = read_idx(image_file, label_file);
            CHECK(set.size() == 3);
            CHECK(set.shape() == sotto::data::labelled_set::example_shape{1, 2, 4});
            CHECK(set.label(2) == 2);
            CHECK(set.bytes(1)[0] == 8);
        }
    const auto colour = here.write("colour", idx_file({3, 2, 1, 4}, 24));
    CHECK(read_idx(colour, plain_labels).shape() ==
          sotto::data::labelled_set::example_shape{2, 1, 4});
    CHECK(read_idx(here.write("none", idx_file({0, 2, 4}, 0)), here.write("n", idx_file({0}, 0)))
              .size() == 0);
}

TEST_CASE("read_idx names the file, the place, what it expected and what it found") {
    const folder here;
    const auto images = here.write("images", idx_file({3, 2, 4}, 24)),
               labels = here.write("labels", idx_file({3}, 3));
    const auto cut = here.write("cut", idx_file({3, 2, 4}, 23));
    CHECK(refusal([&] { read_idx(cut, labels); }) ==
          cut.string() + ": at byte 39 expected 40 bytes, as the header says, found 39");
    CHECK(refusal([&] { read_idx(images, images); }) ==
          images.string() + ": at byte 3 expected rank 1 for labels, found 3");
    CHECK(refusal([&] { read_idx(labels, labels); }) ==
          labels.string() + ": at byte 3 expected rank 3 or 4 for images, found 1");
    const auto fewer = here.write("fewer", idx_file({2}, 2));
    CHECK(refusal([&] { read_idx(images, fewer); }) ==
          fewer.string() + " (for the 3 images of " + images.string() +
              "): at byte 4 expected 3 labels, one for each image, found 2");
    const auto flat = here.write("flat", idx_file({3, 0, 4}, 0));
    CHECK(refusal([&] { read_idx(flat, labels); }) ==
          flat.string() + ": at byte 8 expected images with at least one pixel, found 0");
}

TEST_CASE("a packed file may keep neither less nor more than its header promises") {
    const auto refused_at = [](sotto::bytes file) {
        const auto array = sotto::data::parse_idx_file(file);
        REQUIRE_FALSE(array);
        return array.why();
    };
    const sotto::detail::fault fewer = refused_at(gzip(idx_file({100, 2}, 199)));
    CHECK(fewer.expected_count == 200);
    CHECK(fewer.found == 199);
    CHECK(std::string(refused_at(gzip(idx_file({100, 2}, 201))).expected) ==
          "the end of the packed data");
    CHECK(refused_at(gzip(idx_file({100, 2}, 0))).found == 0);
    CHECK(std::string(refused_at(gzip(idx_file({1u << 20, 1u << 20}, 10))).expected) ==
          "no more values than the packed bytes can hold");
    CHECK(refused_at(gzip({})).offset == 0);
    CHECK(refused_at(gzip(sotto::byte_view(idx_file({1, 2}, 2)).first(7))).offset == 7);
    auto two = gzip(idx_file({2}, 2));
    const auto again = two;
    two.insert(two.end(), again.begin(), again.end());
    CHECK(std::string(refused_at(two).expected) == "the end of the file");
    auto good = gzip(idx_file({1000, 1000}, 1000000));
    CHECK(sotto::data::parse_idx_file(good));
}

TEST_CASE("a file that cannot be read is named with the reason") {
    CHECK_THROWS_WITH_AS(read_idx("/nowhere/images", "/nowhere/labels"),
                         "cannot read '/nowhere/images': No such file or directory",
                         sotto::io_failure);
    CHECK_THROWS_AS(read_idx("/", "/"), sotto::io_failure);
}

TEST_CASE("MNIST is read whole") {
    const char* data = std::getenv("SOTTO_DATA");
    if (data == nullptr) {
        MESSAGE("skipped: SOTTO_DATA is not set to a folder that has mnist/");
        return;
    }
    const std::filesystem::path mnist = std::filesystem::path(data) / "mnist";
    const auto train =
        read_idx(mnist / "train-images-idx3-ubyte.gz", mnist / "train-labels-idx1-ubyte.gz");
    const auto test =
        read_idx(mnist / "t10k-images-idx3-ubyte.gz", mnist / "t10k-labels-idx1-ubyte.gz");
    CHECK(train.size() == 60000);
    CHECK(test.size() == 10000);
    CHECK(train.classes() == 10);
    CHECK(train.shape() == sotto::data::labelled_set::example_shape{1, 28, 28});
    CHECK(train.label(0) == 5);
    CHECK(test.label(0) == 7);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < train.size(); ++i)
        for (const std::uint8_t pixel : train.bytes(i)) sum += pixel;
    CHECK(static_cast<double>(sum) / (60000.0 * 784.0 * 255.0) ==
          doctest::Approx(0.1307).epsilon(1e-3));
}
