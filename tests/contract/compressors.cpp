// What every compressor promises, whatever it sends.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/result.hpp"
#include "support/all_policies.hpp"
#include "support/allocation_count.hpp"
#include "support/generators.hpp"
#include "support/sensible.hpp"
#include "support/snapshot.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

/// The messages of one round, a tensor each.
using messages = std::vector<bytes>;

constexpr std::int64_t rounds_an_epoch = 4;

round_info place_of(std::int64_t step) {
    return {.step = step,
            .epoch = static_cast<double>(step) / rounds_an_epoch,
            .rank = 1,
            .world_size = 3};
}

/// One rank that compresses, without anybody to talk to.
template <class Compressor>
struct worker {
    layout tensors;
    state_of<Compressor> state;

    explicit worker(layout shape = testing::small_layout())
        : tensors(shape), state(testing::sensible<Compressor>::options().bind(tensors)) {}

    messages encode(std::int64_t step, const floats& gradient) {
        detail::compressing::begin_round(state, place_of(step));
        if (detail::compressing::waits_for_all(state))
            detail::compressing::measure(state, tensors, gradient);
        messages sent;
        for (const tensor& t : tensors)
            state.encode(t, t.of(std::span<const float>(gradient)), sent.emplace_back());
        return sent;
    }

    floats decode(const messages& received) {
        floats sum(static_cast<std::size_t>(tensors.size()));
        for (const tensor& t : tensors)
            state.decode_add(t, received[static_cast<std::size_t>(t.index)], t.of(std::span(sum)));
        return sum;
    }
};

floats integers(std::int64_t step) {
    return testing::integer_values(testing::small_layout().size(),
                                   static_cast<std::uint64_t>(step));
}

/// Gradients of all kinds: nothing, one spike, everything alike, normal, sparse, large and small.
std::vector<floats> awkward_gradients() {
    const auto n = static_cast<std::size_t>(testing::small_layout().size());
    floats spike(n), alternating(n), steep(n);
    spike[n / 2] = -1000.0f;
    for (std::size_t i = 0; i < n; ++i) {
        alternating[i] = i % 2 == 0 ? 6.0f : -6.0f;
        steep[i] = std::ldexp(1.0f, static_cast<int>(i % 40) - 30);
    }
    return {floats(n),   spike, floats(n, 7.0f),
            alternating, steep, testing::normal_values(static_cast<std::int64_t>(n), 5),
            integers(6)};
}

