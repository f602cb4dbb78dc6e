// expect-error: torch_model: a sotto::loss asks for labels, which the batch has not
#include <vector>

#include "sotto/adapters/torch.hpp"

void misuse(torch::nn::Linear net) {
    sotto::torch_model model{net,
                             {.outputs = 1},
                             sotto::cross_entropy{},
                             [](torch::nn::LinearImpl& linear, const std::vector<float>&) {
                                 return linear.forward(torch::zeros({1, 1}));
                             }};
}
