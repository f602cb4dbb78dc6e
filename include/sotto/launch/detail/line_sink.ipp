#pragma once

#include "sotto/launch/detail/line_sink.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

SOTTO_DECL void line_sink::write() {
    if (std::exchange(dropped_, false) && in_a_line_) waiting_.insert(0, "\n");
    const std::size_t left = waiting_.size() - sent_;
    const ssize_t count =
        write_quietly(to_, waiting_.data() + sent_, std::min<std::size_t>(left, PIPE_BUF));
    if (count < 0 && errno == EPIPE) refuse_by_system("what the ranks say cannot be written");
    if (count < 0 && errno != EINTR && errno != EAGAIN) return drop();
    if (count > 0) {
        sent_ += static_cast<std::size_t>(count);
        in_a_line_ = waiting_[sent_ - 1] != '\n';
    }
    if (2 * sent_ < waiting_.size()) return;
    waiting_.erase(0, sent_);  // moves at most as many bytes as were sent
    sent_ = 0;
}

SOTTO_DECL void line_sink::drop() {
    failure_ = sotto::detail::system_reason().message();
    waiting_.clear();
    sent_ = 0;
    dropped_ = true;
}

}  // namespace sotto::detail::launch
