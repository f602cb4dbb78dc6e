// expect-error: checkpoints: .*so must a compressor with commit or rollback
// What could be undone was remembered; without visit no checkpoint would have it.
#include "sotto/data/digits.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct forgetful {
    struct state {
        void encode(const sotto::tensor&, std::span<const float>, sotto::bytes&);
        void decode_add(const sotto::tensor&, sotto::byte_view, std::span<float>);
        void commit() noexcept;
        void rollback() noexcept;
    };
    state bind(const sotto::layout&) const;
};

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport) {
    sotto::trainer trainer{model, sotto::all_reduce{sotto::sgd{}, forgetful{}}, transport};
    trainer.fit(sotto::data::digits(10, sotto::random_stream{1}), sotto::epochs{1},
                sotto::checkpoints{"run"});
}
