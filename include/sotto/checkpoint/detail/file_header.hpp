#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/detail/text/number_text.hpp"

namespace sotto::detail::checkpoint {

/// Element types of the safetensors format.
///   boolean  a byte, 0 or 1
///   u8       unsigned, 8 bits
///   i8       signed, 8 bits
///   f8_e5m2  floating point, 5 bits of exponent and 2 of fraction
///   f8_e4m3  floating point, 4 bits of exponent and 3 of fraction
///   i16      signed, 16 bits
///   u16      unsigned, 16 bits
///   f16      IEEE 754 half precision
///   bf16     the upper half of an f32
///   i32      signed, 32 bits
///   u32      unsigned, 32 bits
///   f32      a float
///   i64      signed, 64 bits
///   u64      unsigned, 64 bits
///   f64      a double
enum class dtype : std::uint8_t {
    boolean,
    u8,
    i8,
    f8_e5m2,
    f8_e4m3,
    i16,
    u16,
    f16,
    bf16,
    i32,
    u32,
    f32,
    i64,
    u64,
    f64
};

struct dtype_facts {
    std::string_view name;
    std::int64_t bytes;
};
inline constexpr std::array<dtype_facts, 15> dtypes{{{"BOOL", 1},
                                                     {"U8", 1},
                                                     {"I8", 1},
                                                     {"F8_E5M2", 1},
                                                     {"F8_E4M3", 1},
                                                     {"I16", 2},
                                                     {"U16", 2},
                                                     {"F16", 2},
                                                     {"BF16", 2},
                                                     {"I32", 4},
                                                     {"U32", 4},
                                                     {"F32", 4},
                                                     {"I64", 8},
                                                     {"U64", 8},
                                                     {"F64", 8}}};

/// Returns the name in the format: "F32", "BF16", ...
std::string_view name_of(dtype type) noexcept;
/// Returns the bytes of one element.
std::int64_t bytes_of_element(dtype type) noexcept;
/// Returns the type with this name in the format; nothing for other texts.
std::optional<dtype> dtype_named(std::string_view name) noexcept;

/// A tensor of a file. Its elements are bytes begin..end-1 of the data, row-major, little endian.
struct tensor_entry {
    std::string name;                 // unique in its file
    dtype type = dtype::f32;          // type of its elements
    std::vector<std::int64_t> shape;  // extents, slowest first
    std::int64_t begin = 0;           // its first byte in the data
    std::int64_t end = 0;             // one past its last byte in the data
    std::int64_t at = 0;              // byte of the file at which its name starts

    /// Returns the bytes of all elements.
    std::int64_t size_bytes() const noexcept { return end - begin; }
};

/// Header of a safetensors file.
///   wire    64 bits, little endian: the length N of the header; N bytes of JSON, an object that
///           holds {"dtype", "shape", "data_offsets": [begin, end]} for each tensor by name, and
///           under "__metadata__" strings by name; the data, without gaps from the first tensor to
///           the end of the file. Headers of sotto are at most 16 MiB long and padded with blanks
///           to a multiple of 8 bytes
///   source  the safetensors format, github.com/huggingface/safetensors, README
struct file_header {
    /// bytes of the number that holds the header's length
    static constexpr std::int64_t length_bytes = 8;
    /// most bytes of a header's JSON
    static constexpr std::int64_t json_bytes_max = std::int64_t{1} << 24;
    static constexpr std::int64_t rank_max = 16;        // most extents of a tensor
    static constexpr std::int64_t metadata_max = 4096;  // most entries of "__metadata__"

    std::vector<tensor_entry> tensors;                          // in the order of their data
    std::vector<std::pair<std::string, std::string>> metadata;  // in the order of the file
    std::int64_t data_begin = 0;                                // bytes of the file before its data

    /// Returns the bytes of the data.
    std::int64_t data_bytes() const noexcept { return tensors.empty() ? 0 : tensors.back().end; }
    /// Returns the bytes of the whole file.
    std::int64_t file_bytes() const noexcept { return data_begin + data_bytes(); }

    /// Returns the text under this name, or null.
    const std::string* metadata_named(std::string_view name) const noexcept;

    /// Reads the number under this name; see detail::read_number. Returns false if the name is
    /// missing.
    template <class Number>
    bool read_number(std::string_view name, Number& into) const {
        const std::string* const text = metadata_named(name);
        return text && detail::read_number(*text, into);
    }
};

/// Finds tensors of a header by name.
///   cost    sorts the names once; a look-up is a binary search
class entry_index {
public:
    /// Keeps a reference to the header.
    explicit entry_index(const file_header& header);

    /// Returns the tensor's number in the order of the data.
    std::optional<std::size_t> find(std::string_view wanted) const noexcept;

    /// Returns a tensor with the same name as an earlier one, if there is one.
    std::optional<std::size_t> duplicate() const noexcept;

private:
    std::string_view name(std::size_t i) const noexcept { return header_->tensors[i].name; }

    const file_header* header_;
    std::vector<std::size_t> order_;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/file_header.ipp"
#endif
