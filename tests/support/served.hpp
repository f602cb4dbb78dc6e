#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/detail/parameter_server/shard_server.hpp"
#include "sotto/wire/detail/protocols/push.hpp"
#include "sotto/wire/sparse_block.hpp"

namespace sotto::testing {

/// A shard_server of one vector without messages between ranks: a schedule says who pushes.
template <class Options>
class served {
public:
    served(const Options& options, int workers, std::vector<float> start, int first_rank = 0)
        : tensors_(one_vector(start.size())),
          compressor_(options.compressor.bind(tensors_)),
          server_(options, tensors_, detail::shard{0, 1}, workers, first_rank),
          read_(static_cast<std::size_t>(workers), start),
          answers_(static_cast<std::size_t>(workers)),
          version_(static_cast<std::size_t>(workers)),
          clock_(static_cast<std::size_t>(workers)),
          rounds_(static_cast<std::size_t>(workers)) {
        server_.begin(start);
        for (int w = 0; w < workers; ++w) server_.expect(w);
        for (int w = 0; w < workers; ++w) server_.attach(w);
        answer();
    }

    /// The worker pushes this gradient; whoever may then reads.
    void push(int worker, const std::vector<float>& gradient) {
        bytes content(detail::wire::push_head_bytes(1));
        compressor_.encode(*tensors_.begin(), gradient, content);
        const std::uint64_t size = content.size() - detail::wire::push_head_bytes(1);
        detail::wire::write_push_head({.kind = detail::wire::push_kind::gradient,
                                       .round = rounds_[at(worker)]++,
                                       .read = version_[at(worker)],
                                       .clock = ++clock_[at(worker)]},
                                      std::span(&size, 1), content.data());
        has_read_.clear();
        server_.push(worker, content, now_);
        answer();
    }
    void detach(int worker) {
        has_read_.clear();
        server_.detach(worker);
        answer();
    }
    void done(int worker) {
        bytes content(detail::wire::push_head_bytes(0));
        detail::wire::write_push_head({.kind = detail::wire::push_kind::done}, {}, content.data());
        has_read_.clear();
        server_.push(worker, content, now_);
        answer();
    }
    void attach(int worker) {
        has_read_.clear();
        server_.attach(worker);
        answer();
    }
    void at_time(time_point now) { now_ = now; }

    /// The server's own memory of its last answer to a worker.
    byte_view answer_to(int worker) const { return answers_[at(worker)]; }
    const std::vector<float>& read_by(int worker) const { return read_[at(worker)]; }
    /// Who got parameters by what was done last.
    const std::vector<int>& has_read() const noexcept { return has_read_; }
    std::span<const float> parameters() const { return server_.own(); }
    auto& server() noexcept { return server_; }

private:
    static std::size_t at(int worker) noexcept { return static_cast<std::size_t>(worker); }

    static layout one_vector(std::size_t n) {
        layout made;
        made.add("w", {static_cast<std::int64_t>(n)});
        return made;
    }

    void answer() {
        while (const auto a = server_.next_answer(now_)) {
            take(*a, read_[at(a->worker)]);
            answers_[at(a->worker)] = a->content;
            version_[at(a->worker)] = a->head.version;
            clock_[at(a->worker)] = std::max(clock_[at(a->worker)], a->head.clock);
            has_read_.push_back(a->worker);
        }
    }

    template <class Answer>
    static void take(const Answer& a, std::vector<float>& values) {
        if (a.head.kind == detail::wire::parameters_kind::whole) {
            REQUIRE(a.content.size() == 4 * values.size());
            std::memcpy(values.data(), a.content.data(), a.content.size());
            return;
        }
        std::vector<std::uint32_t> indices(values.size());
        std::vector<float> to(values.size());
        const auto entries =
            wire::decode_sparse(a.content, static_cast<std::int64_t>(values.size()),
                                std::span<std::uint32_t>(indices), std::span<float>(to))
                .value("an answer");
        for (std::size_t k = 0; k < entries.indices.size(); ++k)
            values[entries.indices[k]] = entries.values[k];
    }

    layout tensors_;
    decltype(std::declval<const Options&>().compressor.bind(
        std::declval<const layout&>())) compressor_;
    detail::shard_server<Options> server_;
    std::vector<std::vector<float>> read_;
    std::vector<byte_view> answers_;
    std::vector<std::uint64_t> version_, clock_, rounds_;
    std::vector<int> has_read_;
    time_point now_{};
};

}  // namespace sotto::testing
