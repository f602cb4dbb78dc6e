#pragma once

#include "sotto/checkpoint/digest_text.hpp"

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL std::string digest_text(byte_view all) {
    return detail::checkpoint::hex(detail::checkpoint::digest_of(all));
}

}  // namespace sotto
