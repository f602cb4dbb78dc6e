// expect-error: trainer: this strategy asks for logits, so the model must be a predictor

#include <span>

#include "sotto/data/labelled_set.hpp"
#include "sotto/distillation/forward_kl.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/codistillation/exchanges/checkpoint_exchange.hpp"
#include "sotto/strategies/codistillation.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct without_logits {
    using batch_type = sotto::data::labelled_batch;
    const sotto::layout& layout() const;
    void initialise(std::span<float>, sotto::random_stream) const;
    double gradient(std::span<const float>, const batch_type&, std::span<float>, auto&&) {
        return 0.0;
    }
};

void misuse(without_logits& model, sotto::in_process& transport,
            const sotto::data::labelled_set& data) {
    sotto::trainer trainer{model,
                           sotto::codistillation{sotto::all_reduce{}, sotto::forward_kl{},
                                                 sotto::checkpoint_exchange{.folder = "there"}},
                           transport};
    trainer.fit(data, sotto::steps{1});
}
