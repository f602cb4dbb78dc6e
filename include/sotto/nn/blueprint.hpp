#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"

namespace sotto::detail::nn {

/// Initial range of weights: uniform in [-a, a), chosen so that signals keep their size across
/// layers.
///   he      a = sqrt(6 / fan_in), before a relu, which halves the mean square
///   lecun   a = sqrt(3 / fan_in), before a max-pool and relu, which together keep it, or before
///           tanh
///   glorot  a = sqrt(6 / (fan_in + fan_out)), a compromise with the backward pass
///   source  He et al. 2015, arXiv:1502.01852;  LeCun, Bottou, Orr, Mueller 1998, Efficient
///           BackProp;  Glorot and Bengio 2010 (AISTATS)
enum class start : std::uint8_t { he, lecun, glorot };

/// Returns the name used in options: "he", "lecun" or "glorot".
constexpr std::string_view name_of(start how) noexcept {
    switch (how) {
        case start::he: return "he";
        case start::lecun: return "lecun";
        case start::glorot: return "glorot";
    }
    return "unknown";
}

}  // namespace sotto::detail::nn

namespace sotto::nn {

/// Collects the tensors of a network while its layers are bound, with their names and starting
/// values.
class blueprint {
public:
    /// Returns a new layer name: "dense1", then "dense2" for kind "dense".
    std::string name(std::string_view kind);

    /// Adds "LAYER.weight" of these extents. Its bound follows from fan_in and fan_out.
    tensor add_weight(const std::string& layer, std::vector<std::int64_t> extents,
                      detail::nn::start how, std::int64_t fan_in, std::int64_t fan_out);

    /// Adds "LAYER.bias", initially 0.
    tensor add_bias(const std::string& layer, std::int64_t size);

    /// Adds the scale (start 1) or shift (start 0) of normalised values.
    tensor add_normalisation(const std::string& layer, const std::string& name, std::int64_t size,
                             double start);

    /// Changes the starting value of a tensor already added; all its values start at `value`.
    void start_at(const tensor& t, double value);

    /// The same for `count` of its values from `first` on.
    void start_at(const tensor& t, std::int64_t first, std::int64_t count, double value);

    /// Adds a layer's state that is kept between passes but is not a parameter, and returns its
    /// place in the buffers.
    tensor add_buffer(const std::string& layer, const std::string& name, std::int64_t size,
                      float start);

    /// All parameters so far.
    const sotto::layout& tensors() const noexcept { return layout_; }
    /// All buffers so far.
    const sotto::layout& buffers() const noexcept { return buffers_; }

    /// True if a parameter exists. Layers before the first one need no gradient of their input.
    bool has_parameters() const noexcept { return !layout_.tensors().empty(); }

    /// Writes starting values. Each tensor uses a stream split by its name, so other tensors do not
    /// matter.
    void initialise(std::span<float> parameters, random_stream random) const;

    /// Sets all buffers to their starting values.
    void reset(std::span<float> buffers) const;

private:
    // Uniform in centre +- limit.
    struct range {
        double centre = 0.0;
        double limit = 0.0;
    };
    struct run {
        std::int64_t offset, count;
        float value;
    };

    static double bound(detail::nn::start how, double fan_in, double fan_out);

    tensor add(std::string tensor_name, std::vector<std::int64_t> extents, tensor_kind kind,
               range start);

    sotto::layout layout_;
    std::vector<range> starts_;
    std::vector<run> parts_;  // with their own starting values
    sotto::layout buffers_;
    std::vector<float> buffer_starts_;
    std::vector<std::pair<std::string, std::int64_t>> layers_;  // number of each kind
};

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/blueprint.ipp"
#endif
