#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "sotto/core/bytes.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// A collective that a transport carries out by itself. It never blocks, and touches memory of the
/// caller's within `start` and `advance` alone: so whoever leaves by an exception may take it
/// along.
///   advance()    as of an operation
///   complete()   whether it is, or was never started
template <class N>
concept is_native_collective = requires(N& n, const N& fixed) {
    { n.advance() } -> std::same_as<bool>;
    { fixed.complete() } -> std::same_as<bool>;
};

/// A transport that has collectives of its own for what takes no sum. Each returns a pointer, which
/// is null on all ranks if this one had better travel as messages, and is given back by `release`.
/// All ranks ask for the same ones in the same order.
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

/// A collective of some transport, or none, for as long as an operation wants it. If it goes while
/// the collective is under way (an exception passes), the rank withdraws.
class native_collective {
public:
    /// None.
    native_collective() = default;
    /// What a transport lends, to which it is given back; null: none.
    template <class Transport, class Native>
    native_collective(Transport& over, Native* lent)
        : over_(&over), lent_(lent), calls_(lent ? &calls_of<Transport, Native> : nullptr) {}
    /// Takes the loan over.
    native_collective(native_collective&& other) noexcept { swap(other); }
    /// Exchanges the loans.
    native_collective& operator=(native_collective&& other) noexcept;
    /// Gives the collective back.
    ~native_collective();

    /// Whether there is one.
    explicit operator bool() const noexcept { return calls_ != nullptr; }

    /// Of a barrier.
    void start() { calls_->start(lent_); }
    /// Of a broadcast.
    void start(mutable_byte_view values) { calls_->start_values(lent_, values); }
    /// Of an all-gather.
    void start(byte_view own) { calls_->start_own(lent_, own); }
    bool advance() { return calls_->advance(lent_); }
    bool complete() const { return calls_->complete(lent_); }
    /// Of an all-gather that is complete.
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
