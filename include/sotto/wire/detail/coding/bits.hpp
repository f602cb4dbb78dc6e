#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire::inline SOTTO_UNIT {

/// Appends bits to a vector of bytes, never clearing it. Nothing else may touch it until `finish`.
///   wire    the first bit is the lowest of its byte; fields start with their lowest bit
///   cost    about 1 ns a field; no allocation when the vector's capacity suffices
class bit_writer {
public:
    /// A right `bits_expected` takes the room at once; more or fewer bits may be written.
    explicit bit_writer(bytes& out, std::int64_t bits_expected = 0) : out_(&out) {
        cursor_ = out.data() + out.size();
        end_ = cursor_;
        take_room(bits_expected);
    }

    /// Takes the room for `bits` more: until they are written, nothing is allocated.
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
            // Writes all it holds and moves over the whole bytes only: no branch hangs on the data.
            store_little_endian(cursor_, held_);
            cursor_ += fill_ >> 3;
            held_ >>= fill_ & ~7;
            fill_ &= 7;
        } else {
            while (fill_ >= 8) put_byte();
        }
    }

    /// Any number of zeros.
    void put_zeros(std::uint64_t count) {
        for (; count > 56; count -= 56) put(0, 56);
        put(0, static_cast<int>(count));
    }

    /// Fills the last byte with zero bits and gives back room that was not needed. Call once, last.
    void finish() {
        if (fill_ > 0) put_byte();
        out_->resize(static_cast<std::size_t>(cursor_ - out_->data()));
    }

private:
    struct room {
        std::byte* cursor;
        std::byte* end;
    };

    // Takes and returns values, never `this`: an object whose address escapes is kept in memory,
    // not in registers.
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
    std::uint64_t held_ = 0;  // the low fill_ bits are not yet in the vector, the others are zero
    int fill_ = 0;            // below 8 between calls
};

/// Counts the bits that a bit_writer would append.
struct bit_counter {
    std::int64_t bits = 0;  // so far
    /// Counts a field of so many bits.
    void put(std::uint64_t, int count) noexcept { bits += count; }
};

/// Reads bits that a bit_writer wrote. Past the end there are zeros for ever: no read is out of
/// bounds, and `overrun` or `finished` tells afterwards: hot loops need no check of their own.
///   cost    about 1 ns a field
class bit_reader {
public:
    /// From the first bit of these bytes, which must outlive it.
    explicit bit_reader(byte_view in) noexcept
        : begin_(in.data()), cursor_(in.data()), end_(in.data() + in.size()) {}

    /// True if a whole word follows, which hot loops ask for: then `refill` is `refill_from_word`.
    bool has_word() const noexcept { return end_ - cursor_ >= 8; }

    /// At least so many times before has_word is to be asked again: one goes on by 7 bytes at most.
    std::size_t sure_refills() const noexcept {
        return has_word() ? static_cast<std::size_t>(end_ - cursor_ - 1) / 7 : 0;
    }

    /// As refill; requires has_word().
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

    /// The next bits, lowest first: `ready` of them are right.
    std::uint64_t peek() const noexcept { return held_; }

    /// 56 to 63 after a refill, less what was skipped.
    int ready() const noexcept { return fill_; }

    /// The next bits of which so many are wanted, at most ready().
    std::uint64_t peek(int count) const noexcept {
        return held_ & ((std::uint64_t{1} << count) - 1);
    }

    /// Requires that many bits ready.
    void skip(int count) noexcept {
        held_ >>= count;
        fill_ -= count;
    }

    /// As skip, for who has shifted what `peek` gave out of copies of it and of `ready`.
    void skip_to(std::uint64_t held, int ready) noexcept {
        held_ = held;
        fill_ = ready;
    }

    /// The next field; requires 0 <= count <= 56.
    std::uint64_t take(int count) noexcept {
        refill();
        const std::uint64_t value = peek(count);
        skip(count);
        return value;
    }

    /// Bits between here and the end; negative once more were read than there are.
    std::int64_t bits_left() const noexcept { return 8 * (end_ - cursor_) + fill_ - zeros_; }

    /// Whether more was skipped than there was.
    bool overrun() const noexcept { return bits_left() < 0; }

    /// The byte that holds the next bit; at most the size of the input.
    std::int64_t offset() const noexcept {
        return end_ - begin_ - std::max<std::int64_t>(0, (bits_left() + 7) / 8);
    }

    /// The fault that `found` stands here in place of what was expected.
    fault because(const char* expected, std::uint64_t found) const noexcept {
        return {offset(), expected, static_cast<std::int64_t>(found)};
    }

    /// True if all was read but for the zero bits that fill the last byte.
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
    int fill_ = 0;  // bits of held_ that were counted; what is above them is already the input's
    std::int64_t zeros_ = 0;  // bits taken from past the end
};

}  // namespace sotto::detail::wire::inline SOTTO_UNIT
