// expect-error: trainer: the model must be a gradient_source: it needs batch_type, layout\(\)
#include <span>

#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct without_gradient {
    struct batch_type {};
    const sotto::layout& layout() const;
    void initialise(std::span<float>, sotto::random_stream) const;
};

void misuse(without_gradient& model, sotto::in_process& transport) {
    sotto::trainer trainer{model, sotto::all_reduce{}, transport};
}
