#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail {

class prediction_exchange_state;

}  // namespace sotto::detail

namespace sotto {

/// In place of models, groups tell each other in every round what theirs say of the batch, which is
/// the same for all of them: for models whose parameters are many and whose outputs are few. Here
/// groups do wait for each other.
///   shape   groups of as many ranks; rank r of one talks with rank r of the others. They read the
///           same examples in the same order, and start from parameters of their own
///   wire    from each rank to its like in each group that it teaches, in every round that is
///           taught: 8 bytes, XXH3-64 of the labels, and the logits as floats: b c of them for b
///           labels and c outputs
///   cost    no pass forward for a teacher; the time of a message in each round
///   errors  invalid_option: groups of unlike size, or that are jobs of their own; mismatch: logits
///           of another batch, naming the rank; peer_failure
///   source  Zhang et al. 2018, Deep mutual learning, arXiv:1706.00384
struct prediction_exchange {
    static constexpr bool of_predictions = true;

    detail::prediction_exchange_state bind(const detail::meeting_place& place) const;

    void describe(auto&&) const {}
};

}  // namespace sotto

namespace sotto::detail {

/// One rank's side of it.
class prediction_exchange_state {
public:
    /// Of one rank, at its meeting place.
    explicit prediction_exchange_state(const meeting_place& place);

    /// Tells `students` what this rank's model says of the batch with these labels, and calls
    /// take(i, logits) for the ith of `place.teachers`, where it is one of `teachers`. The time
    /// that took.
    template <class Take>
    duration exchange(std::span<const float> logits, std::span<const std::int32_t> labels,
                      std::uint64_t round, std::span<const int> teachers,
                      std::span<const int> students, Take take) {
        const time_point began = place_.world.now();
        const tag label{channels::teachers, 2, round};
        const byte_view said = std::as_bytes(logits);
        const std::uint64_t batch = wire::frame_digest(std::as_bytes(labels), 0);
        message_.resize(digest_bytes + said.size());
        wire::store_little_endian(message_.data(), batch);
        std::ranges::copy(said, message_.begin() + digest_bytes);
        for (std::size_t i = 0; i < heard_.size(); ++i)
            if (std::ranges::count(teachers, place_.teachers[i]) > 0) {
                heard_[i].resize(message_.size());
                receives_.push(place_.world.receive(rank_of(place_.teachers[i]), label, heard_[i]));
            }
        for (const int group : students) {
            sends_.push(place_.world.send(rank_of(group), label, message_));
            bytes_sent_ += std::ssize(message_);
        }
        for (std::size_t i = 0; i < heard_.size(); ++i)
            if (std::ranges::count(teachers, place_.teachers[i]) > 0) {
                const completion came = complete(receives_);
                if (came.bytes != std::ssize(message_) ||
                    wire::load_little_endian<std::uint64_t>(heard_[i].data()) != batch)
                    refuse(rank_of(place_.teachers[i]), came.bytes);
                logits_.resize(logits.size());
                std::ranges::copy(byte_view(heard_[i]).subspan(digest_bytes),
                                  std::as_writable_bytes(std::span(logits_)).begin());
                take(i, std::span<const float>(logits_));
            }
        while (!sends_.empty()) complete(sends_);
        return place_.world.now() - began;
    }

    /// Of predictions, to all students.
    std::int64_t bytes_sent() const noexcept { return bytes_sent_; }
    std::string problem() const { return {}; }

private:
    static constexpr std::ptrdiff_t digest_bytes = 8;

    int rank_of(int group) const noexcept;

    completion complete(collectives::flight& all);

    [[noreturn]] void refuse(int rank, std::int64_t size) const;

    meeting_place place_;
    std::vector<bytes> heard_;
    bytes message_;
    std::vector<float> logits_;
    std::int64_t bytes_sent_ = 0;
    // Last: transfers end before the memory goes.
    collectives::flight receives_, sends_;
};

}  // namespace sotto::detail
namespace sotto {

inline detail::prediction_exchange_state prediction_exchange::bind(
    const detail::meeting_place& place) const {
    return detail::prediction_exchange_state(place);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/codistillation/exchanges/prediction_exchange.ipp"
#endif
