#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/labelled_batch.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/losses/loss.hpp"
#include "sotto/nn/blas.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/buffer.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::models {

/// A classifier made of layers, `sequential{nn::shape{1, 28, 28}, nn::chain{...}}`: a predictor.
///   math    logits = layers(inputs);   loss over the batch's labels;   gradients by the chain
///           rule, last layer first
///   shape   batch: examples of as many values as `input` has
///           logits: examples x outputs, row-major
///           tensors are named after their layers: conv1.weight, conv1.bias, conv2.weight, ...,
///           dense1.weight, ...
///   cost    memory of the activations twice over: `predict` has its own, taken at its first call,
///           so that it may be called between `forward` and `backward` without disturbing them. No
///           allocation once the largest batch was seen. The same input gives the same bits.
///           The first model of a process keeps OpenBLAS to one thread, unless OPENBLAS_NUM_THREADS
///           is set.
///   errors  invalid_option: layers that do not fit each other, options of the loss that cannot
///           work (constructor); spans that are not as long as the layout, a batch whose examples
///           are not as long as the input, a label outside 0..outputs-1, backward without forward
///           on a batch of that size. Nothing is written then.
template <class Layer, class Loss = cross_entropy>
class sequential {
    static_assert(nn::layer<Layer>,
                  "Layer needs: bind(shape, blueprint&) -> state with output, forward, "
                  "activations, backward");
    static_assert(
        sotto::loss<Loss>,
        "Loss needs: value(logits, labels) and gradient(logits, labels, out), both -> double");

public:
    using batch_type = data::labelled_batch;

    sequential(nn::shape input, const Layer& layers, Loss criterion = {})
        : input_(input),
          layers_(layers),
          training_(layers.bind(input, plan_)),
          evaluation_(training_),
          loss_(std::move(criterion)) {
        nn::use_one_blas_thread();
        (void)loss_.value({}, {});  // refuses bad options here rather than in the first step
    }

    const sotto::layout& layout() const noexcept { return plan_.tensors(); }
    nn::shape input() const noexcept { return input_; }
    std::int64_t outputs() const noexcept { return training_.output().size(); }
    const Loss& loss() const noexcept { return loss_; }

    /// Weights uniform within the bounds that their layers chose, from a stream split by the
    /// tensor's name; biases 0.
    void initialise(std::span<float> parameters, random_stream random) const {
        check_parameters("parameters", parameters.size());
        plan_.initialise(parameters, random);
    }

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        const std::span<const float> logits = forward(parameters, batch);
        const std::span<float> to = logits_gradient_.take(static_cast<std::int64_t>(logits.size()));
        const double mean = loss_.gradient(logits, batch.labels(), to);
        backward(parameters, batch, to, out, on_ready);
        return mean;
    }

    std::span<const float> forward(std::span<const float> parameters, const batch_type& batch) {
        check(parameters, batch);
        const std::span<const float> logits = training_.forward(parameters, batch.inputs());
        forwarded_ = batch.size();
        return logits;
    }

    void backward(std::span<const float> parameters, const batch_type& batch,
                  std::span<const float> logits_gradient, std::span<float> out, auto&& on_ready) {
        check(parameters, batch);
        check_parameters("gradient", out.size());
        if (batch.size() != forwarded_)
            throw invalid_option(
                "sequential: backward on a batch of " + std::to_string(batch.size()) +
                " examples; expected the batch given to forward, " +
                (forwarded_ < 0 ? "which was not called" : std::to_string(forwarded_)));
        if (static_cast<std::int64_t>(logits_gradient.size()) != batch.size() * outputs())
            throw invalid_option("sequential: the gradient of the logits has " +
                                 std::to_string(logits_gradient.size()) + " values; expected " +
                                 std::to_string(batch.size()) + " x " + std::to_string(outputs()));
        training_.backward(parameters, batch.inputs(), logits_gradient, out, on_ready);
    }

    std::span<const float> predict(std::span<const float> parameters, const batch_type& batch) {
        check(parameters, batch);
        return evaluation_.forward(parameters, batch.inputs());
    }

    void describe(auto&& field) const {
        field("input", nn::to_string(input_));
        field("layers", layers_);
        field("loss", loss_);
    }

private:
    void check_parameters(const char* what, std::size_t size) const {
        if (static_cast<std::int64_t>(size) != layout().size())
            throw invalid_option(std::string("sequential: the span of ") + what + " has " +
                                 std::to_string(size) + " floats; expected " +
                                 std::to_string(layout().size()) + ", the layout's size");
    }

    void check(std::span<const float> parameters, const batch_type& batch) const {
        check_parameters("parameters", parameters.size());
        if (batch.size() > 0 && batch.width() != input_.size())
            throw invalid_option("sequential: the batch has examples of " +
                                 std::to_string(batch.width()) + " values; expected " +
                                 std::to_string(input_.size()) + ", " + nn::to_string(input_));
    }

    nn::blueprint plan_;
    nn::shape input_;
    Layer layers_;
    typename Layer::state training_;
    typename Layer::state evaluation_;
    Loss loss_;
    nn::buffer<> logits_gradient_;
    std::int64_t forwarded_ = -1;  // examples of the last forward
};

}  // namespace sotto::models
