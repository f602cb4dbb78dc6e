// expect-error: fit: the data set's batch_type is not the one that the model reads
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/models/mlp.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/in_process.hpp"

struct sentences {
    using batch_type = std::vector<std::int32_t>;
    std::int64_t size() const;
    void gather(std::span<const std::int64_t>, batch_type&) const;
};

void misuse(sotto::models::mlp<>& model, sotto::in_process& transport, const sentences& data) {
    sotto::trainer trainer{model, sotto::all_reduce{}, transport};
    trainer.fit(data, sotto::epochs{1});
}
