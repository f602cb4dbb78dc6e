#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace sotto {

/// A file that a callback could not write in the middle of training, which goes on without it.
struct write_failure {
    std::int64_t step = 0;  // completed, over all epochs
    std::string reason{};   // names the file, and what the system said
};

/// Says so on standard error.
inline void complain_of_writing(const write_failure& failure) {
    std::fprintf(stderr, "after step %lld: %s; that does not stop training\n",
                 static_cast<long long>(failure.step), failure.reason.c_str());
}

namespace detail {
/// Tells of the first of several failures in a row: what is tried after every step would fill the
/// screen otherwise.
class complaint {
public:
    explicit complaint(void (*tell)(const write_failure&)) noexcept : tell_(tell) {}

    void worked() noexcept { failing_ = false; }
    void failed(std::int64_t step, std::string reason) {
        if (!std::exchange(failing_, true) && tell_) tell_({step, std::move(reason)});
    }

private:
    void (*tell_)(const write_failure&);
    bool failing_ = false;
};
}  // namespace detail

}  // namespace sotto
