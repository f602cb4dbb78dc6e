#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"
#include "support/allocation_count.hpp"

namespace sotto::testing {

/// A transport that counts what its rank allocates outside of it: what the transport itself takes,
/// and what other ranks do meanwhile where all share a thread, as on the simulated network, counts
/// for nothing.
template <tolerant_transport Inner>
class counted_apart {
public:
    explicit counted_apart(Inner& inner) : inner_(&inner) {}

    /// Allocations of this rank since this was made.
    std::int64_t count() const noexcept { return count_ + outside_.on_this_thread(); }

    int rank() const noexcept { return inner_->rank(); }
    int size() const noexcept { return inner_->size(); }
    request send(int to, tag label, byte_view out) {
        const inside there(*this);
        return inner_->send(to, label, out);
    }
    request receive(int from, tag label, mutable_byte_view in) {
        const inside there(*this);
        return inner_->receive(from, label, in);
    }
    std::optional<completion> poll(request r) {
        const inside there(*this);
        return inner_->poll(r);
    }
    completion wait(request r) {
        const inside there(*this);
        return inner_->wait(r);
    }
    std::uint64_t activity() {
        const inside there(*this);
        return inner_->activity();
    }
    void await(std::uint64_t seen) {
        const inside there(*this);
        inner_->await(seen);
    }
    bool agree(bool vote) {
        const inside there(*this);
        return inner_->agree(vote);
    }
    void withdraw() noexcept {
        const inside there(*this);
        inner_->withdraw();
    }
    void fail(std::string_view cause) noexcept {
        const inside there(*this);
        inner_->fail(cause);
    }
    [[noreturn]] void blame(int rank, const std::string& cause, errc code) {
        const inside there(*this);
        inner_->blame(rank, cause, code);
    }
    void at(peer_failure::job_phase now) {
        const inside there(*this);
        inner_->at(now);
    }
    void reserve(std::int64_t count) {
        const inside there(*this);
        inner_->reserve(count);
    }
    time_point now() const { return inner_->now(); }
    void charge(work amount) {
        const inside there(*this);
        inner_->charge(amount);
    }
    traffic counters() const { return inner_->counters(); }
    std::string simulated_network() const { return simulated_network_of(*inner_); }
    void tolerate() {
        const inside there(*this);
        inner_->tolerate();
    }
    std::optional<rank_change> next_change() {
        const inside there(*this);
        return inner_->next_change();
    }

private:
    struct inside {
        explicit inside(counted_apart& of) noexcept : of_(of) {
            of_.count_ += of_.outside_.on_this_thread();
        }
        inside(const inside&) = delete;
        inside& operator=(const inside&) = delete;
        ~inside() { of_.outside_ = support::allocation_count(); }

    private:
        counted_apart& of_;
    };

    Inner* inner_;
    std::int64_t count_ = 0;
    support::allocation_count outside_;  // since it was left
};

}  // namespace sotto::testing
