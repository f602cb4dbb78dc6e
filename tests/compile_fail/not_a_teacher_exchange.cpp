// expect-error: codistillation: the third policy must be a teacher_exchange

#include <string>

#include "sotto/core/layout.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/transports/in_process.hpp"

struct folder {
    std::string path;
};

void misuse(const sotto::layout& tensors, sotto::in_process& transport) {
    sotto::codistillation{sotto::all_reduce{}, sotto::forward_kl{}, folder{"teachers"}}.bind(
        tensors, transport);
}
