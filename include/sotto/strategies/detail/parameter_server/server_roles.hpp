#pragma once

namespace sotto::detail {

/// Which ranks serve and which work.
class server_roles {
public:
    /// Of one rank of so many; throws invalid_option where nobody would serve, or work.
    server_roles(int servers, bool dedicated, int rank, int ranks);

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
    int worker_of(int rank) const noexcept;
    /// The rank of a worker.
    int rank_of(int worker) const noexcept { return worker + first_worker_; }

private:
    int servers_, first_worker_, rank_, ranks_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/server_roles.ipp"
#endif
