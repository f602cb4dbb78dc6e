#include "sotto/data/dataset.hpp"

#include <cstdint>
#include <span>

#include "sotto/core/random.hpp"

namespace {

struct least_dataset {
    struct batch_type {};
    std::int64_t size() const;
    void gather(std::span<const std::int64_t>, batch_type&) const;
};
static_assert(sotto::dataset<least_dataset>);

struct without_size {
    struct batch_type {};
    void gather(std::span<const std::int64_t>, batch_type&) const;
};
static_assert(!sotto::dataset<without_size>);

// The trainer makes the batch itself, once, before it knows any example.
struct batch_without_default {
    struct batch_type {
        explicit batch_type(int);
    };
    std::int64_t size() const;
    void gather(std::span<const std::int64_t>, batch_type&) const;
};
static_assert(!sotto::dataset<batch_without_default>);

// Workers in one process may share a data set: reading must not change it.
struct gather_that_changes {
    struct batch_type {};
    std::int64_t size() const;
    void gather(std::span<const std::int64_t>, batch_type&);
};
static_assert(!sotto::dataset<gather_that_changes>);

// Reading for training adds to plain reading, which evaluations use.
struct least_varying_dataset : least_dataset {
    using least_dataset::gather;
    void gather(std::span<const std::int64_t>, batch_type&, sotto::random_stream) const;
};
static_assert(sotto::detail::varying_dataset<least_varying_dataset>);
static_assert(!sotto::detail::varying_dataset<least_dataset>);

struct varying_alone : least_dataset {
    void gather(std::span<const std::int64_t>, batch_type&, sotto::random_stream) const;
};
static_assert(!sotto::dataset<varying_alone> && !sotto::detail::varying_dataset<varying_alone>);

}  // namespace
