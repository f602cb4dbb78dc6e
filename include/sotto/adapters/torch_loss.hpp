#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "sotto/adapters/detail/torch_library.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/losses/loss.hpp"

namespace sotto {

/// A loss written with LibTorch, as a sotto::loss:
/// `torch_loss{[](const at::Tensor& logits, const at::Tensor& labels) { return ...; }}`.
///   math    the function's value, the mean over the labels, and its gradient by autograd
///   shape   logits: labels x outputs;  labels: 64-bit integers
///   errors  invalid_option: as every loss; a function that does not return a single number
template <class Function>
struct torch_loss {
    static_assert(
        std::is_invocable_r_v<at::Tensor, const Function&, const at::Tensor&, const at::Tensor&>,
        "torch_loss: it needs a function (const at::Tensor& logits, const at::Tensor& "
        "labels) -> at::Tensor");

    Function function{};  // of logits and labels

    double value(std::span<const float> logits, std::span<const std::int32_t> labels) const {
        if (outputs_of(logits, labels) == 0) return 0.0;
        const at::NoGradGuard none;
        return number(function(matrix(logits, labels), whole(labels)));
    }

    double gradient(std::span<const float> logits, std::span<const std::int32_t> labels,
                    std::span<float> out) const {
        detail::check_gradient_size(name, logits.size(), out.size());
        if (outputs_of(logits, labels) == 0) return 0.0;
        const at::AutoGradMode differentiating(true);
        const at::Tensor at = matrix(logits, labels).requires_grad_();
        const at::Tensor loss = function(at, whole(labels));
        const double result = number(loss);
        matrix(out, labels).copy_(::torch::autograd::grad({loss}, {at}).front());
        return result;
    }

    void describe(auto&&) const {}  // ranks of the same program have the same function

private:
    static constexpr const char* name = "torch_loss";

    static std::size_t outputs_of(std::span<const float> logits,
                                  std::span<const std::int32_t> labels) {
        return detail::checked_outputs(name, logits, labels);
    }

    static at::Tensor matrix(std::span<const float> values, std::span<const std::int32_t> labels) {
        return ::torch::from_blob(const_cast<float*>(values.data()),
                                  {std::ssize(labels), std::ssize(values) / std::ssize(labels)},
                                  ::torch::kFloat32);
    }

    static at::Tensor whole(std::span<const std::int32_t> labels) {
        return ::torch::from_blob(const_cast<std::int32_t*>(labels.data()), {std::ssize(labels)},
                                  ::torch::kInt32)
            .to(::torch::kInt64);
    }

    static double number(const at::Tensor& loss) {
        if (!loss.defined() || loss.numel() != 1)
            throw invalid_option("torch_loss: the function returned " +
                                 std::to_string(loss.defined() ? loss.numel() : 0) +
                                 " values; expected 1, the mean over the labels");
        return loss.item<double>();
    }
};

template <class Function>
torch_loss(Function) -> torch_loss<Function>;

}  // namespace sotto
