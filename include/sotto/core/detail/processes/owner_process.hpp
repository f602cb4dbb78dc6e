#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <type_traits>
#include <utility>

namespace sotto::detail {

/// The process that made an object. A child of fork() has a copy of the object, but none of its
/// threads, and shares its connections with the parent. So the destructor of the copy must not wait
/// for threads, take locks or send anything: the parent goes on using what both share.
class owner_process {
public:
    /// False in a child of fork().
    bool is_this() const noexcept { return ::getpid() == id_; }

private:
    ::pid_t id_ = ::getpid();
};

/// A value that its own process alone destroys. A child of fork() leaves it as it is: there the
/// destructors of threads, of what waits for them and of condition variables may never return.
template <class T>
class owned_by_process {
public:
    owned_by_process() requires(std::is_default_constructible_v<T>) : value_() {}
    explicit owned_by_process(T value) : value_(std::move(value)) {}
    owned_by_process(owned_by_process&& other) noexcept : value_(std::move(other.value_)) {}
    owned_by_process& operator=(owned_by_process&& other) noexcept {
        value_ = std::move(other.value_);
        return *this;
    }
    /// From now on this process owns it. What a child of fork() has from its parent is left as it
    /// is.
    owned_by_process& operator=(T value) requires std::is_move_assignable_v<T> {
        if (owner_.is_this()) {
            value_ = std::move(value);
        } else {
            std::construct_at(&value_, std::move(value));
            owner_ = owner_process();
        }
        return *this;
    }
    ~owned_by_process() {
        if (owner_.is_this()) std::destroy_at(&value_);
    }

    /// False in a child of fork(), where the value is not to be used.
    bool is_of_this_process() const noexcept { return owner_.is_this(); }

    T& operator*() noexcept { return value_; }
    const T& operator*() const noexcept { return value_; }
    T* operator->() noexcept { return &value_; }
    const T* operator->() const noexcept { return &value_; }

private:
    owner_process owner_;
    union {
        T value_;
    };
};

}  // namespace sotto::detail
