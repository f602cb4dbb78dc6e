// expect-error: torch_model: the module's forward must take one at::Tensor and return one; else
#include <memory>

#include "sotto/adapters/torch.hpp"

struct of_two : torch::nn::Module {
    at::Tensor forward(at::Tensor a, at::Tensor b) { return a + b; }
};

void misuse(std::shared_ptr<of_two> net) {
    sotto::torch_model model{net};
}
