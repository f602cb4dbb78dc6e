#pragma once

// Modules and examples that tests of the adapter have in common.

#include "support/with_torch.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/data/labelled_batch.hpp"
#include "sotto/data/labelled_set.hpp"

namespace torch_test {

/// Pictures of 6 x 6 whose label is the quarter that is brighter.
inline sotto::data::labelled_set quarters(std::int64_t count, std::uint64_t seed) {
    sotto::random_stream random{seed};
    std::vector<float> pixels;
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; i < count; ++i) {
        labels.push_back(static_cast<std::int32_t>(random.below(4)));
        for (int y = 0; y < 6; ++y)
            for (int x = 0; x < 6; ++x)
                pixels.push_back(0.3f * random.normal() +
                                 ((y / 3) * 2 + x / 3 == labels.back() ? 1.0f : 0.0f));
    }
    return {{1, 6, 6}, std::move(pixels), std::move(labels)};
}

inline sotto::data::labelled_batch batch_of(const sotto::data::labelled_set& all,
                                            std::int64_t count) {
    std::vector<std::int64_t> first;
    for (std::int64_t i = 0; i < count; ++i) first.push_back(i);
    sotto::data::labelled_batch batch;
    all.gather(first, batch);
    return batch;
}

struct convolving_impl : torch::nn::Module {
    torch::nn::Conv2d conv{torch::nn::Conv2dOptions(1, 3, 3).bias(false)};
    torch::nn::BatchNorm2d norm{3};
    torch::nn::Linear head{48, 4};
    const void *weight_at = nullptr, *mean_at = nullptr;  // in the last forward
    bool trained = false;

    convolving_impl() {
        register_module("conv", conv);
        register_module("norm", norm);
        register_module("head", head);
        // The same on every rank, whoever else draws.
        torch::NoGradGuard none;
        sotto::random_stream random{5};
        for (const at::Tensor& p : {conv->weight, head->weight, head->bias})
            for (std::int64_t i = 0; i < p.numel(); ++i)
                p.view({-1}).data_ptr<float>()[i] = 0.3f * random.normal();
    }

    at::Tensor forward(at::Tensor inputs) {
        weight_at = conv->weight.data_ptr();
        mean_at = norm->running_mean.data_ptr();
        trained = is_training();
        return head(torch::relu(norm(conv(inputs))).flatten(1));
    }
};

/// Without batch norm, so that examples do not depend on each other.
struct plain_impl : torch::nn::Module {
    torch::nn::Linear first{36, 8}, second{8, 4};

    plain_impl() {
        register_module("first", first);
        register_module("second", second);
        torch::NoGradGuard none;
        sotto::random_stream random{6};
        for (const at::Tensor& p : parameters())
            for (std::int64_t i = 0; i < p.numel(); ++i)
                p.view({-1}).data_ptr<float>()[i] = 0.3f * random.normal();
    }
    at::Tensor forward(at::Tensor inputs) { return second(torch::tanh(first(inputs))); }
};

inline std::shared_ptr<convolving_impl> convolving() {
    return std::make_shared<convolving_impl>();
}
inline std::shared_ptr<plain_impl> plain() {
    return std::make_shared<plain_impl>();
}

template <class Model>
std::vector<float> start_of(const Model& model, std::uint64_t seed = 1) {
    std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
    model.initialise(parameters, sotto::random_stream{seed});
    return parameters;
}

struct nothing {
    void operator()(const sotto::tensor&) const {}
};

}  // namespace torch_test