bool same_bits(const floats& a, const floats& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
               return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
           });
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("encode appends to what is there and never clears it", C, appends) {
    static_assert(compressor<C>);
    worker<C> one, twin;
    const auto sent = one.encode(0, integers(0));
    detail::compressing::begin_round(twin.state, place_of(0));
    const floats gradient = integers(0);
    for (const tensor& t : twin.tensors) {
        bytes out(5, std::byte{0xA5});
        twin.state.encode(t, t.of(std::span<const float>(gradient)), out);
        const bytes& expected = sent[static_cast<std::size_t>(t.index)];
        REQUIRE(out.size() == 5 + expected.size());
        CHECK(std::all_of(out.begin(), out.begin() + 5,
                          [](std::byte b) { return b == std::byte{0xA5}; }));
        CHECK(std::equal(expected.begin(), expected.end(), out.begin() + 5));
    }
}
TEST_CASE_TEMPLATE_APPLY(appends, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("no message is longer than announced, so that reserved memory suffices",
                          C, keeps_its_bound) {
    worker<C> one;
    std::vector<bytes> out(one.tensors.tensors().size());
    std::vector<const std::byte*> place;
    for (const tensor& t : one.tensors) {
        bytes& message = out[static_cast<std::size_t>(t.index)];
        message.reserve(
            static_cast<std::size_t>(detail::compressing::message_bytes_max(one.state, t)));
        place.push_back(message.data());
    }
    std::int64_t step = 0;
    for (int repeat = 0; repeat < 3; ++repeat)
        for (const floats& gradient : awkward_gradients()) {
            detail::compressing::begin_round(one.state, place_of(step++));
            for (const tensor& t : one.tensors) {
                const auto slot = static_cast<std::size_t>(t.index);
                out[slot].clear();
                one.state.encode(t, t.of(std::span<const float>(gradient)), out[slot]);
                CHECK(static_cast<std::int64_t>(out[slot].size()) <=
                      detail::compressing::message_bytes_max(one.state, t));
                CHECK(out[slot].data() == place[slot]);
            }
            detail::compressing::commit(one.state);
        }
}
TEST_CASE_TEMPLATE_APPLY(keeps_its_bound, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("decode_add adds finite values to the sum and writes nowhere else", C,
                          adds_within_the_sum) {
    worker<C> one;
    std::int64_t step = 0;
    for (const floats& gradient : awkward_gradients()) {
        const auto sent = one.encode(step++, gradient);
        detail::compressing::commit(one.state);
        const floats alone = one.decode(sent);
        for (const tensor& t : one.tensors) {
            constexpr float guard = -12345.0f;
            floats memory(static_cast<std::size_t>(t.size) + 2, 3.0f);
            memory.front() = memory.back() = guard;
            const auto sum = std::span(memory).subspan(1, static_cast<std::size_t>(t.size));
            one.state.decode_add(t, sent[static_cast<std::size_t>(t.index)], sum);
            CHECK(memory.front() == guard);
            CHECK(memory.back() == guard);
            const auto expected = t.of(std::span<const float>(alone));
            for (std::size_t i = 0; i < sum.size(); ++i) {
                CHECK(std::isfinite(expected[i]));
                CHECK(sum[i] == 3.0f + expected[i]);
            }
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(adds_within_the_sum, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("a message that is cut short or too long is refused and adds nothing", C,
                          refuses_other_lengths) {
    worker<C> one;
    for (const floats& gradient : {integers(1), awkward_gradients()[1]}) {
        const auto sent = one.encode(rounds_an_epoch, gradient);
        detail::compressing::commit(one.state);
        for (const tensor& t : one.tensors) {
            const bytes& whole = sent[static_cast<std::size_t>(t.index)];
            const floats before(static_cast<std::size_t>(t.size), -0.0f);
            const auto refused = [&](byte_view message) {
                floats sum = before;
                CHECK_THROWS_AS(one.state.decode_add(t, message, sum), malformed);
                return same_bits(sum, before);
            };
            for (std::size_t length = 0; length < whole.size(); ++length)
                CHECK(refused(byte_view(whole).first(length)));
            bytes longer = whole;
            longer.push_back(std::byte{0});
            CHECK(refused(longer));
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(refuses_other_lengths, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("arbitrary bytes are decoded, or refused and then add nothing", C,
                          survives_noise) {
    worker<C> one;
    random_stream random(77);
    for (int attempt = 0; attempt < 2000; ++attempt)
        for (const tensor& t : one.tensors) {
            bytes noise(random.below(40));
            for (std::byte& b : noise) b = static_cast<std::byte>(random() & 0xFF);
            const floats before(static_cast<std::size_t>(t.size), 1.0f);
            floats sum = before;
            bool added = true;
            try {
                one.state.decode_add(t, noise, sum);
            } catch (const malformed&) {
                added = false;
            }
            if (!added) CHECK(same_bits(sum, before));
        }
}
TEST_CASE_TEMPLATE_APPLY(survives_noise, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("a round that is rolled back leaves no trace", C, rolls_back) {
    worker<C> one, twin;
    CHECK(testing::snapshot(one.state) == testing::snapshot(twin.state));
    for (std::int64_t step = 0; step < 4 * rounds_an_epoch; ++step) {
        for (std::int64_t failure = 0; failure < step % 3; ++failure) {
            const auto sent = one.encode(step, integers(1000 + 3 * step + failure));
            if (failure == 1) one.decode(sent);
            detail::compressing::rollback(one.state);
        }
        CHECK(testing::snapshot(one.state) == testing::snapshot(twin.state));
        CHECK(one.encode(step, integers(step)) == twin.encode(step, integers(step)));
        detail::compressing::commit(one.state);
        detail::compressing::commit(twin.state);
    }
    CHECK(testing::snapshot(one.state) == testing::snapshot(twin.state));
}
TEST_CASE_TEMPLATE_APPLY(rolls_back, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("a round that failed after some tensors only leaves no trace", C,
                          rolls_back_in_part) {
    worker<C> one, twin;
    for (std::int64_t step = 0; step < 2 * rounds_an_epoch; ++step) {
        detail::compressing::begin_round(one.state, place_of(step));
        const floats failed = integers(1000 + step);
        for (const tensor& t : one.tensors) {
            if (t.index % 2 != step % 2) continue;
            bytes out;
            one.state.encode(t, t.of(std::span<const float>(failed)), out);
        }
        detail::compressing::rollback(one.state);
        CHECK(one.encode(step, integers(step)) == twin.encode(step, integers(step)));
        detail::compressing::commit(one.state);
        detail::compressing::commit(twin.state);
        CHECK(testing::snapshot(one.state) == testing::snapshot(twin.state));
    }
}
TEST_CASE_TEMPLATE_APPLY(rolls_back_in_part, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("messages can be decoded before other tensors are encoded, and twice", C,
                          decodes_in_between) {
    worker<C> one, twin;
    for (std::int64_t step = 0; step < 2 * rounds_an_epoch; ++step) {
        const floats gradient = integers(step);
        const messages sent = twin.encode(step, gradient);
        const floats expected = twin.decode(sent);
        floats sum(gradient.size());
        detail::compressing::begin_round(one.state, place_of(step));
        for (const tensor& t : one.tensors) {
            bytes message;
            one.state.encode(t, t.of(std::span<const float>(gradient)), message);
            CHECK(message == sent[static_cast<std::size_t>(t.index)]);
            one.state.decode_add(t, message, t.of(std::span(sum)));
        }
        CHECK(same_bits(sum, expected));
        CHECK(same_bits(one.decode(sent), expected));
        detail::compressing::commit(one.state);
        detail::compressing::commit(twin.state);
        CHECK(testing::snapshot(one.state) == testing::snapshot(twin.state));
    }
}
TEST_CASE_TEMPLATE_APPLY(decodes_in_between, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("what is not sent is remembered once the round is committed", C,
                          remembers) {
    worker<C> one, fresh;
    constexpr std::int64_t step = 2 * rounds_an_epoch;  // warm-up is over
    one.encode(step, integers(1));
    detail::compressing::rollback(one.state);
    CHECK(one.encode(step, integers(1)) == fresh.encode(step, integers(1)));
    CHECK(testing::snapshot(one.state) == testing::snapshot(fresh.state));
    detail::compressing::commit(one.state);
    CHECK_FALSE(testing::snapshot(one.state) == testing::snapshot(fresh.state));
    detail::compressing::rollback(fresh.state);
    CHECK_FALSE(one.encode(step + 1, integers(1)) == fresh.encode(step + 1, integers(1)));
}
TEST_CASE_TEMPLATE_APPLY(remembers, testing::compressors_with_residual);

TEST_CASE_TEMPLATE_DEFINE("what was sent and what is unsent add up to what was given, exactly", C,
                          loses_nothing) {
    worker<C> one;
    const auto n = static_cast<std::size_t>(one.tensors.size());
    std::vector<std::int64_t> given(n), sent(n);
    random_stream chance(9);
    for (std::int64_t step = 0; step < 200; ++step) {
        const floats gradient = integers(step);
        const floats decoded = one.decode(one.encode(step, gradient));
        if (chance.below(3) == 0) {
            detail::compressing::rollback(one.state);
            continue;
        }
        detail::compressing::commit(one.state);
        for (std::size_t i = 0; i < n; ++i) {
            given[i] += static_cast<std::int64_t>(gradient[i]);
            sent[i] += static_cast<std::int64_t>(decoded[i]);
        }
    }
    std::int64_t waiting = 0;
    for (const tensor& t : one.tensors) {
        const auto unsent = one.state.memory().unsent(t);
        for (std::size_t j = 0; j < unsent.size(); ++j) {
            const std::size_t i = static_cast<std::size_t>(t.offset) + j;
            CHECK(static_cast<float>(given[i] - sent[i]) == unsent[j]);
            waiting += unsent[j] != 0.0f;
        }
    }
    CHECK(waiting > 0);
}
TEST_CASE_TEMPLATE_APPLY(loses_nothing, testing::compressors_with_residual);

TEST_CASE_TEMPLATE_DEFINE("messages stay free of NaN when gradients are huge and tiny", C,
                          stays_finite) {
    worker<C> one;
    const auto n = one.tensors.size();
    for (std::int64_t step = 0; step < 30; ++step) {
        floats gradient = testing::normal_values(n, static_cast<std::uint64_t>(step));
        for (std::size_t i = 0; i < gradient.size(); ++i)
            gradient[i] *= i % 3 == 0 ? 1e3f : i % 3 == 1 ? 1e-42f : 1.0f;
        const floats decoded = one.decode(one.encode(step, gradient));
        CHECK(std::ranges::all_of(decoded, [](float x) { return std::isfinite(x); }));
        detail::compressing::commit(one.state);
    }
}
TEST_CASE_TEMPLATE_APPLY(stays_finite, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("two states bound and fed alike send identical bytes", C, repeats) {
    worker<C> one, twin;
    for (std::int64_t step = 0; step < 3 * rounds_an_epoch; ++step) {
        const auto gradient =
            testing::normal_values(one.tensors.size(), static_cast<std::uint64_t>(step));
        const auto sent = one.encode(step, gradient);
        CHECK(sent == twin.encode(step, gradient));
        CHECK(same_bits(one.decode(sent), twin.decode(sent)));
        detail::compressing::commit(one.state);
        detail::compressing::commit(twin.state);
    }
}
TEST_CASE_TEMPLATE_APPLY(repeats, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("a fresh state given what visit shows goes on with the same bytes", C,
                          resumes) {
    worker<C> one;
    for (std::int64_t step = 0; step < 7; ++step) {
        one.encode(step, integers(step));
        detail::compressing::commit(one.state);
    }
    worker<C> resumed;
    testing::snapshot(one.state).put_into(resumed.state);
    for (std::int64_t step = 7; step < 20; ++step) {
        CHECK(one.encode(step, integers(step)) == resumed.encode(step, integers(step)));
        detail::compressing::commit(one.state);
        detail::compressing::commit(resumed.state);
    }
}
TEST_CASE_TEMPLATE_APPLY(resumes, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("after the first round neither encoding nor decoding takes memory", C,
                          takes_no_memory) {
    if (!support::allocation_count::works) {
        MESSAGE("skipped: allocations are not counted under sanitizers");
        return;
    }
    worker<C> one;
    std::vector<bytes> out(one.tensors.tensors().size());
    for (const tensor& t : one.tensors)
        out[static_cast<std::size_t>(t.index)].reserve(
            static_cast<std::size_t>(detail::compressing::message_bytes_max(one.state, t)));
    floats sum(static_cast<std::size_t>(one.tensors.size()));
    const auto gradients = awkward_gradients();
    const auto round = [&](std::int64_t step) {
        detail::compressing::begin_round(one.state, place_of(step));
        const floats& gradient = gradients[static_cast<std::size_t>(step) % gradients.size()];
        for (const tensor& t : one.tensors) {
            bytes& message = out[static_cast<std::size_t>(t.index)];
            message.clear();
            one.state.encode(t, t.of(std::span<const float>(gradient)), message);
            one.state.decode_add(t, message, t.of(std::span(sum)));
        }
        if (step % 3 == 2)
            detail::compressing::rollback(one.state);
        else
            detail::compressing::commit(one.state);
    };
    round(0);
    const support::allocation_count count;
    for (std::int64_t step = 1; step < 50; ++step) round(step);
    CHECK(count.on_this_thread() == 0);
}
TEST_CASE_TEMPLATE_APPLY(takes_no_memory, testing::every_compressor);

TEST_CASE_TEMPLATE_DEFINE("payloads of all ranks add up to what a receiver unpacks", C, sums_up) {
    if constexpr (detail::packs<C>) {
        constexpr int ranks = 3;
        std::vector<worker<C>> all(ranks);
        std::vector<worker<C>> messengers(ranks);
        for (std::int64_t step = 0; step < 3 * rounds_an_epoch; ++step) {
            const floats nothing(static_cast<std::size_t>(all[0].tensors.size()));
            floats summed = nothing, decoded = nothing;
            for (const tensor& t : all[0].tensors) {
                if (!all[0].state.sums(t)) continue;
                floats total, payload;
                std::size_t values = 0;
                const int count = detail::compressing::payload_count(all[0].state, t);
                for (int number = 0; number < count; ++number) {
                    const floats before = total;
                    total.clear();
                    for (std::size_t r = 0; r < ranks; ++r) {
                        auto& state = all[r].state;
                        if (number == 0) detail::compressing::begin_round(state, place_of(step));
                        const auto size = detail::compressing::payload_size(state, t, number);
                        REQUIRE(size >= 0);
                        payload.assign(static_cast<std::size_t>(size), std::nanf(""));
                        const floats g = integers(10 * step + static_cast<std::int64_t>(r));
                        if (number == 0)
                            state.pack(t, t.of(std::span<const float>(g)), payload);
                        else
                            detail::compressing::pack_next(state, t, number, before, payload);
                        total.resize(payload.size());
                        for (std::size_t i = 0; i < payload.size(); ++i) total[i] += payload[i];
                    }
                    values += total.size();
                }
                REQUIRE(values <= static_cast<std::size_t>(t.size));
                floats first, other(static_cast<std::size_t>(t.size), std::nanf(""));
                for (auto& rank : all) {
                    rank.state.unpack(t, total, other);
                    if (first.empty()) first = other;
                    CHECK(same_bits(first, other));
                }
                std::copy(first.begin(), first.end(), t.of(std::span(summed)).begin());
            }
            for (std::size_t r = 0; r < ranks; ++r) {
                const auto sent =
                    messengers[r].encode(step, integers(10 * step + static_cast<std::int64_t>(r)));
                const floats one = messengers[r].decode(sent);
                for (std::size_t i = 0; i < one.size(); ++i) decoded[i] += one[i];
            }
            // Momentum of dense tensors is applied to the sum, which messages do not show; nor do
            // they show what was made from other ranks' sums.
            for (const tensor& t : all[0].tensors)
                if (all[0].state.sums(t) && !(detail::holds_momentum<C> && t.is_vector()) &&
                    detail::compressing::payload_count(all[0].state, t) == 1)
                    CHECK(std::ranges::equal(t.of(std::span<const float>(summed)),
                                             t.of(std::span<const float>(decoded))));
            for (auto& rank : all) detail::compressing::commit(rank.state);
            for (auto& rank : messengers) detail::compressing::commit(rank.state);
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(sums_up, testing::every_compressor);
