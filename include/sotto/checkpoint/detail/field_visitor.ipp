#pragma once

#include "sotto/checkpoint/detail/field_visitor.hpp"

#include <string>
#include <unordered_set>
#include <utility>

#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

struct field_visitor::names {
    std::unordered_set<std::string> all;
};

SOTTO_DECL field_visitor::field_visitor(saved_fields& to)
    : to_(&to), names_(std::make_shared<names>()) {
    for (const saved_field& field : to.apart) names_->all.insert(field.name);
}

SOTTO_DECL void field_visitor::operator()(std::string_view name, std::span<float> values,
                                          kept how) const {
    add({std::string(name),
         {static_cast<std::int64_t>(values.size())},
         checkpoint::dtype::f32,
         std::as_writable_bytes(values)},
        how);
}

SOTTO_DECL void field_visitor::operator()(std::string_view name, std::int64_t& count,
                                          kept how) const {
    add({std::string(name),
         {},
         checkpoint::dtype::i64,
         std::as_writable_bytes(std::span(&count, 1))},
        how);
}

SOTTO_DECL void field_visitor::operator()(std::string_view name, double& value, kept how) const {
    add({std::string(name),
         {},
         checkpoint::dtype::f64,
         std::as_writable_bytes(std::span(&value, 1))},
        how);
}

SOTTO_DECL void field_visitor::add(saved_field field, kept how) const {
    if (checkpoint::begins_with_rank(field.name))
        throw invalid_option("checkpoint: a state shows '" + field.name +
                             "'; names that begin as 'rank0/' does are the file's own");
    if (!names_->all.insert(field.name).second)
        throw invalid_option("checkpoint: a state shows two things named '" + field.name +
                             "'; one of them would be lost");
    to_->of_one_world |= how == kept::own;
    (how == kept::alike ? to_->alike : to_->apart).push_back(std::move(field));
}

}  // namespace sotto::detail
