#pragma once

#include "sotto/core/errors.hpp"

#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::string error_category::message(int code) const {
    switch (static_cast<errc>(code)) {
        case errc::malformed: return "malformed bytes";
        case errc::invalid_option: return "invalid option";
        case errc::mismatch: return "ranks are configured differently";
        case errc::non_finite: return "a value is not finite";
        case errc::peer_failed: return "another rank failed";
        case errc::timed_out: return "a deadline passed";
        case errc::io: return "input or output failed";
        case errc::output_incomplete: return "output is incomplete";
        case errc::altered: return "bytes changed on the way";
    }
    return "unknown error";
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL const std::error_category& error_category() noexcept {
    static const detail::error_category instance;
    return instance;
}

SOTTO_DECL std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), error_category()};
}

SOTTO_DECL non_finite::non_finite(int rank, std::string tensor, std::int64_t index,
                                  const std::string& where)
    : error(errc::non_finite, "the gradient of rank " + std::to_string(rank) +
                                  " is not finite: tensor '" + tensor + "', element " +
                                  std::to_string(index) + where),
      rank_(rank),
      tensor_(std::move(tensor)),
      index_(index) {}

SOTTO_DECL peer_failure::peer_failure(int rank, const std::string& cause, job_phase when, errc code)
    : error(code, "rank " + std::to_string(rank) + " failed: " + cause + " (noticed in phase '" +
                      when.phase + "', round " + std::to_string(when.round) +
                      membership(when.epoch) + ")"),
      rank_(rank),
      cause_(printable(cause)),
      when_(when) {}

SOTTO_DECL std::string peer_failure::membership(std::int64_t epoch) {
    return epoch == 0 ? std::string() : ", membership epoch " + std::to_string(epoch);
}

}  // namespace sotto
