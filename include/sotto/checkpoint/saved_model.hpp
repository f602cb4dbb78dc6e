#pragma once

#include <string>

#include "sotto/checkpoint/detail/model_values.hpp"
#include "sotto/core/layout.hpp"

namespace sotto {

/// What was learnt, out of a file. What kinds tensors are of is in none: here they are all weights.
struct saved_model : detail::checkpoint::model_values {
    std::string file{};  // where it was

    /// Names, shapes and places of the parameters. If another program wrote the file, all its
    /// tensors, buffers too.
    const layout& tensors() const noexcept { return kind.parameters; }

    /// Of names, shapes and values, in hexadecimal: by it ranks that begin with it know each other.
    ///   cost    it reads all of them
    std::string identity() const;

    /// Refuses parameters that are not those of a model with this layout. If another program wrote
    /// the file, names and shapes count alone: the order may differ, and the file may have more.
    ///   errors  mismatch, which names the first tensor that is missing, of another shape or type,
    ///           in another place or too many, what was expected and what was found
    void require(const layout& expected) const;
    /// The same of buffers.
    void require_buffers(const layout& expected) const;

    /// Refuses parameters from which no training can begin: NaN and infinity.
    ///   errors  malformed, which names the file, the tensor, its element and the value
    void require_finite() const;

    /// The tensors of a model with these parameters and buffers, as the model keeps them. If
    /// another program wrote the file, tensors are taken by their names, and others are left out.
    ///   errors  as require and require_buffers
    saved_model selected(const layout& expected, const layout& expected_buffers) &&;
    /// The same of a model that is kept: a copy.
    saved_model selected(const layout& expected, const layout& expected_buffers) const&;

    /// The same where the file must have no others.
    ///   errors  mismatch, also: a tensor of the file is neither a parameter nor a buffer;
    ///           malformed: see require_finite
    saved_model fitted_to(const layout& expected, const layout& expected_buffers = {}) &&;
    /// The same of a model that is kept: a copy.
    saved_model fitted_to(const layout& expected, const layout& expected_buffers = {}) const&;

private:
    /// The tensors of these names, out of a file that another program wrote and that has them.
    saved_model taken(const layout& expected, const layout& expected_buffers) const;

    void require_by_name(const std::string& what, const layout& expected) const;
};

/// Reads what save_model wrote; also a checkpoint of ranks that have the same parameters, a
/// published model, and any safetensors file that another program wrote.
///   errors  as checkpoint::read_model_file
saved_model load_model(const std::string& path);
/// The same for a model with these parameters and buffers. Of a file that another program wrote,
/// tensors that the model does not have are left out.
///   errors  as saved_model::selected, too
saved_model load_model(const std::string& path, const layout& expected,
                       const layout& expected_buffers);
/// The same for a model with these parameters; nothing is required of buffers.
///   errors  as saved_model::require, too
saved_model load_model(const std::string& path, const layout& expected);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/saved_model.ipp"
#endif
