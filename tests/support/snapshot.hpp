#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/visit.hpp"

namespace sotto::testing {

/// What `visit` shows of a state, copied by name: to be compared, or put into another state.
///   errors  std::logic_error: a name that is shown twice, or missing when put back
class snapshot {
public:
    snapshot() = default;

    template <class State>
    explicit snapshot(State& state) {
        if constexpr (requires { state.visit(keep{*this}); }) state.visit(keep{*this});
    }

    template <class State>
    void put_into(State& state) const {
        if constexpr (requires { state.visit(give{*this}); }) state.visit(give{*this});
    }

    bool empty() const noexcept { return floats_.empty() && counts_.empty(); }

    /// By bits, so that -0 is not 0.
    bool operator==(const snapshot&) const = default;

private:
    struct keep {
        snapshot& to;
        void operator()(std::string_view name, std::span<float> values, kept = {}) const {
            std::vector<std::uint32_t> bits;
            for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
            if (!to.floats_.emplace(name, std::move(bits)).second) twice(name);
        }
        void operator()(std::string_view name, std::int64_t& count, kept = {}) const {
            if (!to.counts_.emplace(name, count).second) twice(name);
        }
        void operator()(std::string_view name, double& value, kept = {}) const {
            if (!to.counts_.emplace(name, std::bit_cast<std::int64_t>(value)).second) twice(name);
        }
    };

    struct give {
        const snapshot& from;
        void operator()(std::string_view name, std::span<float> values, kept = {}) const {
            const auto found = from.floats_.find(std::string(name));
            if (found == from.floats_.end() || found->second.size() != values.size()) missing(name);
            for (std::size_t i = 0; i < values.size(); ++i)
                values[i] = std::bit_cast<float>(found->second[i]);
        }
        void operator()(std::string_view name, std::int64_t& count, kept = {}) const {
            const auto found = from.counts_.find(std::string(name));
            if (found == from.counts_.end()) missing(name);
            count = found->second;
        }
        void operator()(std::string_view name, double& value, kept = {}) const {
            std::int64_t bits = 0;
            (*this)(name, bits);
            value = std::bit_cast<double>(bits);
        }
    };

    [[noreturn]] static void twice(std::string_view name) {
        throw std::logic_error("visit shows two things named '" + std::string(name) + "'");
    }
    [[noreturn]] static void missing(std::string_view name) {
        throw std::logic_error("nothing of this size was kept as '" + std::string(name) + "'");
    }

    std::map<std::string, std::vector<std::uint32_t>> floats_;
    std::map<std::string, std::int64_t> counts_;
};

}  // namespace sotto::testing
