#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/wire/detail/protocols/gossip_word.hpp"

namespace sotto::detail {

/// Whether what one rank hears of others, where ranks may come and go, can bring nearer what it
/// waits for: a number that grows with everything that can. A rank that comes again and again, and
/// never further, does not: whoever waits for another one does not wait for longer because of it.
/// Without input or output.
///   cost    40 bytes for each rank
class wait_progress {
public:
    /// Of so many ranks.
    explicit wait_progress(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

    /// A rank says where it is. That counts where no process of it has been as far.
    void tells(int rank, const wire::gossip_word& w) noexcept;
    /// It went: others need not wait for it. That counts once each time that it had come further.
    void goes(int rank) noexcept;
    /// What was waited for came, or a part of it.
    void comes() noexcept { ++count_; }

    /// The number.
    std::int64_t count() const noexcept { return count_; }

private:
    struct place {
        std::uint64_t fit = 0;
        wire::gossip_place at{};
        int state = 0;  // in that round: 1 it waits for the sum, 2 it is done

        friend constexpr auto operator<=>(const place&, const place&) = default;
    };
    struct known {
        place furthest{};
        bool is_further = true;  // than when it went last
    };

    std::vector<known> ranks_;
    std::int64_t count_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/wait_progress.ipp"
#endif
