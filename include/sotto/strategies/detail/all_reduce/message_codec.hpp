#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// What a strategy asks of a compressor's state for each tensor, without its type: see compressor
/// for what the members do.
class message_codec {
public:
    /// What the compressor can do.
    struct abilities {
        bool packs = false;
        bool sparse = false;
        bool takes_back = false;
        bool remembers = false;
        bool has_after_sum = false;
        bool plans_entries = false;
    };

    explicit message_codec(const abilities& of) noexcept : can(of) {}

    const abilities can;

    // Tensors that are summed.
    virtual bool sums(const tensor& t) const = 0;
    virtual bool gathers(const tensor& t) const = 0;
    virtual wire::value_format payload_format(const tensor& t) const = 0;
    virtual int payload_count(const tensor& t) const = 0;
    virtual std::int64_t payload_size(const tensor& t, int number) const = 0;
    virtual void pack(const tensor& t, std::span<const float> gradient,
                      std::span<float> payload) = 0;
    virtual void pack_next(const tensor& t, int number, std::span<const float> payload_sum,
                           std::span<float> payload) = 0;
    virtual void unpack(const tensor& t, std::span<const float> payload_sum,
                        std::span<float> sum) = 0;

    // Tensors that go as messages.
    virtual std::int64_t message_bytes_max(const tensor& t) const = 0;
    virtual void encode(const tensor& t, std::span<const float> gradient, bytes& out) = 0;
    virtual bool weighs(const tensor& t) const noexcept = 0;
    virtual void encode_weighted(const tensor& t, std::span<const float> gradient, float weight,
                                 bytes& out) = 0;
    virtual void decode_add(const tensor& t, byte_view message, std::span<float> sum) = 0;
    virtual void after_sum(const tensor& t, std::span<float> sum) = 0;
    virtual void measured(const tensor& t, double sum_of_squares) = 0;

    // Messages of entries.
    virtual sparse_view decode(const tensor& t, byte_view message) = 0;
    virtual std::int64_t entries_max(const tensor& t) const = 0;
    virtual std::int64_t entries_planned(const tensor& t) const = 0;
    virtual wire::value_format entry_format(const tensor& t) const = 0;
    virtual void take_back(const tensor& t, std::span<const std::uint32_t> indices,
                           std::span<const float> values) = 0;

    virtual bool waits_for_all() const noexcept = 0;

protected:
    ~message_codec() = default;
};

/// That of a compressor. The state must outlive it.
template <class Compressor>
class codec_of final : public message_codec {
    using state = state_of<Compressor>;

public:
    explicit codec_of(state& of) noexcept
        : message_codec({.packs = detail::packs<Compressor>,
                         .sparse = detail::sparse<Compressor>,
                         .takes_back = detail::takes_back<Compressor>,
                         .remembers = detail::remembers<Compressor>,
                         .has_after_sum = compressing::has_after_sum<state>,
                         .plans_entries = compressing::plans_entries<state>}),
          of_(of) {}

    bool sums([[maybe_unused]] const tensor& t) const override {
        if constexpr (detail::packs<Compressor>)
            return of_.sums(t);
        else
            return false;
    }
    bool gathers(const tensor& t) const override { return compressing::gathers(of_, t); }
    wire::value_format payload_format(const tensor& t) const override {
        return compressing::payload_format(of_, t);
    }
    int payload_count(const tensor& t) const override { return compressing::payload_count(of_, t); }
    std::int64_t payload_size([[maybe_unused]] const tensor& t,
                              [[maybe_unused]] int number) const override {
        if constexpr (detail::packs<Compressor>)
            return compressing::payload_size(of_, t, number);
        else
            return 0;
    }
    void pack([[maybe_unused]] const tensor& t, [[maybe_unused]] std::span<const float> gradient,
              [[maybe_unused]] std::span<float> payload) override {
        if constexpr (detail::packs<Compressor>) of_.pack(t, gradient, payload);
    }
    void pack_next(const tensor& t, int number, std::span<const float> payload_sum,
                   std::span<float> payload) override {
        compressing::pack_next(of_, t, number, payload_sum, payload);
    }
    void unpack([[maybe_unused]] const tensor& t,
                [[maybe_unused]] std::span<const float> payload_sum,
                [[maybe_unused]] std::span<float> sum) override {
        if constexpr (detail::packs<Compressor>) of_.unpack(t, payload_sum, sum);
    }

    std::int64_t message_bytes_max(const tensor& t) const override {
        return compressing::message_bytes_max(of_, t);
    }
    void encode(const tensor& t, std::span<const float> gradient, bytes& out) override {
        of_.encode(t, gradient, out);
    }
    bool weighs(const tensor& t) const noexcept override { return compressing::weighs(of_, t); }
    void encode_weighted([[maybe_unused]] const tensor& t,
                         [[maybe_unused]] std::span<const float> gradient,
                         [[maybe_unused]] float weight, [[maybe_unused]] bytes& out) override {
        if constexpr (compressing::encodes_weighted<state>)
            of_.encode_weighted(t, gradient, weight, out);
    }
    void decode_add([[maybe_unused]] const tensor& t, [[maybe_unused]] byte_view message,
                    [[maybe_unused]] std::span<float> sum) override {
        if constexpr (!detail::sparse<Compressor>) of_.decode_add(t, message, sum);
    }
    void after_sum(const tensor& t, std::span<float> sum) override {
        compressing::after_sum(of_, t, sum);
    }
    void measured(const tensor& t, double sum_of_squares) override {
        compressing::measured(of_, t, sum_of_squares);
    }

    sparse_view decode([[maybe_unused]] const tensor& t,
                       [[maybe_unused]] byte_view message) override {
        if constexpr (detail::sparse<Compressor>)
            return of_.decode(t, message);
        else
            return {};
    }
    std::int64_t entries_max([[maybe_unused]] const tensor& t) const override {
        if constexpr (detail::sparse<Compressor>)
            return of_.entries_max(t);
        else
            return 0;
    }
    std::int64_t entries_planned([[maybe_unused]] const tensor& t) const override {
        if constexpr (compressing::plans_entries<state>)
            return of_.entries_planned(t);
        else
            return entries_max(t);
    }
    wire::value_format entry_format(const tensor& t) const override {
        return compressing::entry_format(of_, t);
    }
    void take_back([[maybe_unused]] const tensor& t,
                   [[maybe_unused]] std::span<const std::uint32_t> indices,
                   [[maybe_unused]] std::span<const float> values) override {
        if constexpr (detail::takes_back<Compressor>) of_.take_back(t, indices, values);
    }

    bool waits_for_all() const noexcept override { return compressing::waits_for_all(of_); }

private:
    state& of_;
};

}  // namespace sotto::detail
