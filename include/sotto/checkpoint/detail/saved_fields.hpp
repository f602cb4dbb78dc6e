#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/core/bytes.hpp"
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
    explicit field_visitor(saved_fields& to);

    void operator()(std::string_view name, std::span<float> values, kept how = kept::alike) const;
    void operator()(std::string_view name, std::int64_t& count, kept how = kept::alike) const;
    void operator()(std::string_view name, double& value, kept how = kept::alike) const;

private:
    void add(saved_field field, kept how) const;

    using names = std::unordered_set<std::string>;

    saved_fields* to_;
    std::shared_ptr<names> names_;  // of all fields so far
};

/// The digest of the values of some fields, one after another: that of their section.
checkpoint::digest digest_of(std::span<const saved_field> fields);

/// Lays out a file: sections one after another.
class file_plan {
public:
    void add(const std::string& section, std::span<const saved_field> fields,
             const checkpoint::digest& digest);

    void note(std::string name, std::string text);

    /// All sections were added.
    const checkpoint::file_header& finish();

private:
    void place(std::string name, checkpoint::dtype type, std::vector<std::int64_t> shape,
               std::int64_t size);

    checkpoint::file_header header_;
    std::int64_t end_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/saved_fields.ipp"
#endif
