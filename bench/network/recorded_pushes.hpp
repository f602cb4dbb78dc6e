#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/detail/parameter_server/shard_server.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

// Shared by the programs that measure servers: pushes that were encoded beforehand, and what they
// must have made of the parameters.

namespace bench {

/// A push as it was encoded: room for its head, and the messages of all tensors.
struct recorded_push {
    sotto::bytes content;
    std::vector<std::uint64_t> sizes;

    std::span<const std::byte> message(std::size_t tensor) const {
        std::size_t begin = sotto::detail::wire::push_head_bytes(sizes.size());
        for (std::size_t t = 0; t < tensor; ++t) begin += static_cast<std::size_t>(sizes[t]);
        return std::span(content).subspan(begin, static_cast<std::size_t>(sizes[tensor]));
    }
};

inline sotto::layout equal_tensors(std::int64_t weights, int tensors) {
    sotto::layout made;
    for (int i = 0; i < tensors; ++i)
        made.add("weight" + std::to_string(i),
                 {1, weights * (i + 1) / tensors - weights * i / tensors});
    return made;
}

inline std::vector<float> starting_parameters(std::int64_t weights) {
    std::vector<float> made(static_cast<std::size_t>(weights));
    for (std::size_t i = 0; i < made.size(); ++i)
        made[i] = static_cast<float>(static_cast<int>(i * 37 % 201) - 100) * 0x1p-7f;
    return made;
}

/// Gradients whose large entries are about the same at all workers, as those of one model are: so
/// that what one worker moves has to do with what another one has read.
inline std::vector<float> gradients_alike(std::int64_t weights, int worker) {
    std::vector<float> values(static_cast<std::size_t>(weights));
    sotto::random_stream common(7);
    sotto::random_stream own = common.split(static_cast<std::uint64_t>(worker) + 1);
    for (float& x : values) {
        const auto size = static_cast<float>(common.normal());
        x = 0.1f * size * (0.75f + 0.5f * static_cast<float>(own.uniform()));
    }
    return values;
}

/// What the real compressor makes of one gradient after the other, each turned a bit further.
template <class Compressor>
std::vector<recorded_push> record(const Compressor& options, const sotto::layout& tensors,
                                  int worker, int pushes) {
    auto compressor = options.bind(tensors);
    const std::vector<float> first = gradients_alike(tensors.size(), worker);
    std::vector<float> gradient(first.size());
    std::vector<recorded_push> made(static_cast<std::size_t>(pushes));
    std::size_t turned = 0;
    for (recorded_push& push : made) {
        std::copy(first.begin() + static_cast<std::ptrdiff_t>(turned), first.end(),
                  gradient.begin());
        std::copy(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(turned),
                  gradient.end() - static_cast<std::ptrdiff_t>(turned));
        turned = (turned + 1'000'003) % first.size();
        sotto::detail::compressing::begin_round(compressor, {.rank = worker, .share = 1.0});
        sotto::detail::compressing::measure(compressor, tensors, std::span<const float>(gradient));
        push.content.resize(sotto::detail::wire::push_head_bytes(tensors.tensors().size()));
        for (const sotto::tensor& t : tensors) {
            const std::size_t before = push.content.size();
            compressor.encode(t, t.of(std::span<const float>(gradient)), push.content);
            push.sizes.push_back(push.content.size() - before);
        }
        sotto::detail::compressing::commit(compressor);
    }
    return made;
}

/// How a server is asked to take a step.
struct step_options {
    double rate = 0.5;
    bool adaptive = false;  // DC-ASGD-a
    double lambda = 2.0, decay = 0.95, epsilon = 1e-7;
};

/// What the pushes of a log must have made of the parameters, by the paper's algorithm in plain
/// loops and doubles: one gradient after the other, whole copies for what workers have read.
class plain_server {
public:
    plain_server(const step_options& how, std::vector<float> start, int workers)
        : how_(how),
          weights_(std::move(start)),
          squares_(how.adaptive ? weights_.size() : 0),
          decayed_at_(squares_.size()),
          read_(how.adaptive ? static_cast<std::size_t>(workers) : 0, weights_) {}

    /// `entries(push, visit)` calls visit(i, g) for each entry that push `number` of a worker has.
    template <class Entries>
    void replay(std::span<const sotto::detail::served_push> log, Entries&& entries) {
        for (std::size_t at = 0; at < log.size(); ++at) {
            const sotto::detail::served_push& p = log[at];
            ++step_;
            if (p.applied != step_) throw std::runtime_error("a push was applied out of order");
            const std::vector<float>* const before =
                how_.adaptive ? &read_[static_cast<std::size_t>(p.worker)] : nullptr;
            entries(p, [&](std::size_t i, float g) { move(i, static_cast<double>(g), before); });
            // Whoever pushes next what was computed here has read it now.
            if (how_.adaptive)
                for (std::size_t w = 0; w < read_.size(); ++w)
                    if (reads(log, at, static_cast<int>(w))) read_[w] = weights_;
        }
    }

    void require_alike(std::span<const float> found) const {
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            const auto is = static_cast<double>(found[i]), must = static_cast<double>(weights_[i]);
            if (!(std::abs(is - must) <= 1e-4 * std::max(1.0, std::abs(must))))
                throw std::runtime_error("parameter " + std::to_string(i) + " is " +
                                         std::to_string(is) + "; it must be " +
                                         std::to_string(must));
        }
    }

private:
    /// Whether the next push of a worker is of what the push at this place of the log led to.
    static bool reads(std::span<const sotto::detail::served_push> log, std::size_t at, int worker) {
        for (std::size_t next = at + 1; next < log.size(); ++next)
            if (log[next].worker == worker) return log[next].read == log[at].applied;
        return false;
    }

    void move(std::size_t i, double g, const std::vector<float>* before) {
        auto w = static_cast<double>(weights_[i]);
        if (before) {
            double s = static_cast<double>(squares_[i]);
            s *= std::pow(how_.decay, static_cast<double>(step_ - decayed_at_[i]));
            s += (1.0 - how_.decay) * g * g;
            squares_[i] = static_cast<float>(s);
            decayed_at_[i] = static_cast<std::uint32_t>(step_);
            g += how_.lambda / std::sqrt(s + how_.epsilon) * g * g *
                 (w - static_cast<double>((*before)[i]));
        }
        w -= how_.rate * g;
        weights_[i] = static_cast<float>(w);
    }

    step_options how_;
    std::vector<float> weights_, squares_;
    std::vector<std::uint32_t> decayed_at_;
    std::vector<std::vector<float>> read_;
    std::uint64_t step_ = 0;
};

}  // namespace bench
