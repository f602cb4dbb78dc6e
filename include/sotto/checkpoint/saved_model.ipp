#pragma once

#include "sotto/checkpoint/saved_model.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/model_file.hpp"
#include "sotto/checkpoint/detail/read_model_file.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto {

SOTTO_DECL std::string saved_model::identity() const {
    return detail::checkpoint::hex(detail::checkpoint::digest_of_model(kind, parameters, buffers));
}

SOTTO_DECL void saved_model::require(const layout& expected) const {
    if (by_name) return require_by_name("tensor", expected);
    detail::checkpoint::require_alike(file, "tensor", tensors(), parameters, expected);
}

SOTTO_DECL void saved_model::require_buffers(const layout& expected) const {
    if (by_name) return require_by_name("buffer", expected);
    detail::checkpoint::require_alike(file, "buffer", kind.buffers, buffers, expected);
}

SOTTO_DECL void saved_model::require_finite() const {
    for (const tensor& t : tensors()) {
        const auto values = t.of(std::span<const float>(parameters));
        const std::int64_t at = detail::kernels::first_non_finite(values);
        if (at < 0) continue;
        throw error(errc::malformed,
                    "'" + file + "': tensor '" + t.name + "', element " + std::to_string(at) +
                        ", is " +
                        sotto::detail::general_text(values[static_cast<std::size_t>(at)], 9) +
                        "; training begins with finite values");
    }
}

SOTTO_DECL saved_model saved_model::selected(const layout& expected,
                                             const layout& expected_buffers) && {
    require(expected);
    require_buffers(expected_buffers);
    return by_name ? taken(expected, expected_buffers) : std::move(*this);
}

SOTTO_DECL saved_model saved_model::selected(const layout& expected,
                                             const layout& expected_buffers) const& {
    return saved_model(*this).selected(expected, expected_buffers);
}

SOTTO_DECL saved_model saved_model::fitted_to(const layout& expected,
                                              const layout& expected_buffers) && {
    require(expected);
    require_buffers(expected_buffers);
    if (by_name)
        for (const tensor& t : tensors())
            if (!expected.find(t.name) && !expected_buffers.find(t.name))
                throw mismatch("'" + file + "' is of another model: tensor '" + t.name +
                               "' of shape " + detail::checkpoint::shown_shape(t.shape) +
                               " is in the file and not in the model; load_model with the "
                               "model's layout leaves out such tensors");
    saved_model chosen = std::move(*this).selected(expected, expected_buffers);
    chosen.require_finite();
    return chosen;
}

SOTTO_DECL saved_model saved_model::fitted_to(const layout& expected,
                                              const layout& expected_buffers) const& {
    return saved_model(*this).fitted_to(expected, expected_buffers);
}

SOTTO_DECL saved_model saved_model::taken(const layout& expected,
                                          const layout& expected_buffers) const {
    saved_model fitted;
    fitted.file = file;
    const auto take = [&](const layout& from, layout& names, std::vector<float>& values) {
        values.reserve(static_cast<std::size_t>(from.size()));
        for (const tensor& t : from) {
            names.add(t.name, t.shape);
            const auto part = tensors().find(t.name)->of(std::span<const float>(parameters));
            values.insert(values.end(), part.begin(), part.end());
        }
    };
    take(expected, fitted.kind.parameters, fitted.parameters);
    take(expected_buffers, fitted.kind.buffers, fitted.buffers);
    return fitted;
}

SOTTO_DECL void saved_model::require_by_name(const std::string& what,
                                             const layout& expected) const {
    for (const tensor& t : expected) {
        const tensor* const is = tensors().find(t.name);
        if (is && is->shape == t.shape) continue;
        const auto other = std::ranges::find(
            other_types, t.name, &std::pair<std::string, detail::checkpoint::dtype>::first);
        const std::string found =
            is ? "shape " + detail::checkpoint::shown_shape(is->shape)
            : other != other_types.end()
                ? "values of " + std::string(detail::checkpoint::name_of(other->second)) +
                      ", which are none of F32, F16, BF16 and F64"
                : "no tensor of that name";
        throw mismatch("'" + file + "' is of another model: " + what + " '" + t.name +
                       "': expected shape " + detail::checkpoint::shown_shape(t.shape) +
                       ", found " + found);
    }
}

SOTTO_DECL saved_model load_model(const std::string& path) {
    return {detail::checkpoint::read_model_file(path), path};
}

SOTTO_DECL saved_model load_model(const std::string& path, const layout& expected,
                                  const layout& expected_buffers) {
    return load_model(path).selected(expected, expected_buffers);
}

SOTTO_DECL saved_model load_model(const std::string& path, const layout& expected) {
    saved_model learnt = load_model(path);
    if (learnt.by_name) return std::move(learnt).selected(expected, {});
    learnt.require(expected);
    return learnt;
}

}  // namespace sotto
