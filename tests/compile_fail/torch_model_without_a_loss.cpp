// expect-error: torch_model: the loss must be a sotto::loss, such as cross_entropy or
#include "sotto/adapters/torch.hpp"

void misuse(torch::nn::Linear net) {
    sotto::torch_model model{net, {.outputs = 1}, [](double) { return 0.0; }};
}
