#pragma once

#include <string>

#include "sotto/checkpoint/detail/model_values.hpp"
#include "sotto/core/layout.hpp"

namespace sotto {

/// Parameters and buffers of a model, read from a file. No file stores the kinds of tensors: here
/// all are weights.
struct saved_model : detail::checkpoint::model_values {
    std::string file{};  // path of the file

    /// Returns names, shapes and places of the parameters. If another program wrote the file, these
    /// are all its tensors, including buffers.
    const layout& tensors() const noexcept { return kind.parameters; }

    /// Returns a digest of names, shapes and values, in hexadecimal. Ranks compare it to check that
    /// they begin with the same model.
    ///   cost    reads all values
    std::string identity() const;

    /// Refuses parameters that do not fit a model with this layout. If another program wrote the
    /// file, only names and shapes count: the order may differ, and the file may have more tensors.
    ///   errors  mismatch, which names the first tensor that is missing, of another shape or type,
    ///           in another place or additional, what was expected and what was found
    void require(const layout& expected) const;
    /// Same for buffers.
    void require_buffers(const layout& expected) const;

    /// Refuses parameters that are NaN or infinite, because training cannot begin with them.
    ///   errors  malformed, which names the file, the tensor, its element and the value
    void require_finite() const;

    /// Returns the tensors of a model with these parameters and buffers, in the model's order. If
    /// another program wrote the file, selects tensors by name and drops others.
    ///   errors  as require and require_buffers
    saved_model selected(const layout& expected, const layout& expected_buffers) &&;
    /// Same, on a copy.
    saved_model selected(const layout& expected, const layout& expected_buffers) const&;

    /// Same as selected, but the file must not have other tensors.
    ///   errors  also mismatch: a tensor of the file is neither a parameter nor a buffer;
    ///           malformed: see require_finite
    saved_model fitted_to(const layout& expected, const layout& expected_buffers = {}) &&;
    /// Same, on a copy.
    saved_model fitted_to(const layout& expected, const layout& expected_buffers = {}) const&;

private:
    /// Returns the tensors with these names. Requires that another program wrote the file and that
    /// it has them.
    saved_model taken(const layout& expected, const layout& expected_buffers) const;

    void require_by_name(const std::string& what, const layout& expected) const;
};

/// Reads what save_model wrote. Also reads a checkpoint of ranks that have the same parameters, a
/// published model, and any safetensors file that another program wrote.
///   errors  as checkpoint::read_model_file
saved_model load_model(const std::string& path);
/// Same for a model with these parameters and buffers. If another program wrote the file, drops
/// tensors that the model does not have.
///   errors  also as saved_model::selected
saved_model load_model(const std::string& path, const layout& expected,
                       const layout& expected_buffers);
/// Same for a model with these parameters; does not check buffers.
///   errors  also as saved_model::require
saved_model load_model(const std::string& path, const layout& expected);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/saved_model.ipp"
#endif
