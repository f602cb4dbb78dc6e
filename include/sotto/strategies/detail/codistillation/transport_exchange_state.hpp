#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/collectives/detail/flight.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/round_info.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/strategies/detail/codistillation/received_model.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/dense_block.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/model_message.hpp"

namespace sotto::detail {

/// Each message says all of what it is of.
template <class Compressor>
inline constexpr bool sends_whole = false;
template <wire::value_format Format>
inline constexpr bool sends_whole<dense_values<Format>> = true;

/// One group's side of an exchange over a transport, on the rank that speaks for it.
template <class Compressor>
class transport_exchange_state {
public:
    transport_exchange_state(const Compressor& options, const meeting_place& place)
        : place_(place),
          compressor_(options.bind(place_.tensors)),
          decoder_(compressing::bind_decoder(options, place_.tensors)),
          sizes_(place_.tensors.tensors().size() + 2),
          sends_(place_.world, place_.students.size()) {
        if constexpr (!detail::sends_whole<Compressor>) {
            known_.resize(static_cast<std::size_t>(place_.tensors.size()));
            change_.resize(known_.size());
        }
        for (std::size_t i = 0; i < place_.teachers.size(); ++i)
            receives_.emplace_back(place_.world, 1);
        place_.world.reserve(std::ssize(place_.teachers) + std::ssize(place_.students));
    }

    /// A call of `fit` begins, of a model with so many values besides parameters.
    void begin(std::size_t buffers) {
        if (std::exchange(is_open_, true)) return;
        if (heard_.empty())
            for (std::size_t i = 0; i < place_.teachers.size(); ++i)
                heard_.emplace_back(place_.tensors, buffers, message_bytes_max(buffers));
        has_ended_.assign(heard_.size(), false);
        for (std::size_t i = 0; i < heard_.size(); ++i) await(i);
        said_ = place_.world.now();
    }

    void publish(const checkpoint::architecture&, const checkpoint::published_facts& facts,
                 std::span<const float> parameters, std::span<const float> buffers,
                 std::span<const int> students) {
        problem_.clear();
        if (!all_arrived()) return ++skipped_, void();
        try {
            encode(facts, parameters, buffers);
        } catch (const error& e) {
            compressing::rollback(compressor_);
            problem_ = e.what();
            return;
        }
        // A change means nothing to whoever has missed one before.
        for (const int group : detail::sends_whole<Compressor> ? students : place_.students) {
            sends_.push(place_.world.send(leader(group), label, message_));
            bytes_sent_ += std::ssize(message_);
        }
        said_ = place_.world.now();
    }

    /// Takes in what has come, so that what comes next is newer, and lets students that may be
    /// done, and wait, know that this group is still at it.
    void listen(const checkpoint::architecture& kind) {
        for (std::size_t i = 0; i < heard_.size(); ++i)
            hear(i, [&](std::int64_t size) {
                if (size == std::ssize(still_here)) return;
                heard_[i].take(size, place_.tensors, kind, decoder_, sent_by(place_.teachers[i]));
            });
        if (place_.world.now() - said_ >= silence) say_still_here();
    }

    /// What has come and was not looked at is another model than the one before.
    std::optional<checkpoint::published_model> look(const checkpoint::architecture& kind, int group,
                                                    std::int64_t) {
        listen(kind);
        const auto i = static_cast<std::size_t>(std::ranges::find(place_.teachers, group) -
                                                place_.teachers.begin());
        if (i >= heard_.size() || !heard_[i].is_new()) return std::nullopt;
        return heard_[i].model();
    }

    /// The call of `fit` ends: waits until it has for all groups, and calls on_news() whenever
    /// something comes of one.
    template <class OnNews>
    void finish(OnNews on_news) {
        if (!std::exchange(is_open_, false)) return;
        collectives::flight farewells(place_.world, place_.students.size());
        for (const int group : place_.students)
            farewells.push(place_.world.send(leader(group), label, {}));
        while (true) {
            const std::uint64_t seen = place_.world.activity();
            bool all = true, news = false;
            // Nobody will be taught by it any more.
            for (std::size_t i = 0; i < heard_.size(); ++i) {
                hear(i, [&](std::int64_t) { news = true; });
                all = all && has_ended_[i];
            }
            while (farewells.pop_complete()) {}
            all = all_arrived() && farewells.empty() && all;
            if (news) on_news();
            if (all) return;
            if (place_.world.activity() == seen) place_.world.await(seen);
        }
    }

    /// Why the last model could not be published; empty: it was, or the one before is on its way.
    const std::string& problem() const noexcept { return problem_; }
    /// Models that were not sent, for the one before had not arrived everywhere.
    std::int64_t skipped() const noexcept { return skipped_; }
    /// Of models, to all students.
    std::int64_t bytes_sent() const noexcept { return bytes_sent_; }

private:
    static constexpr tag label{channels::teachers, 1, 0};
    static constexpr std::array<std::byte, 1> still_here{};
    static constexpr duration silence = std::chrono::seconds(5);  // at most, between steps

    void say_still_here() {
        if (!all_arrived()) return;
        for (const int group : place_.students)
            sends_.push(place_.world.send(leader(group), label, still_here));
        said_ = place_.world.now();
    }

    int leader(int group) const noexcept { return place_.leaders[static_cast<std::size_t>(group)]; }

    round_info sent_by(int group) const noexcept {
        return {.rank = leader(group), .world_size = place_.world.size()};
    }

