#pragma once

#include "sotto/strategies/detail/parameter_server/memory_of_server.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void shown_bytes::operator()(std::string_view name, std::span<float> values,
                                        kept) const {
    add(name, static_cast<std::int64_t>(values.size_bytes()));
}

SOTTO_DECL void shown_bytes::operator()(std::string_view name, std::int64_t&, kept) const {
    add(name, 8);
}

SOTTO_DECL void shown_bytes::add(std::string_view name, std::int64_t bytes) const {
    if (name.starts_with("optimizer/")) to.optimizer += bytes;
    if (name.starts_with("compensator/")) to.compensator += bytes;
}

}  // namespace sotto::detail
