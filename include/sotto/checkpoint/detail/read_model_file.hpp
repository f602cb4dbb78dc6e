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

/// Appends what a file names.
///   errors  malformed: it names what no model has, such as more than 2^40 floats
void add_tensor(layout& names, const std::filesystem::path& file, std::string name,
                const std::vector<std::int64_t>& shape);

/// Out of a checkpoint or a published model. Of ranks' buffers it is the mean, as an evaluation
/// sees it.
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
    /// A value, where parsing was no failure.
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

/// Whether a model's values can be of this type: as floats, or converted to them.
bool is_of_values(dtype type) noexcept;

/// Values of a type as floats; the place of the first that a float cannot hold, below 0 if none.
template <class Stored, class Convert>
std::ptrdiff_t convert_values(byte_view from, std::span<float> to, Convert convert) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        Stored stored;
        std::memcpy(&stored, from.data() + i * sizeof stored, sizeof stored);
        if (!convert(stored, to[i])) return static_cast<std::ptrdiff_t>(i);
    }
    return -1;
}

/// A double rounded to a float; false if it is finite and the float is not.
bool round_to_float(double value, float& rounded) noexcept;

std::ptrdiff_t convert_values(dtype type, byte_view from, std::span<float> to);

/// Out of a file that another program wrote. Its tensors are named, and nothing else is known.
model_values read_tensors(model_input& in, const std::filesystem::path& path,
                          const file_header& header);

/// Whether a file says that sotto wrote it, even if a bit of that has changed.
bool is_ours(const file_header& header) noexcept;

/// Reads what write_model_file wrote; also checkpoints of a training whose ranks have the same
/// parameters, published models, and any safetensors file of another program: its metadata then
/// name no format of sotto.
///   math    of another program F32 values are taken as they are, F16 and BF16 exactly, and F64 is
///           rounded to the nearest float. Tensors of other types are no values of a model
///   cost    the file is read once, a checkpoint twice
///   errors  io_failure: the system would not open or read it; malformed: it is not whole, a bit of
///           it has changed (where sotto wrote it), a value is beyond the largest float, or it is
///           no safetensors file; mismatch: it is one of something else
model_values read_model_file(const std::filesystem::path& path);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/read_model_file.ipp"
#endif
