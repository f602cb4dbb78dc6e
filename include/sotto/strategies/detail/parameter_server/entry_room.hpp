#pragma once

#include <cstdint>

#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/parameter_server/changed_entries.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// What a server that takes steps by entries holds of them at once, at most.
struct entry_room {
    std::int64_t pushed = 0;        // entries of a push
    std::int64_t answered = 0;      // of an answer by what has changed
    std::int64_t answer_bytes = 0;  // of it

    /// Of a compressor and the server's tensors.
    template <class Decoder>
    static entry_room of(const Decoder& decoder, const layout& tensors) {
        entry_room most;
        for (const tensor& t : tensors)
            if (!decoder.sums(t)) most.pushed += decoder.entries_max(t);
        most.answered = changed_entries::entries_max(tensors.size());
        most.answer_bytes = sotto::wire::encoded_sparse_bytes_max(tensors.size(), most.answered,
                                                                  wire::value_format::fp32);
        return most;
    }
};

}  // namespace sotto::detail
