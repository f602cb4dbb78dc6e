#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// A step of a run, for errors.
struct step_place {
    std::int64_t step = 1;              // as callbacks count: the first is 1
    std::int64_t epoch = 1;             // likewise
    std::optional<double> last_loss{};  // of the last step with data that this rank completed

    /// " (step 13, epoch 2, last loss 0.7012)"
    std::string text() const;

private:
    std::string loss() const;
};

/// Runs a step. An error about a value that is not finite then has the step's place in its text.
template <class Action>
auto located(const step_place& place, Action action) -> decltype(action()) {
    try {
        return action();
    } catch (const peer_failure&) {  // which says where
        throw;
    } catch (const non_finite& e) {
        throw non_finite(e.rank(), e.tensor(), e.index(), place.text());
    } catch (const error& e) {
        if (e.code() != errc::non_finite) throw;
        throw error(errc::non_finite, e.what() + place.text());
    }
}

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/located.ipp"
#endif
