#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// A step of a run, for errors.
struct step_place {
    std::int64_t step = 1;              // as callbacks count: the first is 1
    std::int64_t epoch = 1;             // as callbacks count: the first is 1
    std::optional<double> last_loss{};  // last loss of this rank on a step with data

    /// Returns a text such as " (step 13, epoch 2, last loss 0.7012)".
    std::string text() const;

private:
    std::string loss() const;
};

/// Runs a step. Adds the step's place to the text of an error about a value that is not finite.
template <class Action>
auto located(const step_place& place, Action action) -> decltype(action()) {
    try {
        return action();
    } catch (const peer_failure&) {  // already has its place
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
