#pragma once

#include "sotto/checkpoint/detail/saved_fields.hpp"

#include <utility>

#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL field_visitor::field_visitor(saved_fields& to)
    : to_(&to), names_(std::make_shared<names>()) {
    for (const saved_field& field : to.apart) names_->insert(field.name);
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
    if (!names_->insert(field.name).second)
        throw invalid_option("checkpoint: a state shows two things named '" + field.name +
                             "'; one of them would be lost");
    to_->of_one_world |= how == kept::own;
    (how == kept::alike ? to_->alike : to_->apart).push_back(std::move(field));
}

SOTTO_DECL checkpoint::digest digest_of(std::span<const saved_field> fields) {
    checkpoint::digester all;
    for (const saved_field& field : fields) all.update(field.memory);
    return all.value();
}

SOTTO_DECL void file_plan::add(const std::string& section, std::span<const saved_field> fields,
                               const checkpoint::digest& digest) {
    if (fields.empty()) return;
    for (const saved_field& field : fields)
        place(section + "/" + field.name, field.type, field.shape,
              static_cast<std::int64_t>(field.memory.size()));
    note(checkpoint::digest_key(section), checkpoint::hex(digest));
}

SOTTO_DECL void file_plan::note(std::string name, std::string text) {
    header_.metadata.emplace_back(std::move(name), std::move(text));
}

SOTTO_DECL const checkpoint::file_header& file_plan::finish() {
    constexpr std::int64_t size = sizeof(checkpoint::closing_digests);
    place(std::string(checkpoint::digest_name), checkpoint::dtype::u8, {size}, size);
    return header_;
}

SOTTO_DECL void file_plan::place(std::string name, checkpoint::dtype type,
                                 std::vector<std::int64_t> shape, std::int64_t size) {
    header_.tensors.push_back({std::move(name), type, std::move(shape), end_, end_ + size, 0});
    end_ += size;
}

}  // namespace sotto::detail
