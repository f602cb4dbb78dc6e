#pragma once

#include "sotto/checkpoint/detail/saved_fields.hpp"

#include <utility>

#include "sotto/checkpoint/detail/digester.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

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

SOTTO_DECL checkpoint::digest digest_of_names(const saved_fields& fields) {
    std::string text;
    for (const auto* part : {&fields.parameters, &fields.alike, &fields.buffers, &fields.apart}) {
        for (const saved_field& field : *part) {
            text.append(field.name).append(1, '\0').append(name_of(field.type));
            for (const std::int64_t extent : field.shape) (text += ' ') += std::to_string(extent);
            text += '\n';
        }
        text += '\f';
    }
    return checkpoint::digest_of(std::as_bytes(std::span(text)));
}

}  // namespace sotto::detail
