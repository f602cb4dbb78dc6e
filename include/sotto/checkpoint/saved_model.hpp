#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "sotto/checkpoint/digest.hpp"
#include "sotto/checkpoint/model_file.hpp"
#include "sotto/checkpoint/read_model_file.hpp"
#include "sotto/core/layout.hpp"

namespace sotto {

/// What was learnt, out of a file. What kinds tensors are of is in none: here they are all weights.
struct saved_model : checkpoint::model_values {
    std::filesystem::path file{};  // where it was

    /// Names, shapes and places of the parameters.
    const layout& tensors() const noexcept { return kind.parameters; }

    /// Of names, shapes and values, in hexadecimal: by it ranks that begin with it know each other.
    ///   cost    it reads all of them
    std::string identity() const {
        return checkpoint::hex(checkpoint::digest_of_model(kind, parameters, buffers));
    }

    /// Refuses parameters that are not those of a model with this layout.
    ///   errors  mismatch, which names the first tensor that is missing, of another shape, in
    ///           another place or too many, what was expected and what was found
    void require(const layout& expected) const {
        checkpoint::require_alike(file, "tensor", tensors(), parameters, expected);
    }
    /// The same of buffers.
    void require_buffers(const layout& expected) const {
        checkpoint::require_alike(file, "buffer", kind.buffers, buffers, expected);
    }
};

/// Reads what save_model wrote; also a checkpoint of ranks that have the same parameters, and a
/// published model.
///   errors  as checkpoint::read_model_file
inline saved_model load_model(const std::filesystem::path& path) {
    return {checkpoint::read_model_file(path), path};
}
/// The same for a model with this layout.
///   errors  as saved_model::require, too
inline saved_model load_model(const std::filesystem::path& path, const layout& expected) {
    saved_model learnt = load_model(path);
    learnt.require(expected);
    return learnt;
}

}  // namespace sotto
