#include "sotto/models/gradient_source.hpp"

#include <cstdint>
#include <span>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"

namespace {

struct least_gradient_source {
    struct batch_type {};
    const sotto::layout& layout() const;
    void initialise(std::span<float>, sotto::random_stream) const;
    double gradient(std::span<const float>, const batch_type&, std::span<float>, auto&&) {
        return 0.0;
    }
};
static_assert(sotto::gradient_source<least_gradient_source>);
static_assert(!sotto::predictor<least_gradient_source>);

struct least_predictor {
    struct batch_type {
        std::span<const std::int32_t> labels() const;
    };
    const sotto::layout& layout() const;
    void initialise(std::span<float>, sotto::random_stream) const;
    double gradient(std::span<const float>, const batch_type&, std::span<float>, auto&&) {
        return 0.0;
    }
    std::int64_t outputs() const;
    std::span<const float> forward(std::span<const float>, const batch_type&);
    void backward(std::span<const float>, const batch_type&, std::span<const float>,
                  std::span<float>, auto&&) {}
    std::span<const float> predict(std::span<const float>, const batch_type&);
};
static_assert(sotto::gradient_source<least_predictor>);
static_assert(sotto::predictor<least_predictor>);

// A gradient is asked for at parameters that are not the model's to change.
struct changes_parameters : least_gradient_source {
    double gradient(std::span<float>, const batch_type&, std::span<float>, auto&&) { return 0.0; }
};
static_assert(!sotto::gradient_source<changes_parameters>);

// Without the announcements nothing could be sent while the rest is computed.
struct announces_nothing : least_gradient_source {
    double gradient(std::span<const float>, const batch_type&, std::span<float>) { return 0.0; }
};
static_assert(!sotto::gradient_source<announces_nothing>);

struct without_labels : least_predictor {
    struct batch_type {};
};
static_assert(!sotto::predictor<without_labels>);

}  // namespace
