// expect-error: torch_model: the first argument must be a module of LibTorch: a holder
#include "sotto/adapters/torch.hpp"

void misuse(int number) {
    sotto::torch_model model{number};
}
