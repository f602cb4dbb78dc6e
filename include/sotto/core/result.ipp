#pragma once

#include "sotto/core/result.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::string fault::text() const {
    return "at byte " + std::to_string(offset) + " expected " +
           (expected_count < 0 ? std::string() : std::to_string(expected_count) + " ") + expected +
           ", found " + (found == end ? "the end" : std::to_string(found));
}

}  // namespace sotto::detail
