#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/checkpoint/detail/model_file.hpp"
#include "sotto/checkpoint/detail/model_values.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::checkpoint {

static_assert(std::endian::native == std::endian::little,
              "tensors of files are little endian, and are copied into memory as they are");

/// Appends a tensor that a file names.
///   errors  malformed: no model can have it, such as more than 2^40 floats
void add_tensor(layout& names, const std::filesystem::path& file, std::string name,
                const std::vector<std::int64_t>& shape);

/// Reads a checkpoint or a published model. The buffers are the mean over ranks, as an evaluation
/// uses them.
model_values read_sections(const std::filesystem::path& path);

/// A file that is read from its beginning.
class model_input {
public:
    explicit model_input(const std::filesystem::path& path);
    model_input(const model_input&) = delete;
    model_input& operator=(const model_input&) = delete;
    ~model_input() { close(); }

    std::int64_t size() const noexcept { return size_; }

    void skip(std::int64_t bytes) noexcept { at_ += bytes; }

    void read(mutable_byte_view into);

    [[noreturn]] void refuse(const std::string& why) const;
    /// Returns the parsed value, or refuses the file.
    template <class T>
    T parsed(result<T> found) const {
        if (!found) refuse(found.why().text());
        return std::move(*found);
    }

private:
    void require_done(std::error_code why) const;

    void close() noexcept;

    std::string name_;
    posix_files files_;
    int file_ = -1;
    std::int64_t size_ = 0, at_ = 0;
};

/// True if values of this type are floats or can be converted to floats.
bool is_of_values(dtype type) noexcept;

/// Converts values to floats. Returns the index of the first that a float cannot hold, or a
/// negative number.
template <class Stored, class Convert>
std::ptrdiff_t convert_values(byte_view from, std::span<float> to, Convert convert) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        Stored stored;
        std::memcpy(&stored, from.data() + i * sizeof stored, sizeof stored);
        if (!convert(stored, to[i])) return static_cast<std::ptrdiff_t>(i);
    }
    return -1;
}

/// Rounds a double to a float; returns false if only the double is finite.
bool round_to_float(double value, float& rounded) noexcept;

std::ptrdiff_t convert_values(dtype type, byte_view from, std::span<float> to);

/// Reads a file that another program wrote. Its tensors have names; nothing else about them is
/// known.
model_values read_tensors(model_input& in, const std::filesystem::path& path,
                          const file_header& header);

/// True if the metadata show that sotto wrote the file, even if a bit of them has changed.
bool is_ours(const file_header& header) noexcept;

/// Reads what write_model_file wrote. Also reads checkpoints of ranks that have the same
/// parameters, published models, and any safetensors file of another program: its metadata then
/// name no format of sotto.
///   math    from another program, F32 values are read as they are, F16 and BF16 exactly, and F64
///           is rounded to the nearest float. Tensors of other types are not values of a model
///   cost    reads the file once, a checkpoint twice
///   errors  io_failure: the system refused to open or read it; malformed: it is not whole, a bit
///           of it has changed (if sotto wrote it), a value is beyond the largest float, or it is
///           not a safetensors file; mismatch: it is a safetensors file of another kind
model_values read_model_file(const std::filesystem::path& path);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/read_model_file.ipp"
#endif
