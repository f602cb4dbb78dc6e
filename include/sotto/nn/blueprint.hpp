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

/// How large weights are at first: uniform in [-a, a), so that signals keep their size from layer
/// to layer.
///   he      a = sqrt(6 / fan_in), before a relu, which halves the mean square
///   lecun   a = sqrt(3 / fan_in), before a max-pool and relu, which together keep it, or before
///           tanh
///   glorot  a = sqrt(6 / (fan_in + fan_out)), a compromise with the way back
///   source  He et al. 2015, arXiv:1502.01852;  LeCun, Bottou, Orr, Mueller 1998, Efficient
///           BackProp;  Glorot and Bengio 2010 (AISTATS)
enum class start : std::uint8_t { he, lecun, glorot };

/// As it is written in options: "he", "lecun" or "glorot".
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

/// A network while its layers are put together: each names its tensors here and says how they
/// start.
class blueprint {
public:
    /// A layer's name, "dense1" and then "dense2" for kind "dense".
    std::string name(std::string_view kind);

    /// Adds "LAYER.weight" of these extents, whose bound follows from the values that go in and
    /// come out.
    tensor add_weight(const std::string& layer, std::vector<std::int64_t> extents,
                      detail::nn::start how, std::int64_t fan_in, std::int64_t fan_out);

    /// Adds "LAYER.bias", 0 at first.
    tensor add_bias(const std::string& layer, std::int64_t size);

    /// What a normalised value is multiplied by (start at 1) or shifted by (at 0).
    tensor add_normalisation(const std::string& layer, const std::string& name, std::int64_t size,
                             double start);

    /// Another start for a tensor that is in the plan already: every value alike.
    void start_at(const tensor& t, double value);

    /// The same for `count` of its values from `first` on.
    void start_at(const tensor& t, std::int64_t first, std::int64_t count, double value);

    /// What a layer keeps besides parameters, from pass to pass: its place among the network's
    /// buffers.
    tensor add_buffer(const std::string& layer, const std::string& name, std::int64_t size,
                      float start);

    /// All parameters so far.
    const sotto::layout& tensors() const noexcept { return layout_; }
    /// All buffers so far.
    const sotto::layout& buffers() const noexcept { return buffers_; }

    /// Layers before the first parameter need not know how their input moves the loss.
    bool has_parameters() const noexcept { return !layout_.tensors().empty(); }

    /// Starting values: a stream for each tensor, split by its name, so that other tensors do not
    /// matter.
    void initialise(std::span<float> parameters, random_stream random) const;

    /// Gives all buffers their starting values.
    void reset(std::span<float> buffers) const;

private:
    // Uniform within the limit on both sides of 0, or all at the centre.
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
    std::vector<run> parts_;  // that start otherwise
    sotto::layout buffers_;
    std::vector<float> buffer_starts_;
    std::vector<std::pair<std::string, std::int64_t>> layers_;  // how many of each kind
};

}  // namespace sotto::nn

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/nn/blueprint.ipp"
#endif
