#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <filesystem>
#include <functional>
#include <thread>
#include <set>
#include <mutex>
#include <unordered_set>
#include <variant>

#include "sotto/core/bytes.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::collectives {

/// A collective that a transport carries out by itself. It never blocks, and touches memory of the
/// caller's within `start` and `advance` alone: so whoever leaves by an exception may take it
/// along.
///   advance()    as of an operation
///   complete()   whether it is, or was never started
template <class N>
concept native_collective = requires(N& n, const N& fixed) {
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
    requires native_collective<std::remove_pointer_t<decltype(t.native_barrier())>>;
    requires native_collective<
        std::remove_pointer_t<decltype(t.native_broadcast(bytes_max, rank))>>;
    requires native_collective<std::remove_pointer_t<decltype(t.native_all_gather(bytes_max))>>;
    t.native_barrier()->start();
    t.native_broadcast(bytes_max, rank)->start(values);
    t.native_all_gather(bytes_max)->start(own);
    { t.native_all_gather(bytes_max)->block_of(rank) } -> std::same_as<byte_view>;
    t.release(t.native_barrier());
    t.release(t.native_broadcast(bytes_max, rank));
    t.release(t.native_all_gather(bytes_max));
};

/// A native collective, or none, for as long as an operation wants it. Should that go while it is
/// under way (an exception passes), the rank withdraws.
template <class Transport, class Native>
class native_loan {
public:
    native_loan() = default;
    /// Borrows the transport, to which the collective is given back.
    native_loan(Transport& through, Native* lent) : through_(&through), lent_(lent) {}
    /// Takes the loan over.
    native_loan(native_loan&& other) noexcept { swap(other); }
    /// Exchanges the loans.
    native_loan& operator=(native_loan&& other) noexcept {
        swap(other);
        return *this;
    }
    /// Gives the collective back.
    ~native_loan() {
        if (!lent_) return;
        if (!lent_->complete()) through_->withdraw();
        through_->release(lent_);
    }

    /// Whether there is one.
    explicit operator bool() const noexcept { return lent_ != nullptr; }
    /// The collective, which must be there.
    Native* operator->() const noexcept { return lent_; }

private:
    void swap(native_loan& other) noexcept {
        std::swap(through_, other.through_);
        std::swap(lent_, other.lent_);
    }

    Transport* through_ = nullptr;
    Native* lent_ = nullptr;
};

/// What stands in its place where a transport has none.
struct no_native {
    /// There never is one.
    explicit operator bool() const noexcept { return false; }
};

/// What operations over a transport keep of its collectives.
template <class Transport>
struct natives_of {
    /// Nothing.
    using barrier = no_native;
    /// Nothing.
    using broadcast = no_native;
    /// Nothing.
    using all_gather = no_native;
};

/// Of a transport that has some.
template <native_transport Transport>
struct natives_of<Transport> {
    /// What is lent of one kind.
    template <class Pointer>
    using loan = native_loan<Transport, std::remove_pointer_t<Pointer>>;

    /// Of native_barrier.
    using barrier = loan<decltype(std::declval<Transport&>().native_barrier())>;
    /// Of native_broadcast.
    using broadcast = loan<decltype(std::declval<Transport&>().native_broadcast(0, 0))>;
    /// Of native_all_gather.
    using all_gather = loan<decltype(std::declval<Transport&>().native_all_gather(0))>;
};

}  // namespace sotto::detail::collectives
