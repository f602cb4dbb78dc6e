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

/// A tensor of a checkpoint, in this rank's memory.
struct saved_field {
    std::string name;
    std::vector<std::int64_t> shape;
    checkpoint::dtype type = checkpoint::dtype::f32;
    mutable_byte_view memory;
};

/// All fields that this rank saves, each part in the order of the file.
struct saved_fields {
    std::vector<saved_field> parameters, alike, buffers, apart;
    bool of_one_world = false;  // only the same number of ranks can resume
};

/// Returns the digest of the values of some fields in order: the digest of their section.
checkpoint::digest digest_of(std::span<const saved_field> fields);

/// Returns the digest of names, types and shapes.
checkpoint::digest digest_of_names(const saved_fields& fields);

/// Plans a file as a sequence of sections.
class file_plan {
public:
    void add(const std::string& section, std::span<const saved_field> fields,
             const checkpoint::digest& digest);

    void note(std::string name, std::string text);

    /// Call it after all sections were added.
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
