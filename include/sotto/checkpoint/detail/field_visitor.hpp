#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "sotto/core/visit.hpp"

namespace sotto::detail {

struct saved_field;
struct saved_fields;

/// Collects the fields that a state passes to it in `visit`. Copies share the collection.
class field_visitor {
public:
    /// Fields that `to` already holds are `apart`, such as parameters that differ between ranks.
    explicit field_visitor(saved_fields& to);

    void operator()(std::string_view name, std::span<float> values, kept how = kept::alike) const;
    void operator()(std::string_view name, std::int64_t& count, kept how = kept::alike) const;
    void operator()(std::string_view name, double& value, kept how = kept::alike) const;

private:
    struct names;

    void add(saved_field field, kept how) const;

    saved_fields* to_;
    std::shared_ptr<names> names_;  // names of all fields so far
};

/// A state that can be saved.
template <class State>
concept shows_its_state = requires(State& state, field_visitor field) {
    state.visit(field);
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/field_visitor.ipp"
#endif
