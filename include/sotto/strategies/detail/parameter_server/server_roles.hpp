#pragma once

#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

/// Which ranks serve and which work.
class server_roles {
public:
    /// Of one rank of so many; throws invalid_option where nobody would serve, or work.
    server_roles(int servers, bool dedicated, int rank, int ranks)
        : servers_(servers), first_worker_(dedicated ? servers : 0), rank_(rank), ranks_(ranks) {
        require_option("parameter_server", "servers", servers, allowed::at_least(1).at_most(ranks),
                       ", the number of ranks");
        if (workers() < 1)
            throw invalid_option("parameter_server: dedicated servers on all ranks, which are " +
                                 std::to_string(ranks) + "; one at least must work");
    }

    /// Ranks that serve: 0 to this.
    int servers() const noexcept { return servers_; }
    /// Ranks that work.
    int workers() const noexcept { return ranks_ - first_worker_; }
    /// Whether this rank serves.
    bool serves() const noexcept { return rank_ < servers_; }
    /// Whether this rank works.
    bool works() const noexcept { return rank_ >= first_worker_; }
    /// This rank's number among workers; below 0: it does not work.
    int own_worker() const noexcept { return rank_ - first_worker_; }

    /// -1 for a rank that does not work.
    int worker_of(int rank) const noexcept {
        return rank >= first_worker_ ? rank - first_worker_ : -1;
    }
    /// The rank of a worker.
    int rank_of(int worker) const noexcept { return worker + first_worker_; }

private:
    int servers_, first_worker_, rank_, ranks_;
};

}  // namespace sotto::detail
