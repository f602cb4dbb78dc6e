#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/labelled_batch.hpp"
#include "sotto/losses/cross_entropy.hpp"
#include "sotto/losses/loss.hpp"
#include "sotto/nn/detail/blas.hpp"
#include "sotto/nn/blueprint.hpp"
#include "sotto/nn/detail/buffer.hpp"
#include "sotto/nn/layer.hpp"
#include "sotto/nn/pass.hpp"
#include "sotto/nn/shape.hpp"

namespace sotto::models {

/// A classifier made of layers, `sequential{nn::shape{1, 28, 28}, nn::chain{...}}`. It is a
/// predictor.
///   math    logits = layers(inputs);   loss over the batch's labels;   gradients by the chain
///           rule, last layer first
///   shape   batch: examples with as many values as `input`
///           logits: examples x outputs, row-major
///           tensors are named after their layers: conv1.weight, conv1.bias, conv2.weight, ...,
///           dense1.weight, ...
///           A sequence has a label at each of its `positions`. The network's outputs are then that
///           many rows of logits.
///   cost    memory of the activations twice: `predict` has its own, allocated at its first call,
///           so it may be called between `forward` and `backward`. No allocation after the largest
///           batch. The same input gives the same bits.
///           The first model of a process limits OpenBLAS to one thread, unless
///           OPENBLAS_NUM_THREADS is set.
///   errors  invalid_option: layers that do not fit each other, invalid options of the loss
///           (constructor); spans of another length than the layout, a batch whose examples differ
///           in length from the input, a label outside 0..outputs-1, backward without forward on a
///           batch of that size. Nothing is written then.
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

    /// Binds layers to examples of shape `input`, with a loss and `positions` labels per example.
    sequential(nn::shape input, const Layer& layers, Loss criterion = {},
               std::int64_t positions = 1)
        : input_(input),
          layers_(layers),
          positions_(positions),
          training_(layers.bind(input, plan_)),
          evaluation_(training_),
          buffers_(static_cast<std::size_t>(plan_.buffers().size())),
          loss_(std::move(criterion)) {
        detail::nn::use_one_blas_thread();
        if (positions < 1 || training_.output().size() % positions != 0)
            throw invalid_option("sequential: " + std::to_string(positions) +
                                 " positions; expected a divisor of the " +
                                 std::to_string(training_.output().size()) +
                                 " values that the layers put out");
        reset_buffers();
        check_loss();
    }

    const sotto::layout& layout() const noexcept { return plan_.tensors(); }
    /// Shape of one example.
    nn::shape input() const noexcept { return input_; }
    std::int64_t outputs() const noexcept { return training_.output().size() / positions_; }
    /// Labels per example: 1 unless it is a sequence.
    std::int64_t positions() const noexcept { return positions_; }
    /// The loss and its options.
    const Loss& loss() const noexcept { return loss_; }

    /// Draws weights uniformly within their layers' bounds, from a stream split by the tensor's
    /// name. Biases are 0 or as their layer specifies.
    void initialise(std::span<float> parameters, random_stream random) const {
        check_parameters("parameters", parameters.size());
        plan_.initialise(parameters, random);
    }

    const sotto::layout& buffer_layout() const noexcept { return plan_.buffers(); }
    std::span<float> buffers() noexcept { return buffers_; }
    void reset_buffers() noexcept { plan_.reset(buffers_); }

    /// Sets the random stream of the next forward passes.
    void reseed(random_stream random) noexcept { random_ = random; }

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
        forwarded_ = -1;  // until the pass has completed
        nn::pass at(parameters);
        at.buffers = at.next_buffers = buffers_;
        at.random = random_;
        const std::span<const float> logits = training_.forward(at, batch.inputs());
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
        const std::int64_t labels = batch.size() * positions_;
        if (static_cast<std::int64_t>(logits_gradient.size()) != labels * outputs())
            throw invalid_option("sequential: the gradient of the logits has " +
                                 std::to_string(logits_gradient.size()) + " values; expected " +
                                 std::to_string(labels) + " x " + std::to_string(outputs()));
        training_.backward(parameters, batch.inputs(), logits_gradient, out, on_ready);
    }

    std::span<const float> predict(std::span<const float> parameters, const batch_type& batch) {
        return predict(parameters, buffers_, batch);
    }

    /// Predicts with the buffers of another model of this kind that belong to its parameters.
    std::span<const float> predict(std::span<const float> parameters,
                                   std::span<const float> buffers, const batch_type& batch) {
        check(parameters, batch);
        if (buffers.size() != buffers_.size())
            throw invalid_option("sequential: " + std::to_string(buffers.size()) +
                                 " buffers; expected " + std::to_string(buffers_.size()));
        nn::pass at(parameters);
        at.buffers = buffers;
        at.training = false;
        return evaluation_.forward(at, batch.inputs());
    }

    void describe(auto&& field) const {
        field("input", nn::to_string(input_));
        field("positions", positions_);
        field("layers", layers_);
        field("loss", loss_);
    }

private:
    /// Checks the loss options against the number of outputs here, not in the first step.
    void check_loss() const {
        (void)loss_.value({}, {});
        constexpr std::int32_t label = 0;
        if (outputs() > 0)
            (void)loss_.value(std::vector<float>(static_cast<std::size_t>(outputs())),
                              std::span(&label, 1));
    }

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
        const auto labels = static_cast<std::int64_t>(batch.labels().size());
        if (labels != batch.size() * positions_)
            throw invalid_option("sequential: the batch has " + std::to_string(labels) +
                                 " labels for " + std::to_string(batch.size()) +
                                 " examples; expected " + std::to_string(positions_) + " for each");
    }

    nn::blueprint plan_;
    nn::shape input_;
    Layer layers_;
    std::int64_t positions_;
    typename Layer::state training_;
    typename Layer::state evaluation_;
    std::vector<float> buffers_;
    random_stream random_{};
    Loss loss_;
    detail::nn::buffer<> logits_gradient_;
    std::int64_t forwarded_ = -1;  // examples of the last forward; -1: none
};

}  // namespace sotto::models
