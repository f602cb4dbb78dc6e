#pragma once

#include "sotto/nn/blueprint.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::nn {

SOTTO_DECL std::string blueprint::name(std::string_view kind) {
    for (auto& [known, layers] : layers_)
        if (known == kind) return known + std::to_string(++layers);
    return layers_.emplace_back(kind, 1).first + "1";
}

SOTTO_DECL tensor blueprint::add_weight(const std::string& layer, std::vector<std::int64_t> extents,
                                        detail::nn::start how, std::int64_t fan_in,
                                        std::int64_t fan_out) {
    return add(layer + ".weight", std::move(extents), tensor_kind::weight,
               {.limit = bound(how, static_cast<double>(fan_in), static_cast<double>(fan_out))});
}

SOTTO_DECL tensor blueprint::add_bias(const std::string& layer, std::int64_t size) {
    return add(layer + ".bias", {size}, tensor_kind::bias, {});
}

SOTTO_DECL tensor blueprint::add_normalisation(const std::string& layer, const std::string& name,
                                               std::int64_t size, double start) {
    return add(layer + "." + name, {size}, tensor_kind::normalisation, {.centre = start});
}

SOTTO_DECL void blueprint::start_at(const tensor& t, double value) {
    starts_[static_cast<std::size_t>(t.index)] = {.centre = value};
}

SOTTO_DECL void blueprint::start_at(const tensor& t, std::int64_t first, std::int64_t count,
                                    double value) {
    parts_.push_back({t.offset + first, count, static_cast<float>(value)});
}

SOTTO_DECL tensor blueprint::add_buffer(const std::string& layer, const std::string& name,
                                        std::int64_t size, float start) {
    buffers_.add(layer + "." + name, {size}, tensor_kind::normalisation);
    buffer_starts_.push_back(start);
    return buffers_.tensors().back();
}

SOTTO_DECL void blueprint::initialise(std::span<float> parameters, random_stream random) const {
    for (const tensor& t : layout_) {
        const range& start = starts_[static_cast<std::size_t>(t.index)];
        const auto limit = static_cast<float>(start.limit);
        random_stream own = random.split(t.name);
        for (float& x : t.of(parameters))
            x = limit == 0.0f ? static_cast<float>(start.centre) : own.uniform(-limit, limit);
    }
    for (const run& part : parts_)
        std::fill_n(parameters.data() + part.offset, part.count, part.value);
}

SOTTO_DECL void blueprint::reset(std::span<float> buffers) const {
    for (const tensor& t : buffers_)
        std::ranges::fill(t.of(buffers), buffer_starts_[static_cast<std::size_t>(t.index)]);
}

SOTTO_DECL double blueprint::bound(detail::nn::start how, double fan_in, double fan_out) {
    switch (how) {
        case detail::nn::start::he: return std::sqrt(6.0 / fan_in);
        case detail::nn::start::lecun: return std::sqrt(3.0 / fan_in);
        case detail::nn::start::glorot: return std::sqrt(6.0 / (fan_in + fan_out));
    }
    throw invalid_option("nn::start: " + std::to_string(static_cast<int>(how)) +
                         "; expected he, lecun or glorot");
}

SOTTO_DECL tensor blueprint::add(std::string tensor_name, std::vector<std::int64_t> extents,
                                 tensor_kind kind, range start) {
    layout_.add(std::move(tensor_name), std::move(extents), kind);
    starts_.push_back(start);
    return layout_.tensors().back();
}

}  // namespace sotto::nn
