#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/packet_library.hpp"
#include "sotto/transports/packet_transport.hpp"
#include "support/ranks_on_threads.hpp"

namespace sotto::testing {

/// A library of packets between the threads of one process that is as unkind as it may be: short
/// packets it copies at once, long ones only when they are received; packets of different ranks
/// come in any order; and everything takes some calls until it is complete.
class packet_world {
public:
    struct sent {
        byte_view content;
        bytes copy;  // of a short one
        std::atomic<bool> taken = false;
    };

    explicit packet_world(int size)
        : size_(size), boxes_(static_cast<std::size_t>(size * size) * 2) {}

    int size() const noexcept { return size_; }

    std::shared_ptr<sent> put(int from, int to, detail::net::packet_kind kind, byte_view content) {
        auto made = std::make_shared<sent>();
        made->content = content;
        if (content.size() <= copied_max) {
            made->copy.assign(content.begin(), content.end());
            made->content = made->copy;
        }
        box& b = box_of(from, to, kind);
        const std::lock_guard lock(b.mutex);
        b.waiting.push_back(made);
        return made;
    }

    std::shared_ptr<sent> get(int from, int to, detail::net::packet_kind kind) {
        box& b = box_of(from, to, kind);
        const std::lock_guard lock(b.mutex);
        if (b.waiting.empty()) return nullptr;
        auto first = b.waiting.front();
        b.waiting.pop_front();
        return first;
    }

    static constexpr std::size_t copied_max = 4096;

private:
    struct box {
        std::mutex mutex;
        std::deque<std::shared_ptr<sent>> waiting;
    };

    box& box_of(int from, int to, detail::net::packet_kind kind) noexcept {
        return boxes_[static_cast<std::size_t>(2 * (from * size_ + to) + static_cast<int>(kind))];
    }

    int size_;
    std::deque<box> boxes_;
};

/// What one rank sees of it.
class packet_endpoint {
public:
    struct operation {
        std::shared_ptr<packet_world::sent> packet;  // null: spent
        std::byte* to = nullptr;                     // of a receive
        std::uint64_t calls_left = 0;
    };
    struct packet {
        int source = 0;
        std::size_t size = 0;
        std::shared_ptr<packet_world::sent> what{};
    };

    static constexpr const char* name = "packets";
    static constexpr bool drains = true;
    static constexpr bool may_lack_content = false;
    static constexpr bool copies = false;

    packet_endpoint(packet_world& world, int rank)
        : world_(&world), rank_(rank), random_(static_cast<std::uint64_t>(rank)) {}

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return world_->size(); }

    operation send(int to, detail::net::packet_kind kind, byte_view out) {
        return {world_->put(rank_, to, kind, out), nullptr, random_.below(3)};
    }

    std::optional<packet> next(detail::net::packet_kind kind) {
        const auto start = static_cast<int>(random_.below(static_cast<std::uint64_t>(size())));
        for (int i = 0; i < size(); ++i) {
            const int from = (start + i) % size();
            if (from == rank_ || random_.below(4) == 0) continue;
            if (auto what = world_->get(from, rank_, kind))
                return packet{from, what->content.size(), what};
        }
        return std::nullopt;
    }

    operation receive(const packet& came, mutable_byte_view in) {
        return {came.what, in.data(), random_.below(3)};
    }

    bool complete(operation& in_flight) {
        if (!in_flight.packet) return true;
        if (in_flight.calls_left > 0) {
            --in_flight.calls_left;
            return false;
        }
        packet_world::sent& what = *in_flight.packet;
        if (in_flight.to) {
            std::copy(what.content.begin(), what.content.end(), in_flight.to);
            what.taken.store(true, std::memory_order_release);
        } else if (what.copy.empty() && !what.content.empty() &&
                   !what.taken.load(std::memory_order_acquire)) {
            return false;
        }
        in_flight.packet.reset();
        return true;
    }

    static constexpr std::size_t packet_bytes_max() noexcept { return 1 << 18; }

    time_point now() const noexcept { return std::chrono::steady_clock::now(); }
    void charge(work) const noexcept {}
    void asked_in_vain() const noexcept {}
    void pause(duration waited, bool moves, time_point) const {
        detail::net::pause_in_real_time(waited, moves);
    }
    std::optional<detail::net::packet_loss> next_loss() const { return std::nullopt; }
    std::optional<int> next_arrival() const noexcept { return std::nullopt; }
    void served_by(const std::function<bool()>&) const noexcept {}
    bool advance() const noexcept { return false; }
    bool busy() const noexcept { return false; }
    void require_caller() const noexcept {}

    void end_job(std::string_view why) noexcept {
        std::fprintf(stderr, "packets: rank %d ends the job: %.*s\n", rank_,
                     static_cast<int>(why.size()), why.data());
        std::abort();
    }

private:
    packet_world* world_;
    int rank_;
    random_stream random_;
};

using packet_transport = detail::net::packet_transport<packet_endpoint>;

/// As run_in_process, over packets.
template <class F>
void run_over_packets(int size, const detail::net::packet_options& options, F f) {
    packet_world world(size);
    run_ranks_on_threads(
        size, [&](int rank) { return packet_transport(options, world, rank); }, f);
}

struct over_packets {
    static constexpr bool sends_ahead = true;
    static int world_rank(int rank) { return rank; }

    template <class F>
    static void run(int size, F f) {
        run_over_packets(size, {}, f);
    }
};

}  // namespace sotto::testing
