#include "sotto/compressors/detail/versioned_buffer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "support/generators.hpp"

using namespace sotto;

namespace {

void write(detail::versioned_buffer& buffer, const tensor& t, float value) {
    std::ranges::fill(buffer.next(t), value);
}

bool holds(const detail::versioned_buffer& buffer, const tensor& t, float value) {
    const auto values = buffer.committed(t);
    return std::ranges::all_of(values, [=](float x) { return x == value; });
}

}  // namespace

TEST_CASE("what was written is seen after a commit and not before, each tensor for itself") {
    const layout tensors = testing::small_layout();
    const tensor &first = tensors[0], &second = tensors[3];
    detail::versioned_buffer buffer(tensors);
    CHECK(holds(buffer, first, 0.0f));
    write(buffer, first, 1.0f);
    CHECK(holds(buffer, first, 0.0f));
    buffer.commit();
    CHECK(holds(buffer, first, 1.0f));
    CHECK(holds(buffer, second, 0.0f));

    // A round in which only the other tensor takes part leaves the first alone.
    write(buffer, second, 2.0f);
    buffer.commit();
    CHECK(holds(buffer, first, 1.0f));
    CHECK(holds(buffer, second, 2.0f));
    buffer.commit();
    CHECK(holds(buffer, first, 1.0f));
    CHECK(holds(buffer, second, 2.0f));
}

TEST_CASE("a rollback forgets what was written, however often") {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    detail::versioned_buffer buffer(tensors);
    write(buffer, t, 1.0f);
    buffer.commit();
    for (float attempt = 10.0f; attempt < 13.0f; ++attempt) {
        write(buffer, t, attempt);
        buffer.rollback();
        CHECK(holds(buffer, t, 1.0f));
        buffer.commit();
        CHECK(holds(buffer, t, 1.0f));
    }
    write(buffer, t, 2.0f);
    buffer.commit();
    CHECK(holds(buffer, t, 2.0f));
}

TEST_CASE("what is written lies beside what is committed") {
    const layout tensors = testing::small_layout();
    detail::versioned_buffer buffer(tensors);
    for (int round = 0; round < 3; ++round) {
        for (const tensor& t : tensors) {
            const std::span<float> next = buffer.next(t);
            const std::span<const float> committed = buffer.committed(t);
            CHECK(static_cast<std::int64_t>(next.size()) == t.size);
            if (t.size > 0) CHECK(next.data() != committed.data());
        }
        buffer.commit();
    }
}

TEST_CASE("what is shown for saving is what was committed, and may be written") {
    const layout tensors = testing::small_layout();
    detail::versioned_buffer buffer(tensors);
    write(buffer, tensors[3], 5.0f);
    buffer.commit();
    write(buffer, tensors[3], 6.0f);
    const std::span<float> shown = buffer.committed(tensors[3]);
    CHECK(std::ranges::all_of(shown, [](float x) { return x == 5.0f; }));
    shown[0] = 7.0f;
    buffer.rollback();
    CHECK(std::as_const(buffer).committed(tensors[3])[0] == 7.0f);
}
