#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "sotto/core/bytes.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// A collective that a transport runs itself. It never blocks and accesses the caller's memory only
/// within `start` and `advance`, so an exception may free that memory.
///   advance()    as of an operation
///   complete()   true if it is complete, or was never started
template <class N>
concept is_native_collective = requires(N& n, const N& fixed) {
    { n.advance() } -> std::same_as<bool>;
    { fixed.complete() } -> std::same_as<bool>;
};

/// A transport with its own collectives for operations without sums. Each function returns a
/// pointer, which is null on all ranks if messages are better. The caller gives it back by
/// `release`. All ranks request the same collectives in the same order.
///   native_barrier()->start()
///   native_broadcast(bytes_max, root)->start(values)
///   native_all_gather(bytes_max)->start(own), then block_of(rank)
template <class T>
concept native_transport = transport<T> &&
    requires(T& t, std::int64_t bytes_max, int rank, byte_view own, mutable_byte_view values) {
    requires is_native_collective<std::remove_pointer_t<decltype(t.native_barrier())>>;
    requires is_native_collective<
        std::remove_pointer_t<decltype(t.native_broadcast(bytes_max, rank))>>;
    requires is_native_collective<std::remove_pointer_t<decltype(t.native_all_gather(bytes_max))>>;
    t.native_barrier()->start();
    t.native_broadcast(bytes_max, rank)->start(values);
    t.native_all_gather(bytes_max)->start(own);
    { t.native_all_gather(bytes_max)->block_of(rank) } -> std::same_as<byte_view>;
    t.release(t.native_barrier());
    t.release(t.native_broadcast(bytes_max, rank));
    t.release(t.native_all_gather(bytes_max));
};

/// Borrows a collective of a transport, or none, while an operation needs it. If it is destroyed
/// while the collective is in flight (an exception unwinds), the rank withdraws.
class native_collective {
public:
    /// Holds none.
    native_collective() = default;
    /// Borrows a collective that a transport lends, and gives it back later; null: none.
    template <class Transport, class Native>
    native_collective(Transport& over, Native* lent)
        : over_(&over), lent_(lent), calls_(lent ? &calls_of<Transport, Native> : nullptr) {}
    /// Takes over the loan.
    native_collective(native_collective&& other) noexcept { swap(other); }
    /// Exchanges the loans.
    native_collective& operator=(native_collective&& other) noexcept;
    /// Gives the collective back.
    ~native_collective();

    /// True if there is one.
    explicit operator bool() const noexcept { return calls_ != nullptr; }

    /// Starts a barrier.
    void start() { calls_->start(lent_); }
    /// Starts a broadcast.
    void start(mutable_byte_view values) { calls_->start_values(lent_, values); }
    /// Starts an all-gather.
    void start(byte_view own) { calls_->start_own(lent_, own); }
    bool advance() { return calls_->advance(lent_); }
    bool complete() const { return calls_->complete(lent_); }
    /// Block of a rank. Requires an all-gather that is complete.
    byte_view block_of(int rank) const { return calls_->block_of(lent_, rank); }

private:
    struct calls {
        void (*release)(void*, void*);
        void (*start)(void*);
        void (*start_values)(void*, mutable_byte_view);
        void (*start_own)(void*, byte_view);
        bool (*advance)(void*);
        bool (*complete)(const void*);
        byte_view (*block_of)(const void*, int);
    };

    template <class Transport, class Native>
    static constexpr calls calls_of = {
        [](void* over, void* lent) {
            auto& transport = *static_cast<Transport*>(over);
            auto* const native = static_cast<Native*>(lent);
            if (!native->complete()) transport.withdraw();
            transport.release(native);
        },
        [](void* lent) {
            if constexpr (requires(Native & n) { n.start(); }) static_cast<Native*>(lent)->start();
        },
        [](void* lent, mutable_byte_view values) {
            if constexpr (requires(Native & n) { n.start(values); })
                static_cast<Native*>(lent)->start(values);
        },
        [](void* lent, byte_view own) {
            if constexpr (requires(Native & n) { n.start(own); })
                static_cast<Native*>(lent)->start(own);
        },
        [](void* lent) { return static_cast<Native*>(lent)->advance(); },
        [](const void* lent) { return static_cast<const Native*>(lent)->complete(); },
        [](const void* lent, int rank) {
            if constexpr (requires(const Native& n) { n.block_of(rank); })
                return static_cast<const Native*>(lent)->block_of(rank);
            else
                return byte_view();
        }};

    void swap(native_collective& other) noexcept;

    void* over_ = nullptr;
    void* lent_ = nullptr;
    const calls* calls_ = nullptr;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/native_collectives.ipp"
#endif
