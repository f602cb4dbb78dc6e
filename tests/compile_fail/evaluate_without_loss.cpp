// expect-error: evaluate: the model must be a predictor \(forward, backward, predict
#include <span>

#include "sotto/data/labelled_set.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct without_loss {
    using batch_type = sotto::data::labelled_batch;
    const sotto::layout& layout() const;
    void initialise(std::span<float>, sotto::random_stream) const;
    double gradient(std::span<const float>, const batch_type&, std::span<float>, auto&&) {
        return 0.0;
    }
};

void misuse(without_loss& model, sotto::in_process& transport,
            const sotto::data::labelled_set& data) {
    sotto::trainer trainer{model, sotto::all_reduce{}, transport};
    trainer.evaluate(data);
}
