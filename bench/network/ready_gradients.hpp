#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/tcp.hpp"

namespace bench {

/// A rank's gradient in the first round; in those that follow it is turned further (turned_by).
inline std::vector<float> gradient_of(int rank, std::int64_t size) {
    std::vector<float> values(static_cast<std::size_t>(size));
    sotto::random_stream random = sotto::random_stream(7).split(static_cast<std::uint64_t>(rank));
    for (float& x : values) x = static_cast<float>(0.01 * random.normal());
    return values;
}

/// The place in gradient_of from which the gradient of a round begins.
inline std::int64_t turned_by(std::int64_t round, std::int64_t size) {
    return round * 1'000'003 % size;
}

/// Gives gradients that were made beforehand, and lets all ranks have theirs before the clock
/// starts.
class ready_gradients {
public:
    struct batch_type {};

    ready_gradients(std::int64_t weights, int tensors, sotto::tcp& through)
        : through_(&through), values_(gradient_of(through.rank(), weights)) {
        for (int i = 0; i < tensors; ++i) {
            const std::int64_t begin = weights * i / tensors;
            const std::int64_t end = weights * (i + 1) / tensors;
            tensors_.add("weight" + std::to_string(i), {1, end - begin});
        }
    }

    const sotto::layout& layout() const noexcept { return tensors_; }
    void initialise(std::span<float> parameters, sotto::random_stream) const {
        std::fill(parameters.begin(), parameters.end(), 0.0f);
    }

    double gradient(std::span<const float>, const batch_type&, std::span<float> out,
                    auto&& on_ready) {
        std::rotate_copy(values_.begin(),
                         values_.begin() + turned_by(round_++, std::ssize(values_)), values_.end(),
                         out.begin());
        through_->agree(true);
        started_ = std::chrono::steady_clock::now();
        for (auto t = tensors_.tensors().rbegin(); t != tensors_.tensors().rend(); ++t)
            on_ready(*t);
        return 0.0;
    }

    double seconds_since_all_had_theirs() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    }

private:
    sotto::tcp* through_;
    sotto::layout tensors_;
    std::vector<float> values_;
    std::int64_t round_ = 0;
    std::chrono::steady_clock::time_point started_;
};

}  // namespace bench
