#pragma once

// Networks of LibTorch for benchmarks: torch_models.py in C++, with parameters in the same order.

#include <sotto/adapters/torch.hpp>

#include <cstdint>
#include <memory>

namespace study {

/// Two convolutions with batch norm; a shortcut without parameters.
struct residual_block : torch::nn::Module {
    torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
    torch::nn::BatchNorm2d norm1{nullptr}, norm2{nullptr};
    std::int64_t added;

    residual_block(std::int64_t inputs, std::int64_t channels) : added(channels - inputs) {
        using namespace torch::nn;
        const auto convolution = [](std::int64_t from, std::int64_t to, std::int64_t stride) {
            return Conv2d(Conv2dOptions(from, to, 3).stride(stride).padding(1).bias(false));
        };
        conv1 = register_module("conv1", convolution(inputs, channels, added > 0 ? 2 : 1));
        norm1 = register_module("norm1", BatchNorm2d(channels));
        conv2 = register_module("conv2", convolution(channels, channels, 1));
        norm2 = register_module("norm2", BatchNorm2d(channels));
    }

    at::Tensor forward(at::Tensor x) {
        const at::Tensor y = norm2(conv2(torch::relu(norm1(conv1(x)))));
        if (added > 0) {
            using torch::indexing::None, torch::indexing::Slice;
            x = x.index({Slice(), Slice(), Slice(None, None, 2), Slice(None, None, 2)});
            x = torch::nn::functional::pad(
                x, torch::nn::functional::PadFuncOptions({0, 0, 0, 0, 0, added}));
        }
        return torch::relu(y + x);
    }
};

/// The ResNet-20 of CIFAR-10.
inline torch::nn::Sequential residual_net() {
    using namespace torch::nn;
    Sequential net(Conv2d(Conv2dOptions(3, 16, 3).padding(1).bias(false)), BatchNorm2d(16), ReLU());
    std::int64_t inputs = 16;
    for (const std::int64_t channels : {16, 32, 64})
        for (int block = 0; block < 3; ++block) {
            net->push_back(std::make_shared<residual_block>(inputs, channels));
            inputs = channels;
        }
    net->push_back(AdaptiveAvgPool2d(1));
    net->push_back(Flatten());
    net->push_back(Linear(64, 10));
    return net;
}

inline torch::nn::Sequential mlp_net() {
    using namespace torch::nn;
    return Sequential(Linear(784, 256), ReLU(), Linear(256, 128), ReLU(), Linear(128, 10));
}

/// Initialises all values as LibTorch does. It is a `draw` of torch_model::options.
inline void draw_anew(torch::nn::Module& net, sotto::random_stream) {
    for (const auto& part : net.modules()) {
        if (auto* conv = part->as<torch::nn::Conv2d>()) conv->reset_parameters();
        if (auto* dense = part->as<torch::nn::Linear>()) dense->reset_parameters();
        if (auto* norm = part->as<torch::nn::BatchNorm2d>()) norm->reset_parameters();
    }
}

}  // namespace study
