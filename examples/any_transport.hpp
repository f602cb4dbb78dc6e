#pragma once

#include <sotto/core/bytes.hpp>
#include <sotto/core/clock.hpp>
#include <sotto/core/errors.hpp>
#include <sotto/transports/fail_with_exception.hpp>
#include <sotto/transports/tolerant_transport.hpp>
#include <sotto/transports/transport.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace examples {

/// A transport selected at run time, so that each example is compiled once for all transports. A
/// program that knows its transport uses sotto::tcp or another one directly.
///   cost    one virtual call more for each operation
class any_transport {
public:
    virtual ~any_transport() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual sotto::request send(int to, sotto::tag label, sotto::byte_view out) = 0;
    virtual sotto::request receive(int from, sotto::tag label, sotto::mutable_byte_view in) = 0;
    virtual std::optional<sotto::completion> poll(sotto::request r) = 0;
    virtual sotto::completion wait(sotto::request r) = 0;
    virtual std::uint64_t activity() = 0;
    virtual void await(std::uint64_t seen) = 0;
    virtual bool agree(bool vote) = 0;
    virtual void withdraw() noexcept = 0;
    virtual void fail(std::string_view cause,
                      sotto::errc kind = sotto::errc::peer_failed) noexcept = 0;
    [[noreturn]] virtual void blame(int rank, const std::string& cause, sotto::errc code) = 0;
    virtual void at(sotto::peer_failure::job_phase now) = 0;
    virtual void reserve(std::int64_t count) = 0;
    virtual sotto::time_point now() const = 0;
    virtual void charge(sotto::work amount) = 0;
    virtual sotto::traffic counters() const = 0;
    virtual std::string simulated_network() const = 0;
    /// From now on ranks may leave and join while others continue; see tolerant_transport.
    ///   errors  invalid_option: this transport does not support it
    virtual void tolerate() = 0;
    virtual std::optional<sotto::rank_change> next_change() = 0;
};

static_assert(sotto::tolerant_transport<any_transport>);

/// An any_transport that forwards to a Transport of the caller, who keeps its ownership.
template <sotto::transport Transport>
class transport_of final : public any_transport {
public:
    explicit transport_of(Transport& inner) : inner_(inner) {}

    int rank() const override { return inner_.rank(); }
    int size() const override { return inner_.size(); }
    sotto::request send(int to, sotto::tag label, sotto::byte_view out) override {
        return inner_.send(to, label, out);
    }
    sotto::request receive(int from, sotto::tag label, sotto::mutable_byte_view in) override {
        return inner_.receive(from, label, in);
    }
    std::optional<sotto::completion> poll(sotto::request r) override { return inner_.poll(r); }
    sotto::completion wait(sotto::request r) override { return inner_.wait(r); }
    std::uint64_t activity() override { return inner_.activity(); }
    void await(std::uint64_t seen) override { inner_.await(seen); }
    bool agree(bool vote) override { return inner_.agree(vote); }
    void withdraw() noexcept override { inner_.withdraw(); }
    void fail(std::string_view cause, sotto::errc kind) noexcept override {
        inner_.fail(cause, kind);
    }
    [[noreturn]] void blame(int rank, const std::string& cause, sotto::errc code) override {
        inner_.blame(rank, cause, code);
    }
    void at(sotto::peer_failure::job_phase now) override { inner_.at(now); }
    void reserve(std::int64_t count) override { inner_.reserve(count); }
    sotto::time_point now() const override { return inner_.now(); }
    void charge(sotto::work amount) override { inner_.charge(amount); }
    sotto::traffic counters() const override { return inner_.counters(); }
    std::string simulated_network() const override { return sotto::simulated_network_of(inner_); }
    void tolerate() override {
        if constexpr (tolerant)
            inner_.tolerate();
        else
            throw sotto::invalid_option(
                "--survives: on this transport the loss of a rank ends the job; tcp and simulated "
                "are possible");
    }
    std::optional<sotto::rank_change> next_change() override {
        if constexpr (tolerant) return inner_.next_change();
        return std::nullopt;
    }

private:
    static constexpr bool tolerant = sotto::tolerant_transport<Transport>;

    Transport& inner_;
};

}  // namespace examples
