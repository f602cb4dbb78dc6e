#pragma once

#include <cstdint>
#include <utility>

#include "sotto/core/random.hpp"
#include "sotto/data/dataset.hpp"
#include "sotto/data/sampler.hpp"

namespace sotto::detail {

/// Reads a rank's batches of an epoch one after another, and on request the next one ahead.
template <class Batch>
class batch_reader {
public:
    /// Discards the batch that was read ahead.
    void begin() noexcept { is_ahead_ = false; }

    template <class Data>
    const Batch& read(const Data& data, const data::sampler& sampler, std::int64_t round,
                      const random_stream& looks) {
        if (std::exchange(is_ahead_, false))
            std::swap(batch_, next_);
        else
            gather_to_train(data, sampler.batch(round), batch_, looks);
        return batch_;
    }

    /// Reads the batch of the next round; returns null if this rank has no examples then.
    template <class Data>
    const Batch* read_ahead(const Data& data, const data::sampler& sampler, std::int64_t round,
                            const random_stream& looks) {
        if (sampler.batch(round + 1).empty()) return nullptr;
        gather_to_train(data, sampler.batch(round + 1), next_, looks);
        is_ahead_ = true;
        return &next_;
    }

private:
    Batch batch_, next_;
    bool is_ahead_ = false;  // true: next_ is the next round's batch
};

}  // namespace sotto::detail