    bool all_arrived() {
        while (sends_.pop_complete()) {}
        return sends_.empty();
    }

    void await(std::size_t i) {
        receives_[i].push(
            place_.world.receive(leader(place_.teachers[i]), label, heard_[i].room()));
    }

    /// Calls take(bytes) for each message of a teacher that is here.
    template <class Take>
    void hear(std::size_t i, Take take) {
        while (!has_ended_[i]) {
            const auto came = receives_[i].pop_complete();
            if (!came) return;
            if (came->bytes == 0) {
                has_ended_[i] = true;
                return;
            }
            take(came->bytes);
            await(i);
        }
    }

    std::size_t message_bytes_max(std::size_t buffers) const {
        std::size_t all = wire::model_head_bytes(sizes_.size()) + 4 * buffers + judged_bytes();
        for (const tensor& t : place_.tensors)
            all += static_cast<std::size_t>(
                (std::max)(sotto::wire::encoded_dense_bytes(t.size, wire::value_format::fp32),
                           compressing::message_bytes_max(compressor_, t)));
        return all;
    }

    void encode(const checkpoint::published_facts& facts, std::span<const float> parameters,
                std::span<const float> buffers) {
        const bool whole = detail::sends_whole<Compressor> || published_ == 0;
        for (const tensor& t : place_.tensors)
            if (const auto values = t.of(parameters);
                !kernels::is_finite(kernels::sum_of_squares(values)))
                throw non_finite(place_.world.rank(), t.name, kernels::first_non_finite(values));
        message_.resize(wire::model_head_bytes(sizes_.size()));
        const byte_view kept = std::as_bytes(buffers);
        message_.insert(message_.end(), kept.begin(), kept.end());
        sizes_[0] = kept.size();
        write_judged(facts);
        if (!whole) begin_change(parameters);
        for (const tensor& t : place_.tensors) {
            const std::size_t before = message_.size();
            if constexpr (detail::sends_whole<Compressor>)
                compressor_.encode(t, t.of(parameters), message_);
            else if (whole)
                sotto::wire::encode_dense(t.of(parameters), wire::value_format::fp32, message_);
            else
                compressor_.encode(t, t.of(std::span<const float>(change_)), message_);
            sizes_[static_cast<std::size_t>(t.index) + 2] = message_.size() - before;
        }
        const wire::model_header head{
            .kind = whole ? wire::model_kind::whole : wire::model_kind::change,
            .parts = 0,
            .number = published_,
            .step = static_cast<std::uint64_t>(facts.step),
            .label_loss = facts.label_loss,
            .architecture = facts.architecture};
        wire::write_model_head(head, sizes_, message_.data());
        if constexpr (!detail::sends_whole<Compressor>) settle(whole, parameters);
        ++published_;
    }

    std::size_t judged_bytes() const noexcept {
        return 8 * static_cast<std::size_t>(place_.groups.count);
    }

    /// How each group's model does on this one's data; no number where that is not known.
    void write_judged(const checkpoint::published_facts& facts) {
        const std::size_t at = message_.size();
        message_.resize(at + judged_bytes());
        sizes_[1] = judged_bytes();
        for (int group = 0; group < place_.groups.count; ++group) {
            const auto found =
                std::ranges::find(facts.judged, group, &checkpoint::judgement::group);
            const double loss = found == facts.judged.end()
                                    ? std::numeric_limits<double>::quiet_NaN()
                                    : found->label_loss;
            wire::store_little_endian(message_.data() + at + 8 * static_cast<std::size_t>(group),
                                      std::bit_cast<std::uint64_t>(loss));
        }
    }

    void begin_change(std::span<const float> parameters) {
        std::ranges::copy(parameters, change_.begin());
        kernels::subtract_scaled(change_, 1.0f, known_);
        compressing::begin_round(compressor_, {.step = static_cast<std::int64_t>(published_),
                                               .rank = place_.world.rank(),
                                               .world_size = place_.world.size()});
        compressing::measure(compressor_, place_.tensors, change_);
    }

    /// What others know now, by the very messages that they get.
    void settle(bool whole, std::span<const float> parameters) {
        if (whole) {
            std::ranges::copy(parameters, known_.begin());
            return;
        }
        byte_view rest = byte_view(message_).subspan(wire::model_head_bytes(sizes_.size()));
        rest = rest.subspan(static_cast<std::size_t>(sizes_[0] + sizes_[1]));
        for (const tensor& t : place_.tensors) {
            const auto size =
                static_cast<std::size_t>(sizes_[static_cast<std::size_t>(t.index) + 2]);
            compressor_.decode_add(t, rest.first(size), t.of(std::span(known_)));
            rest = rest.subspan(size);
        }
        compressing::commit(compressor_);
    }

    meeting_place place_;
    state_of<Compressor> compressor_;
    state_of<Compressor> decoder_;
    std::vector<float> known_, change_;  // of this group's model by others; since then
    std::vector<detail::received_model> heard_;
    std::vector<bool> has_ended_;  // training, in this call of `fit`
    time_point said_{};            // something to the students
    bytes message_;
    std::vector<std::uint64_t> sizes_;
    std::uint64_t published_ = 0;
    std::int64_t skipped_ = 0, bytes_sent_ = 0;
    std::string problem_;
    bool is_open_ = false;
    // Last: transfers end before the memory goes.
    std::vector<collectives::flight> receives_;
    collectives::flight sends_;
};

}  // namespace sotto::detail
