#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

/// A library's collectives between some ranks. One call is in flight at a time, and no call blocks.
///   done()                       advances the call in flight; true if there is none left
///   barrier()
///   broadcast(values, root)      the same number of bytes on all ranks
///   all_gather(own, all)         one number from each rank
///   all_gather(own, lengths, all, apart)
///                                bytes; the bytes of rank r are stored at r * apart
template <class C>
concept collective_calls = requires(C& c, mutable_byte_view values, byte_view own, int rank,
                                    const int& number, std::span<int> numbers,
                                    std::span<const int> lengths) {
    { c.done() } -> std::same_as<bool>;
    c.barrier();
    c.broadcast(values, rank);
    c.all_gather(number, numbers);
    c.all_gather(own, lengths, values, rank);
};

/// A reusable collective of a library, in stages of one call each. Requires the same bytes_max and
/// root on all ranks: libraries write past the end if one has less room.
///   memory  the calls access only memory of this object, which outlives the operation that started
///           it
template <collective_calls Calls>
class staged_collective {
public:
    /// `calls` may already have a call in flight.
    explicit staged_collective(Calls&& calls) : calls_(std::move(calls)) {}
    staged_collective(const staged_collective&) = delete;
    staged_collective& operator=(const staged_collective&) = delete;
    virtual ~staged_collective() = default;

    /// Makes all possible progress. Returns true if it became complete in this call.
    bool move_on() {
        if (is_free_ && complete()) return false;
        while (calls_.done()) {
            is_free_ = true;
            if (complete()) return false;
            if (begin(calls_, stage_++)) continue;
            stage_ = none;
            count(carried_);
            return true;
        }
        return false;
    }

    /// True if a call is in flight.
    bool busy() const noexcept { return !is_free_ || !complete(); }
    bool complete() const noexcept { return stage_ == none; }

    /// Frees memory that no operation needs any more.
    virtual void forget() noexcept {}

    /// Traffic so far, counted as if every rank sent directly to every other: the library does not
    /// report its routes.
    const traffic& carried() const noexcept { return carried_; }

    Calls& calls() noexcept { return calls_; }

protected:
    void start_stages() {
        if (!complete())
            throw std::logic_error("collectives: an operation was started before it was complete");
        stage_ = 0;
        move_on();
    }

private:
    static constexpr int none = -1;

    /// Starts the call of a stage. Returns false if there is no such stage.
    virtual bool begin(Calls& calls, int stage) = 0;

    /// Adds the traffic of the last operation.
    virtual void count(traffic&) const noexcept {}

    Calls calls_;
    bool is_free_ = false;  // the call in flight at construction has ended
    int stage_ = none;      // next stage
    traffic carried_;
};

template <collective_calls Calls>
class staged_barrier final : public staged_collective<Calls> {
public:
    using staged_collective<Calls>::staged_collective;

    void start() { this->start_stages(); }
    bool advance() {
        this->move_on();
        return this->complete();
    }

private:
    bool begin(Calls& calls, int stage) override {
        if (stage == 0) calls.barrier();
        return stage == 0;
    }
};

/// A broadcast that sends the length first, because such libraries fail on lengths that differ.
///   errors  advance throws mismatch: the root has another number of bytes
template <collective_calls Calls>
class staged_broadcast final : public staged_collective<Calls> {
public:
    staged_broadcast(Calls&& calls, std::int64_t bytes_max, int root, int rank, int size)
        : staged_collective<Calls>(std::move(calls)),
          bytes_max_(static_cast<std::size_t>(bytes_max)),
          root_(root),
          is_root_(rank == root),
          others_(size - 1) {}

    /// Requires at most bytes_max.
    void start(mutable_byte_view values) {
        content_.resize(bytes_max_);
        if (is_root_) std::copy(values.begin(), values.end(), content_.begin());
        size_ = values.size();
        wanted_ = values;
        this->start_stages();
    }

    bool advance() {
        this->move_on();
        if (!this->complete()) return false;
        if (wanted_.size() != size_)
            throw mismatch("broadcast: rank " + std::to_string(root_) + " sent " +
                           std::to_string(size_) + " bytes where " +
                           std::to_string(wanted_.size()) + " were expected");
        if (!is_root_) std::copy_n(content_.begin(), size_, wanted_.begin());
        wanted_ = {};
        size_ = 0;
        return true;
    }

    void forget() noexcept override { bytes().swap(content_); }

private:
    bool begin(Calls& calls, int stage) override {
        if (stage == 0)
            calls.broadcast(std::as_writable_bytes(std::span(&size_, 1)), root_);
        else if (stage == 1)
            calls.broadcast(mutable_byte_view(content_).first(size_), root_);
        return stage <= 1;
    }

    void count(traffic& sum) const noexcept override {
        const auto size = static_cast<std::int64_t>(size_);
        if (is_root_) {
            sum.bytes_sent += size * others_;
            sum.messages_sent += others_;
        } else {
            sum.bytes_received += size;
            ++sum.messages_received;
        }
    }

    std::size_t bytes_max_;
    int root_;
    bool is_root_;
    int others_;
    bytes content_;
    std::uint64_t size_ = 0;
    mutable_byte_view wanted_;
};

/// An all-gather that sends the lengths first.
template <collective_calls Calls>
class staged_all_gather final : public staged_collective<Calls> {
public:
    staged_all_gather(Calls&& calls, std::int64_t bytes_max, int size)
        : staged_collective<Calls>(std::move(calls)),
          lengths_(static_cast<std::size_t>(size)),
          own_(static_cast<std::size_t>(bytes_max)),
          all_(lengths_.size() * own_.size()) {}

    /// Requires at most bytes_max.
    void start(byte_view own) {
        std::copy(own.begin(), own.end(), own_.begin());
        length_ = static_cast<int>(own.size());
        this->start_stages();
    }

    bool advance() {
        this->move_on();
        return this->complete();
    }

    byte_view block_of(int rank) const noexcept {
        const auto index = static_cast<std::size_t>(rank);
        return byte_view(all_).subspan(index * own_.size(),
                                       static_cast<std::size_t>(lengths_[index]));
    }

    void forget() noexcept override {
        bytes().swap(own_);
        bytes().swap(all_);
    }

private:
    bool begin(Calls& calls, int stage) override {
        if (stage == 0)
            calls.all_gather(length_, lengths_);
        else if (stage == 1)
            calls.all_gather(byte_view(own_).first(static_cast<std::size_t>(length_)), lengths_,
                             all_, static_cast<int>(own_.size()));
        return stage <= 1;
    }

    void count(traffic& sum) const noexcept override {
        const auto others = static_cast<std::int64_t>(lengths_.size()) - 1;
        sum.bytes_sent += length_ * others;
        sum.messages_sent += others;
        for (const int length : lengths_) sum.bytes_received += length;
        sum.bytes_received -= length_;
        sum.messages_received += others;
    }

    int length_ = 0;
    std::vector<int> lengths_;
    bytes own_, all_;
};

}  // namespace sotto::detail::net
