#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/core/bytes.hpp"

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

/// The digest of the values of some fields, one after another: that of their section.
checkpoint::digest digest_of(std::span<const saved_field> fields);

/// The digest of names, types and shapes.
checkpoint::digest digest_of_names(const saved_fields& fields);

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
