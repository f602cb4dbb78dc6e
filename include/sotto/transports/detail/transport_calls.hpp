#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/ballot_transport.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"
#include "sotto/transports/detail/native_collectives.hpp"
#include "sotto/transports/fail_with_exception.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// A ballot that a transport has opened; empty if there is none.
struct opened_ballot {
    void* address = nullptr;
    /// True if there is one.
    explicit operator bool() const noexcept { return address != nullptr; }
};

/// Members of one kind of transport, as functions of its address. Optional members that the kind
/// lacks are null.
struct transport_calls {
    int (*rank)(const void*);
    int (*size)(const void*);
    request (*send)(void*, int, tag, byte_view);
    request (*receive)(void*, int, tag, mutable_byte_view);
    std::optional<completion> (*poll)(void*, request);
    completion (*wait)(void*, request);
    std::uint64_t (*activity)(void*);
    void (*await)(void*, std::uint64_t);
    bool (*agree)(void*, bool);
    void (*withdraw)(void*) noexcept;
    void (*fail)(void*, std::string_view, errc) noexcept;
    void (*blame)(void*, int, const std::string&, errc);
    void (*at)(void*, peer_failure::job_phase);
    void (*reserve)(void*, std::int64_t);
    time_point (*now)(const void*);
    void (*charge)(void*, work);
    traffic (*counters)(const void*);
    std::string (*simulated_network)(const void*);

    void (*tolerate)(void*) = nullptr;
    std::optional<rank_change> (*next_change)(void*) = nullptr;

    opened_ballot (*open_ballot)(void*, std::span<const int>, std::uint32_t) = nullptr;
    bool (*agree_among)(void*, opened_ballot, bool) = nullptr;

    native_collective (*native_barrier)(void*) = nullptr;
    native_collective (*native_broadcast)(void*, std::int64_t, int) = nullptr;
    native_collective (*native_all_gather)(void*, std::int64_t) = nullptr;

    // As send and receive. For a group: on channels that carry the label of a group within it.
    request (*send_labelled)(void*, int, tag, byte_view) = nullptr;
    request (*receive_labelled)(void*, int, tag, mutable_byte_view) = nullptr;
    int (*group_depth)(const void*) = nullptr;  // nesting depth of a group, itself included; null:
                                                // not a group
};

/// Adds the calls that only groups have.
struct calls_of_group {
    /// True if T is a group.
    template <class T>
    static constexpr bool fits = requires(const T& t) {
        t.depth_;
    };

    template <class Group>
    static constexpr void add_to(transport_calls& calls) {
        calls.send_labelled = [](void* t, int to, tag label, byte_view out) {
            return static_cast<Group*>(t)->send_labelled(to, label, out);
        };
        calls.receive_labelled = [](void* t, int from, tag label, mutable_byte_view in) {
            return static_cast<Group*>(t)->receive_labelled(from, label, in);
        };
        calls.group_depth = [](const void* t) { return static_cast<const Group*>(t)->depth_; };
    }
};

/// Calls of one kind of transport.
template <class T>
constexpr transport_calls calls_of_transport() {
    transport_calls calls{
        .rank = [](const void* t) { return static_cast<const T*>(t)->rank(); },
        .size = [](const void* t) { return static_cast<const T*>(t)->size(); },
        .send = [](void* t, int to, tag label,
                   byte_view out) { return static_cast<T*>(t)->send(to, label, out); },
        .receive =
            [](void* t, int from, tag label, mutable_byte_view in) {
                return static_cast<T*>(t)->receive(from, label, in);
            },
        .poll = [](void* t, request r) { return static_cast<T*>(t)->poll(r); },
        .wait = [](void* t, request r) { return static_cast<T*>(t)->wait(r); },
        .activity = [](void* t) { return static_cast<T*>(t)->activity(); },
        .await = [](void* t, std::uint64_t seen) { static_cast<T*>(t)->await(seen); },
        .agree = [](void* t, bool vote) { return static_cast<T*>(t)->agree(vote); },
        .withdraw = [](void* t) noexcept { static_cast<T*>(t)->withdraw(); },
        .fail = [](void* t, std::string_view cause,
                   errc kind) noexcept { fail_as(*static_cast<T*>(t), cause, kind); },
        .blame = [](void* t, int rank, const std::string& cause,
                    errc code) { detail::blame(*static_cast<T*>(t), rank, cause, code); },
        .at = [](void* t, peer_failure::job_phase where) { static_cast<T*>(t)->at(where); },
        .reserve = [](void* t, std::int64_t count) { static_cast<T*>(t)->reserve(count); },
        .now = [](const void* t) { return static_cast<const T*>(t)->now(); },
        .charge = [](void* t, work amount) { static_cast<T*>(t)->charge(amount); },
        .counters = [](const void* t) -> traffic { return static_cast<const T*>(t)->counters(); },
        .simulated_network =
            [](const void* t) { return simulated_network_of(*static_cast<const T*>(t)); }};
    if constexpr (tolerant_transport<T>) {
        calls.tolerate = [](void* t) { static_cast<T*>(t)->tolerate(); };
        calls.next_change = [](void* t) { return static_cast<T*>(t)->next_change(); };
    }
    if constexpr (ballot_transport<T>) {
        using ballot = std::remove_reference_t<decltype(std::declval<T&>().open_ballot({}, 0))>;
        if constexpr (std::is_same_v<ballot, opened_ballot>) {  // already type-erased
            calls.open_ballot = [](void* t, std::span<const int> members, std::uint32_t label) {
                return static_cast<T*>(t)->open_ballot(members, label);
            };
            calls.agree_among = [](void* t, opened_ballot among, bool vote) {
                return static_cast<T*>(t)->agree(among, vote);
            };
        } else {
            calls.open_ballot = [](void* t, std::span<const int> members, std::uint32_t label) {
                return opened_ballot{&static_cast<T*>(t)->open_ballot(members, label)};
            };
            calls.agree_among = [](void* t, opened_ballot among, bool vote) {
                return static_cast<T*>(t)->agree(*static_cast<ballot*>(among.address), vote);
            };
        }
    }
    if constexpr (native_transport<T>) {
        calls.native_barrier = [](void* t) {
            auto& over = *static_cast<T*>(t);
            return native_collective(over, over.native_barrier());
        };
        calls.native_broadcast = [](void* t, std::int64_t bytes_max, int root) {
            auto& over = *static_cast<T*>(t);
            return native_collective(over, over.native_broadcast(bytes_max, root));
        };
        calls.native_all_gather = [](void* t, std::int64_t bytes_max) {
            auto& over = *static_cast<T*>(t);
            return native_collective(over, over.native_all_gather(bytes_max));
        };
    }
    calls.send_labelled = calls.send;
    calls.receive_labelled = calls.receive;
    if constexpr (calls_of_group::fits<T>) calls_of_group::add_to<T>(calls);
    return calls;
}

template <class T>
inline constexpr transport_calls transport_calls_of = calls_of_transport<T>();

}  // namespace sotto::detail
