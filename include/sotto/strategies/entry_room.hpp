#pragma once

#include <algorithm>
#include <cstdint>

#include "sotto/core/layout.hpp"
#include "sotto/strategies/changed_entries.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto {

/// What a server that takes steps by entries holds of them at once, at most.
struct entry_room {
    std::int64_t indices = 0;       // of a push, or of an answer by what has changed
    std::int64_t moved = 0;         // by one step
    std::int64_t answer_bytes = 0;  // of an answer by what has changed

    template <class Decoder>
    static entry_room of(const Decoder& decoder, const layout& tensors) {
        entry_room most;
        for (const tensor& t : tensors) {
            const bool whole = decoder.sums(t);
            (whole ? most.moved : most.indices) += whole ? t.size : decoder.entries_max(t);
        }
        most.moved += most.indices;
        const std::int64_t size = tensors.size(), changed = changed_entries::entries_max(size);
        most.indices = std::max(most.indices, changed);
        most.answer_bytes = wire::encoded_sparse_bytes_max(size, changed, wire::value_format::fp32);
        return most;
    }
};

}  // namespace sotto
