#pragma once

#include "sotto/report/advice_link.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/collectives/detail/flight.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

SOTTO_DECL network_link measure_link(transport_ref through, detail::link_measurement how) {
    if (through.size() < 2)
        throw invalid_option("measure_link: there is one rank; a link needs two");
    require_option("measure_link", "repetitions", how.repetitions, detail::allowed::at_least(1));
    require_option("measure_link", "small_bytes", how.small_bytes,
                   detail::allowed::at_least(0).below(how.large_bytes),
                   ", the value of large_bytes");
    constexpr std::uint32_t item = 16;
    const int rank = through.rank(), size = through.size();
    const auto room = static_cast<std::size_t>(how.large_bytes);
    bytes out(room), in(room);
    std::uint64_t exchange = 0;
    const auto quickest = [&](std::int64_t count) {
        const auto length = static_cast<std::size_t>(count);
        double best = std::numeric_limits<double>::infinity();
        for (int repetition = 0; repetition < how.repetitions; ++repetition) {
            through.agree(true);  // all ranks start together
            const time_point start = through.now();
            const tag label{channels::set_up, item, ++exchange};
            detail::collectives::flight transfers(through, 2);
            transfers.push(through.receive((rank + size - 1) % size, label,
                                           mutable_byte_view(in).first(length)));
            transfers.push(through.send((rank + 1) % size, label, byte_view(out).first(length)));
            while (!transfers.empty()) {
                const std::uint64_t seen = through.activity();
                if (!transfers.pop_complete()) through.await(seen);
            }
            best = (std::min)(best, in_seconds(through.now() - start));
        }
        return best;
    };
    struct timing {
        double small_seconds = 0.0, large_seconds = 0.0;
    };
    const timing own{quickest(how.small_bytes), quickest(how.large_bytes)};
    std::vector<timing> all(static_cast<std::size_t>(size));
    detail::collectives::all_gather_values(through, timing{own}, std::span(all),
                                           {channels::set_up, item + 1, 0});
    timing slowest;
    for (const timing& t : all) {
        slowest.small_seconds = (std::max)(slowest.small_seconds, t.small_seconds);
        slowest.large_seconds = (std::max)(slowest.large_seconds, t.large_seconds);
    }
    // A coarse clock or a busy machine may show no difference: then it counts as a nanosecond.
    const double apart = (std::max)(slowest.large_seconds - slowest.small_seconds, 1e-9);
    const double rate = static_cast<double>(how.large_bytes - how.small_bytes) / apart;
    return {.bytes_per_second = rate,
            .latency_seconds = (std::max)(
                0.0, slowest.small_seconds - static_cast<double>(how.small_bytes) / rate)};
}

}  // namespace sotto
