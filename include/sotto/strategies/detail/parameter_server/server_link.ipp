#pragma once

#include "sotto/strategies/detail/parameter_server/server_link.hpp"

#include <algorithm>
#include <chrono>

#include "sotto/core/config.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"
#include "sotto/wire/sparse_block.hpp"

namespace sotto::detail {

SOTTO_DECL server_link::server_link(transport_ref through, int server, std::span<float> values,
                                    duration patience)
    : through_(through), server_(server), values_(values), patience_(patience) {
    introduce({});
}

SOTTO_DECL void server_link::introduce(const std::string& configuration) {
    greeting_.resize(wire::push_head_bytes(0));
    wire::append_configuration(wire::summary_of(configuration), greeting_);
}

SOTTO_DECL void server_link::push(const wire::push_header& head,
                                  std::span<const std::uint64_t> sizes) {
    head_ = head;
    head_.read = answer_.version;
    works_ = works_ || head.kind != wire::push_kind::done;
    if (head.kind == wire::push_kind::attach) known_ = {};
    if (head.kind == wire::push_kind::gradient) clock_ = head.clock;
    sizes_.assign(sizes.begin(), sizes.end());
    if (head.kind != wire::push_kind::gradient) push_.resize(wire::push_head_bytes(0));
    is_answered_ = false;
    if (!is_away_ && !is_greeted()) send();
}

SOTTO_DECL bool server_link::advance() {
    if (is_done()) return true;
    if (has_left_) throw peer_failure(server_, "it left: its job is over", now_);
    if (is_away_) {
        if (away_.at(through_.now()) > patience_)
            throw peer_failure(server_, "it went, and did not come back in time", now_);
        return false;
    }
    try {
        detail::read_from(through_, server_, [this] { move(); });
    } catch (const peer_failure& e) {
        const bool is_own = server_ == through_.rank();  // then this rank's job is over
        if (patience_ <= duration::zero() || e.rank() != server_ || is_own) throw;
        went(false);
    }
    return is_done();
}

SOTTO_DECL void server_link::went(bool left) {
    has_left_ = has_left_ || left;
    if (std::exchange(is_away_, true)) return;
    away_ = waiting_time(through_.now());
    give_up(sent_);
    give_up(head_due_);
    give_up(values_due_);
    is_greeting_ = resends_ = false;
}

SOTTO_DECL void server_link::came() {
    has_left_ = false;
    if (!std::exchange(is_away_, false)) return;
    // It knows nothing of this worker: first it is to say where it stands, at once, since
    // others wait there for its next gradient. A rank that only serves has no rounds, and says
    // no more than that it is done.
    is_greeting_ = works_ && (!is_answered_ || head_.kind != wire::push_kind::done);
    answer_ = {};
    if (!is_answered_ || is_greeting_) send();
}

SOTTO_DECL void server_link::send() {
    // One that begins has nothing to say before that.
    const bool begins = !is_answered_ && head_.kind == wire::push_kind::attach;
    byte_view content;
    if (is_greeting_ && !begins) {
        const bool resends = !is_answered_ && head_.kind == wire::push_kind::gradient;
        wire::write_push_head(
            {.kind = head_.kind == wire::push_kind::attach ? wire::push_kind::attach
                     : resends                             ? wire::push_kind::resend
                                                           : wire::push_kind::resume,
             .round = known_.rounds,
             .read = known_.version,
             .clock = clock_ - (resends ? 1 : 0)},
            {}, greeting_.data());
        content = greeting_;
    } else {
        is_greeting_ = false;
        bytes& message = head_.kind == wire::push_kind::attach ? greeting_ : push_;
        wire::write_push_head(head_, sizes_, message.data());
        content = message;
    }
    const auto item = static_cast<std::uint32_t>(2 * server_);
    try {
        head_due_ = through_.receive(server_, {channels::parameters, item, 0}, head_memory_);
        sent_ = through_.send(server_, {channels::pushes, static_cast<std::uint32_t>(server_), 0},
                              content);
    } catch (const peer_failure& e) {
        if (patience_ <= duration::zero() || e.rank() != server_) throw;
        went(false);  // or it left: that is told
    }
}

SOTTO_DECL void server_link::move() {
    if (sent_ && poll(sent_)) sent_.reset();
    if (head_due_ && poll(head_due_)) {
        head_due_.reset();
        const auto head = wire::read_parameters_header(head_memory_).value([&] { return what(); });
        const auto item = static_cast<std::uint32_t>(2 * server_);
        if (head.kind == wire::parameters_kind::not_yet) {
            head_due_ = through_.receive(server_, {channels::parameters, item, 0}, head_memory_);
        } else {
            answer_ = head;
            values_due_ = through_.receive(server_, {channels::parameters, item + 1, 0}, room());
        }
    }
    if (values_due_ && poll(values_due_)) {
        values_due_.reset();
        if (answer_.kind == wire::parameters_kind::refused) be_refused();
        if (answer_.kind == wire::parameters_kind::changed) apply_changes();
        count_lost();
        // A server that is there anew may have had what was being pushed.
        const bool has_it = head_.kind == wire::push_kind::gradient && answer_.rounds > head_.round;
        const bool greeted = std::exchange(is_greeting_, false);
        if (greeted && has_it && !is_answered_) {
            // The server goes on from a checkpoint that has it, and is not to wait for it.
            is_answered_ = is_greeting_ = resends_ = true;
        } else if (greeted && !is_answered_) {
            head_.read = answer_.version;
            resends_ = true;
        } else {
            is_answered_ = true;
        }
    }
    if (resends_ && !sent_) {
        resends_ = false;
        send();
    }
}

SOTTO_DECL void server_link::count_lost() noexcept {
    const std::uint64_t has = answer_.rounds;
    if (is_greeting_ && has < known_.rounds) {
        // What it saves when all are done has no rounds any more, but all that they led to.
        const bool was_over =
            head_.kind == wire::push_kind::done && has == 0 && answer_.version >= known_.version;
        if (was_over) return;
        // Rounds that went with an earlier process of the server are not lost once more.
        std::uint64_t lost = known_.rounds - (std::max)(has, known_.again_from);
        if (has < known_.again_from && has < known_.before) lost += known_.before - has;
        lost_ += static_cast<std::int64_t>(lost);
        known_.before = has;
        known_.again_from = known_.rounds;
        known_.version = answer_.version;
    } else {
        known_.rounds = (std::max)(known_.rounds, has);
        known_.version = answer_.version;
    }
}

SOTTO_DECL bool server_link::poll(std::optional<request>& r) {
    try {
        return through_.poll(*r).has_value();
    } catch (...) {
        r.reset();
        throw;
    }
}

SOTTO_DECL void server_link::give_up(std::optional<request>& r) {
    try {
        if (r) (void)poll(r);
    } catch (const peer_failure&) {  // as it is known
    }
    r.reset();
}

SOTTO_DECL mutable_byte_view server_link::room() {
    const auto whole = std::as_writable_bytes(values_);
    const bool all = answer_.kind == wire::parameters_kind::whole;
    // A changed parameter takes its value and less than 8 bytes for its index.
    const std::size_t most = answer_.kind == wire::parameters_kind::refused
                                 ? wire::configuration_bytes_max
                                 : 3 * whole.size() + 64;
    if (all ? answer_.size != whole.size() : answer_.size > most)
        throw malformed(what(),
                        {24, "bytes of its parameters", static_cast<std::int64_t>(answer_.size),
                         static_cast<std::int64_t>(whole.size())});
    if (all) return whole;
    changes_.resize(static_cast<std::size_t>(answer_.size));
    return changes_;
}

SOTTO_DECL void server_link::apply_changes() {
    const auto n = static_cast<std::int64_t>(values_.size());
    const wire::sparse_head head = sotto::wire::peek_sparse(changes_).value([&] { return what(); });
    const auto count = static_cast<std::size_t>((std::min)(head.entries, n));
    changed_at_.resize(count);
    changed_to_.resize(count);
    const auto entries =
        sotto::wire::decode_sparse(changes_, n, std::span<std::uint32_t>(changed_at_),
                                   std::span<float>(changed_to_))
            .value([&] { return what(); });
    for (std::size_t k = 0; k < entries.indices.size(); ++k)
        values_[entries.indices[k]] = entries.values[k];
}

SOTTO_DECL void server_link::be_refused() const {
    throw mismatch("server " + std::to_string(server_) + " refuses this rank: " +
                   std::string(reinterpret_cast<const char*>(changes_.data()), changes_.size()));
}

}  // namespace sotto::detail
