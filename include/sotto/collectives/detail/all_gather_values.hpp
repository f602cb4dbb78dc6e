#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "sotto/core/errors.hpp"
#include "sotto/transports/fail_with_exception.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// Blocks until every rank has one value from each rank: all[r] is the value of rank r. For numbers
/// at set-up and at the end of an epoch. Pass `own` each time, even if it is in `all`: it is copied
/// there.
///   shape   all: as many values as ranks
///   wire    a value's own bytes. Value must have no padding, whose bytes would be random memory
///   cost    N-1 steps around a ring, one value each; no allocation
///   errors  invalid_option: `all` has another size; mismatch: another rank's values have another
///           size
template <class Value>
void all_gather_values(transport_ref through, const Value& own, std::span<Value> all, tag label) {
    static_assert(std::is_trivially_copyable_v<Value>,
                  "all_gather_values: values travel as their bytes");
    const int size = through.size(), rank = through.rank();
    if (all.size() != static_cast<std::size_t>(size))
        throw invalid_option("all_gather_values: room for " + std::to_string(all.size()) +
                             " values of " + std::to_string(size) + " ranks");
    const auto value_of = [&](int index) {
        return all.subspan(static_cast<std::size_t>((index + size) % size), 1);
    };
    value_of(rank)[0] = own;
    for (int hop = 0; hop < size - 1; ++hop) {
        const request received = through.receive((rank - 1 + size) % size, label,
                                                 std::as_writable_bytes(value_of(rank - hop - 1)));
        const request sent =
            through.send((rank + 1) % size, label, std::as_bytes(value_of(rank - hop)));
        const completion ended = through.wait(received);
        if (ended.bytes != static_cast<std::int64_t>(sizeof(Value))) {
            const std::string text = "all_gather_values: rank " + std::to_string(ended.source) +
                                     " sent " + std::to_string(ended.bytes) + " bytes where rank " +
                                     std::to_string(rank) + " expected " +
                                     std::to_string(sizeof(Value));
            // The values lent to the send are freed while the exception unwinds.
            sotto::detail::fail_as(through, text, errc::mismatch);
            throw mismatch(text);
        }
        through.wait(sent);
    }
}

}  // namespace sotto::detail::collectives
