#pragma once

#include <cstdint>
#include <string>

namespace sotto::detail {

/// A rank that went while others trained on, or of which nothing came any more when they had ended.
struct rank_loss {
    int rank = 0;         // that was lost
    std::string cause{};  // why it went
    /// It served, and came again without these rounds of this rank, which it had acknowledged
    /// before: no parameters hold what they gave, and nobody remembers it.
    std::int64_t rounds = 0;
    // Where the strategy tells of them; -1: it does not, or that has not been.
    std::int64_t step = -1;        // that this rank was in when it went
    double seconds = -1.0;         // then, since the call of `fit` began
    std::int64_t again_step = -1;  // when it came again

    friend bool operator==(const rank_loss&, const rank_loss&) = default;
};

}  // namespace sotto::detail
