#pragma once

#include "sotto/trainer/detail/checkpointing/by_the_first.hpp"

#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void tidings::say(std::string_view what) noexcept {
    text.fill('\0');
    std::copy_n(what.begin(), (std::min)(what.size(), text.size() - 1), text.begin());
}

SOTTO_DECL void tidings::fail(const std::error_code& why, std::string_view what) noexcept {
    code = why.value();
    say(what);
}

SOTTO_DECL void tidings::raise_if_failed(transport_ref through) const {
    if (code == 0) return;
    through.agree(true);
    switch (static_cast<errc>(code)) {
        case errc::invalid_option: throw invalid_option(said());
        case errc::mismatch: throw mismatch(said());
        case errc::io: throw io_failure(said());
        default: throw error(static_cast<errc>(code), said());
    }
}

SOTTO_DECL void give_to_all(transport_ref through, mutable_byte_view values, tag label) {
    collectives::broadcast<std::byte> all(through, static_cast<std::int64_t>(values.size()));
    all.start(values, label);
    collectives::run(through, all);
}

SOTTO_DECL void give_to_all(transport_ref through, tidings& told, tag label) {
    give_to_all(through, std::as_writable_bytes(std::span(&told, 1)), label);
}

SOTTO_DECL void receive_from(transport_ref through, int rank, mutable_byte_view into, tag label) {
    const completion ended = through.wait(through.receive(rank, label, into));
    if (ended.bytes == static_cast<std::int64_t>(into.size())) return;
    const std::string text = "checkpoint: rank " + std::to_string(rank) + " sent " +
                             std::to_string(ended.bytes) + " bytes where rank " +
                             std::to_string(through.rank()) + " expected " +
                             std::to_string(into.size());
    fail_as(through, text, errc::mismatch);
    throw mismatch(text);
}

SOTTO_DECL void send_to(transport_ref through, int rank, byte_view values, tag label) {
    through.wait(through.send(rank, label, values));
}

}  // namespace sotto::detail
