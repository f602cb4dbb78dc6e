#pragma once

#include <exception>
#include <optional>
#include <string>

#include "sotto/core/errors.hpp"
#include "support/training.hpp"

namespace sotto::testing {

/// How a rank ended and what it then held.
struct ending {
    trained held;
    std::optional<peer_failure> blamed;
    bool failed_itself = false;
    bool refuses_to_go_on = false;
};

/// Runs f on every rank; what it throws.
template <class F>
std::exception_ptr thrown_by(int ranks, F f) {
    try {
        run_in_process(ranks, f);
    } catch (...) {
        return std::current_exception();
    }
    return nullptr;
}

inline std::string text_of(const std::exception_ptr& thrown) {
    if (!thrown) return "nothing";
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
        return e.what();
    }
}

inline void keep(trained& held, auto& trainer) {
    held.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
    held.remembered = snapshot(trainer.state());
}

}  // namespace sotto::testing
