#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Appends bits to a vector of bytes and keeps its content. No other code may change the vector
/// until `finish`.
///   wire    the first bit is the lowest of its byte; fields start with their lowest bit
///   cost    about 1 ns a field; no allocation if the vector's capacity suffices
class bit_writer {
public:
    /// `bits_expected` reserves room at once; the caller may write more or fewer bits.
    explicit bit_writer(bytes& out, std::int64_t bits_expected = 0) : out_(&out) {
        cursor_ = out.data() + out.size();
        end_ = cursor_;
        take_room(bits_expected);
    }

    /// Reserves room for `bits` more bits, which are then written without allocation.
    void take_room(std::int64_t bits) {
        const auto used = static_cast<std::size_t>(cursor_ - out_->data());
        const auto wanted = used + static_cast<std::size_t>((fill_ + bits + 7) / 8);
        if (wanted > out_->size()) out_->resize(wanted);
        cursor_ = out_->data() + used;
        end_ = out_->data() + out_->size();
    }

    /// Appends the low `count` bits of `value`; requires 0 <= count <= 56 and value < 2^count.
    void put(std::uint64_t value, int count) {
        held_ |= value << fill_;
        fill_ += count;
        if (end_ - cursor_ >= 8) [[likely]] {
            // Writes all bits it holds, but advances over whole bytes only: no branch depends on
            // the data.
            store_little_endian(cursor_, held_);
            cursor_ += fill_ >> 3;
            held_ >>= fill_ & ~7;
            fill_ &= 7;
        } else {
            while (fill_ >= 8) put_byte();
        }
    }

    /// Appends any number of zeros.
    void put_zeros(std::uint64_t count) {
        for (; count > 56; count -= 56) put(0, 56);
        put(0, static_cast<int>(count));
    }

    /// Pads the last byte with zero bits and frees unused room. Call it once, last.
    void finish() {
        if (fill_ > 0) put_byte();
        out_->resize(static_cast<std::size_t>(cursor_ - out_->data()));
    }

private:
    struct room {
        std::byte* cursor;
        std::byte* end;
    };

    // Takes and returns values, never `this`: the compiler keeps an object whose address escapes in
    // memory, not in registers.
    [[gnu::noinline]] static room grown(bytes& out, const std::byte* cursor) {
        const auto used = static_cast<std::size_t>(cursor - out.data());
        const std::size_t wanted = used + std::max<std::size_t>(64, used / 2);
        out.resize(out.capacity() > used ? (std::min)(out.capacity(), used + 64) : wanted);
        return {out.data() + used, out.data() + out.size()};
    }

    void put_byte() {
        if (cursor_ == end_) {
            const room more = grown(*out_, cursor_);
            cursor_ = more.cursor;
            end_ = more.end;
        }
        *cursor_++ = static_cast<std::byte>(held_ & 0xFF);
        held_ >>= 8;
        fill_ -= (std::min)(fill_, 8);
    }

    bytes* out_;
    std::byte* cursor_;
    std::byte* end_;
    std::uint64_t held_ = 0;  // the low fill_ bits are not yet in the vector; the others are zero
    int fill_ = 0;            // below 8 between calls
};

/// Counts the bits that a bit_writer would append.
struct bit_counter {
    std::int64_t bits = 0;  // so far
    /// Counts a field of `count` bits.
    void put(std::uint64_t, int count) noexcept { bits += count; }
};

/// Reads bits that a bit_writer wrote. After the end it returns zeros without limit, so no read is
/// out of bounds and hot loops need no check. `overrun` or `finished` reports afterwards.
///   cost    about 1 ns a field
class bit_reader {
public:
    /// Starts at the first bit of these bytes, which must outlive the reader.
    explicit bit_reader(byte_view in) noexcept
        : begin_(in.data()), cursor_(in.data()), end_(in.data() + in.size()) {}

    /// True if a whole word follows. `refill` then does the same as `refill_from_word`.
    bool has_word() const noexcept { return end_ - cursor_ >= 8; }

    /// Returns a number of refills that are safe before the next check of has_word. Each refill
    /// advances by at most 7 bytes.
    std::size_t sure_refills() const noexcept {
        return has_word() ? static_cast<std::size_t>(end_ - cursor_ - 1) / 7 : 0;
    }

    /// Same as refill; requires has_word().
    void refill_from_word() noexcept {
        held_ |= load_little_endian<std::uint64_t>(cursor_) << fill_;
        cursor_ += (63 - fill_) >> 3;
        fill_ |= 56;
    }

    /// Makes at least 56 bits ready for `peek` and `skip`.
    void refill() noexcept {
        if (has_word()) [[likely]] {
            refill_from_word();
        } else {
            for (; fill_ < 56; fill_ += 8) {
                if (cursor_ == end_)
                    zeros_ += 8;
                else
                    held_ |= std::to_integer<std::uint64_t>(*cursor_++) << fill_;
            }
        }
    }

    /// Returns the next bits, lowest first: the first `ready` bits are valid.
    std::uint64_t peek() const noexcept { return held_; }

    /// Returns the number of ready bits: 56 to 63 after a refill, minus the skipped bits.
    int ready() const noexcept { return fill_; }

    /// Returns the next `count` bits, at most ready().
    std::uint64_t peek(int count) const noexcept {
        return held_ & ((std::uint64_t{1} << count) - 1);
    }

    /// Skips bits; requires that `count` bits are ready.
    void skip(int count) noexcept {
        held_ >>= count;
        fill_ -= count;
    }

    /// Sets the bits and their number, for a caller that skipped bits in copies of `peek` and
    /// `ready`.
    void skip_to(std::uint64_t held, int ready) noexcept {
        held_ = held;
        fill_ = ready;
    }

    /// Reads the next field; requires 0 <= count <= 56.
    std::uint64_t take(int count) noexcept {
        refill();
        const std::uint64_t value = peek(count);
        skip(count);
        return value;
    }

    /// Returns the number of bits left; negative if more were read than exist.
    std::int64_t bits_left() const noexcept { return 8 * (end_ - cursor_) + fill_ - zeros_; }

    /// True if more bits were skipped than exist.
    bool overrun() const noexcept { return bits_left() < 0; }

    /// Returns the byte that holds the next bit; at most the size of the input.
    std::int64_t offset() const noexcept {
        return end_ - begin_ - std::max<std::int64_t>(0, (bits_left() + 7) / 8);
    }

    /// Returns the fault that `found` is here instead of what was expected.
    fault because(const char* expected, std::uint64_t found) const noexcept {
        return {offset(), expected, static_cast<std::int64_t>(found)};
    }

    /// True if all bits were read except the zero bits that pad the last byte.
    bool finished() noexcept {
        if (bits_left() < 0 || bits_left() >= 8) return false;
        refill();
        return peek(8) == 0;
    }

private:
    const std::byte* begin_;
    const std::byte* cursor_;
    const std::byte* end_;
    std::uint64_t held_ = 0;
    int fill_ = 0;            // counted bits of held_; the bits above are already input
    std::int64_t zeros_ = 0;  // bits read after the end
};

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
