#pragma once

#include "sotto/trainer/detail/checkpointing/saving.hpp"

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

}  // namespace sotto::detail
