#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/detail/gossip/gossip_mail.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/detail/protocols/gossip_word.hpp"

namespace sotto::detail {

/// What a rank that comes again fetches from one that has trained: the parameters, and the model's
/// buffers behind them.
///   wire    floats, little endian, no header; the word `hands` says that they come
///   cost    4 bytes a value while it is fetched, and once something was handed over
class state_handover {
public:
    /// Borrows the transport and the mail.
    state_handover(transport_ref through, gossip_mail& mail) : through_(through), mail_(&mail) {}
    state_handover(const state_handover&) = delete;
    state_handover& operator=(const state_handover&) = delete;
    /// Memory was lent for whatever is under way.
    ~state_handover();

    /// What is handed over and fetched; it stays where it is.
    void hold(std::span<float> parameters, std::span<float> buffers) noexcept;

    // Handing over

    /// A rank wants this one's state.
    void is_asked_by(int rank) { askers_.push_back(rank); }
    /// Whether nobody waits for it.
    bool is_idle() const noexcept { return !handing_ && askers_.empty(); }
    /// That were handed over.
    std::int64_t bytes() const noexcept { return bytes_; }

    /// To one rank at a time; `announce(rank)` says that it comes.
    template <class Announce>
    void hand_over(Announce announce) {
        if (handing_) {
            std::int64_t size = 0;
            if (!mail_->ended(handing_, &size)) return;
            bytes_ += size;
        }
        if (askers_.empty()) return;
        const int to = askers_.front();
        askers_.pop_front();
        make_room(given_);
        std::copy(parameters_.begin(), parameters_.end(), given_.begin());
        std::copy(buffers_.begin(), buffers_.end(), given_.begin() + std::ssize(parameters_));
        announce(to);
        try {
            handing_ = through_.send(to, label(), std::as_bytes(std::span(given_)));
        } catch (const peer_failure& e) {
            if (e.rank() != to) throw;
        }
    }

    /// It went.
    void forget(int rank) noexcept { std::erase(askers_, rank); }

    // Fetching

    /// A rank says that its state follows.
    void is_handed_by(int rank, const wire::gossip_word& word) noexcept;

    /// Begins; `ask(rank)` asks for it.
    template <class Ask>
    void fetch(int from, Ask ask) {
        from_ = from;
        handed_by_ = -1;
        came_ = -1;
        make_room(taken_);
        ask(from);
        try {
            fetching_ = through_.receive(from, label(), std::as_writable_bytes(std::span(taken_)));
        } catch (const peer_failure& e) {
            if (e.rank() != from) throw;
        }
    }

    /// From whom it fetches.
    int source() const noexcept { return from_; }
    /// Whether it is over: all came, or the other went.
    bool is_fetched();
    /// Nothing where the other went.
    std::optional<wire::gossip_word> handed() const noexcept;
    /// False where it is not as much as this rank has.
    bool take() noexcept;

private:
    static tag label() noexcept { return {channels::gossip, (1u << 28) + 1, 0}; }

    void make_room(large_vector<float>& in) const;

    transport_ref through_;
    gossip_mail* mail_;
    std::span<float> parameters_, buffers_;
    std::deque<int> askers_;
    int from_ = -1, handed_by_ = -1;
    std::int64_t came_ = -1;  // bytes
    std::int64_t bytes_ = 0;
    wire::gossip_word handed_{};
    large_vector<float> given_, taken_;
    // Last: transfers end before the memory goes.
    std::optional<request> fetching_, handing_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/state_handover.ipp"
#endif
