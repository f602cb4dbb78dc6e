#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sotto/transports/transport.hpp"

namespace sotto::testing {

/// What the concept of a transport asks for, and no more; declared only.
struct least_transport {
    int rank() const;
    int size() const;
    request send(int, tag, byte_view);
    request receive(int, tag, mutable_byte_view);
    std::optional<completion> poll(request);
    completion wait(request);
    std::uint64_t activity();
    void await(std::uint64_t);
    bool agree(bool);
    void withdraw() noexcept;
    void fail(std::string_view) noexcept;
    void at(peer_failure::job_phase);
    void reserve(std::int64_t);
    time_point now() const;
    void charge(work);
    traffic counters() const;
};
static_assert(transport<least_transport>);

}  // namespace sotto::testing
