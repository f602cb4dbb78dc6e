// An MLP of 784-512-10 with LibTorch, and ten steps of SGD: what compiling its peer costs.

#include <torch/torch.h>

#include <cstdio>

struct mlp : torch::nn::Module {
    mlp()
        : hidden(register_module("hidden", torch::nn::Linear(784, 512))),
          output(register_module("output", torch::nn::Linear(512, 10))) {}

    torch::Tensor forward(torch::Tensor x) {
        return output->forward(torch::relu(hidden->forward(x)));
    }

    torch::nn::Linear hidden, output;
};

int main() {
    mlp model;
    torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.1));
    const auto images = torch::rand({32, 784});
    const auto labels = torch::randint(10, {32}, torch::kLong);
    for (int step = 0; step < 10; ++step) {
        optimizer.zero_grad();
        auto loss = torch::nn::functional::cross_entropy(model.forward(images), labels);
        loss.backward();
        optimizer.step();
        std::printf("step %d: loss %.4f\n", step + 1, loss.item<double>());
    }
}
