#include "sotto/data/labelled_batch.hpp"

#include <doctest/doctest.h>

#include "support/allocation_count.hpp"

TEST_CASE("a batch has room for what it was sized to, and keeps its memory") {
    sotto::data::labelled_batch batch;
    CHECK(batch.size() == 0);
    CHECK(batch.inputs().empty());
    batch.resize(4, 3);
    CHECK(batch.inputs().size() == 12);
    CHECK(batch.labels().size() == 4);
    const float* where = batch.inputs().data();
    const support::allocation_count allocations;
    batch.resize(2, 5);
    CHECK(batch.size() == 2);
    CHECK(batch.width() == 5);
    CHECK(batch.inputs().size() == 10);
    batch.resize(0, 3);
    CHECK(batch.labels().empty());
    batch.resize(4, 3);
    CHECK(batch.inputs().data() == where);
    CHECK(allocations.on_this_thread() == 0);
}
