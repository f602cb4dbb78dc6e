#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/visit.hpp"

namespace sotto::detail {

static_assert(std::endian::native == std::endian::little,
              "checkpoints are little endian, and are copied from memory as they are");

/// A tensor of a checkpoint, as it lies in this rank's memory.
struct saved_field {
    std::string name;
    std::vector<std::int64_t> shape;
    checkpoint::dtype type = checkpoint::dtype::f32;
    mutable_byte_view memory;
};

/// All that this rank has to be saved, each part in the order of the file.
struct saved_fields {
    std::vector<saved_field> parameters, alike, buffers, apart;
    bool of_one_world = false;  // only as many ranks can go on with it
};

/// Takes what a state shows by `visit`. Its copies take it together.
class field_visitor {
public:
    /// Fields that are there are `apart`, as parameters that differ between ranks.
    explicit field_visitor(saved_fields& to) : to_(&to), names_(std::make_shared<names>()) {
        for (const saved_field& field : to.apart) names_->insert(field.name);
    }

    void operator()(std::string_view name, std::span<float> values, kept how = kept::alike) const {
        add({std::string(name),
             {static_cast<std::int64_t>(values.size())},
             checkpoint::dtype::f32,
             std::as_writable_bytes(values)},
            how);
    }
    void operator()(std::string_view name, std::int64_t& count, kept how = kept::alike) const {
        add({std::string(name),
             {},
             checkpoint::dtype::i64,
             std::as_writable_bytes(std::span(&count, 1))},
            how);
    }
    void operator()(std::string_view name, double& value, kept how = kept::alike) const {
        add({std::string(name),
             {},
             checkpoint::dtype::f64,
             std::as_writable_bytes(std::span(&value, 1))},
            how);
    }

private:
    void add(saved_field field, kept how) const {
        if (checkpoint::begins_with_rank(field.name))
            throw invalid_option("checkpoint: a state shows '" + field.name +
                                 "'; names that begin as 'rank0/' does are the file's own");
        if (!names_->insert(field.name).second)
            throw invalid_option("checkpoint: a state shows two things named '" + field.name +
                                 "'; one of them would be lost");
        to_->of_one_world |= how == kept::own;
        (how == kept::alike ? to_->alike : to_->apart).push_back(std::move(field));
    }

    using names = std::unordered_set<std::string>;

    saved_fields* to_;
    std::shared_ptr<names> names_;  // of all fields so far
};

/// The digest of the values of some fields, one after another: that of their section.
inline checkpoint::digest digest_of(std::span<const saved_field> fields) {
    checkpoint::digester all;
    for (const saved_field& field : fields) all.update(field.memory);
    return all.value();
}

/// Lays out a file: sections one after another.
class file_plan {
public:
    void add(const std::string& section, std::span<const saved_field> fields,
             const checkpoint::digest& digest) {
        if (fields.empty()) return;
        for (const saved_field& field : fields)
            place(section + "/" + field.name, field.type, field.shape,
                  static_cast<std::int64_t>(field.memory.size()));
        note(checkpoint::digest_key(section), checkpoint::hex(digest));
    }

    void note(std::string name, std::string text) {
        header_.metadata.emplace_back(std::move(name), std::move(text));
    }

    /// All sections were added.
    const checkpoint::file_header& finish() {
        constexpr std::int64_t size = sizeof(checkpoint::closing_digests);
        place(std::string(checkpoint::digest_name), checkpoint::dtype::u8, {size}, size);
        return header_;
    }

private:
    void place(std::string name, checkpoint::dtype type, std::vector<std::int64_t> shape,
               std::int64_t size) {
        header_.tensors.push_back({std::move(name), type, std::move(shape), end_, end_ + size, 0});
        end_ += size;
    }

    checkpoint::file_header header_;
    std::int64_t end_ = 0;
};

}  // namespace sotto::detail
