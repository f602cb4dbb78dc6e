#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sotto/checkpoint/detail/field_visitor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/parameter_server/served_push.hpp"
#include "sotto/strategies/detail/parameter_server/staleness_counts.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

/// A server's part of the parameters, without the types of the policies that move them: see
/// shard_server, which is one.
class served_shard {
public:
    served_shard() = default;
    served_shard(const served_shard&) = delete;
    served_shard& operator=(const served_shard&) = delete;
    virtual ~served_shard() = default;

    /// Before anything else: what training begins with. Only this server's part of it counts.
    virtual void begin(std::span<const float> parameters) = 0;
    /// Whether it has parameters.
    virtual bool has_begun() const noexcept = 0;
    /// Whether the worker is there.
    virtual bool is_present(int worker) const noexcept = 0;
    /// Waits for this worker from now on, where the consistency waits for workers.
    virtual void expect(int worker) = 0;
    /// For another time: all begin from the start.
    virtual void begin_again() = 0;

    /// Shows everything to be saved; `restored`, once it is what it was.
    virtual void show(const field_visitor& field) = 0;
    /// What it holds was read from a checkpoint.
    virtual void restored() = 0;

    // What comes

    /// A push of a worker: it begins, a gradient, or that it is done.
    virtual void push(int worker, byte_view content, time_point now) = 0;
    /// The worker is gone, or `done`: then it may begin another `fit` with what is known of it.
    virtual void detach(int worker, bool done = false) = 0;

    // What goes

    /// A worker that waits for parameters, and may have them now; nothing if there is none. It then
    /// has them.
    struct answer {
        int worker = 0;                // who may have them
        wire::parameters_header head;  // what is said before them
        byte_view content;             // unchanged until its next push
    };
    /// The next of these, as of now.
    virtual std::optional<answer> next_answer(time_point now) = 0;

    // What is so

    /// Its part of the parameters, in order.
    virtual std::span<const float> own() const noexcept = 0;
    /// Steps that it took, of earlier processes too.
    virtual std::uint64_t version() const noexcept = 0;
    /// Gradients that came too late to count.
    virtual std::int64_t dropped() const noexcept = 0;
    /// How late gradients were.
    virtual const staleness_counts& staleness() const noexcept = 0;
    /// Gradients that were taken, in order, since forget_log.
    virtual std::span<const served_push> log() const noexcept = 0;
    virtual void forget_log() noexcept = 0;  // a server that runs for long does this now and then
    /// Bytes of all versions.
    virtual std::size_t kept_bytes() const noexcept = 0;
    virtual const layout& tensors() const noexcept = 0;  // its own
    virtual std::size_t moved() const noexcept = 0;      // by its last step by entries
};

}  // namespace sotto::detail
