#pragma once

#include "sotto/checkpoint/detail/model_file.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL digest digest_of_model(const architecture& kind, std::span<const float> parameters,
                                  std::span<const float> buffers) {
    const digest names = kind.identity();
    digester all;
    all.update(names).update(std::as_bytes(parameters)).update(std::as_bytes(buffers));
    return all.value();
}

SOTTO_DECL std::string shown_shape(std::span<const std::int64_t> shape) {
    std::string text;
    for (const std::int64_t extent : shape)
        text += (text.empty() ? "" : ", ") + std::to_string(extent);
    return "[" + text + "]";
}

SOTTO_DECL void require_alike(const std::filesystem::path& file, const std::string& what,
                              const layout& found, std::span<const float> values,
                              const layout& expected) {
    const auto place_of = [](const tensor* t) {
        if (!t) return std::string("none");
        return "number " + std::to_string(t->index + 1) + " of shape " + shown_shape(t->shape);
    };
    const auto require = [&](const std::string& name) {
        const tensor *const is = found.find(name), *const wanted = expected.find(name);
        if (is && wanted && is->shape == wanted->shape && is->index == wanted->index) return;
        throw mismatch("'" + file.string() + "' is of another model: " + what + " '" + name +
                       "': expected " + place_of(wanted) + ", found " + place_of(is));
    };
    for (const tensor& t : expected) require(t.name);
    for (const tensor& t : found) require(t.name);
    if (std::ssize(values) != found.size())
        throw mismatch("'" + file.string() + "': expected " + std::to_string(found.size()) +
                       " values of " + what + "s, found " + std::to_string(values.size()));
}

}  // namespace sotto::detail::checkpoint
